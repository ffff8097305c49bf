"""A shop's page whose first offer is chosen by the service: `README.md` says how to run it."""

import argparse
import concurrent.futures
import html
import http.client
import http.server
import os
import random
import secrets
import threading
import urllib.parse

import reticent

# The shop's own order: the first is shown while the service is away.
OFFERS = ["shoes", "books", "garden"]
# Probability that a simulated visitor clicks an offer, by device. The page does not know it.
TASTE = {"phone": {"shoes": 0.2, "books": 0.7, "garden": 0.1}, "computer": {"shoes": 0.2, "books": 0.1, "garden": 0.7}}


class Page(http.server.BaseHTTPRequestHandler):
    """`/` shows the offers, and `/click` goes on to one of them after a reward."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        if address.path == "/":
            self.show()
        elif address.path == "/click":
            self.click(dict(urllib.parse.parse_qsl(address.query)))
        else:
            self.reply(404, "<p>There is no such page.</p>")

    def show(self):
        visitor = self.visitor() or secrets.token_urlsafe(16)
        device = "phone" if "Mobile" in self.headers.get("User-Agent", "") else "computer"
        actions = [{"id": offer, "features": {"offer": offer}} for offer in OFFERS]
        answer = self.server.client.rank(actions, context={"device": device}, person=visitor)
        if answer.fallback:
            print(f"the service is away, and {answer.action} is shown: {answer.reason}", flush=True)
        links = "".join(self.link(offer, answer) for offer in sorted(OFFERS, key=lambda offer: offer != answer.action))
        self.reply(200, f"<h1>Today</h1><ol>{links}</ol>", {"Set-Cookie": f"visitor={visitor}; HttpOnly; SameSite=Lax; Max-Age=86400"})

    def link(self, offer, answer):
        query = {"offer": offer}
        # Only the first offer is the service's choice. A click after a fall-back is no reward, whichever process gets it.
        if offer == answer.action and not answer.fallback:
            query["event"] = answer.event_id
        return f'<li><a href="{html.escape("/click?" + urllib.parse.urlencode(query))}">{html.escape(offer)}</a></li>'

    def click(self, query):
        if "event" in query:
            try:
                self.server.client.reward(query["event"], 1)
            except reticent.ReticentError as error:
                # A reward that is late or lost is no reason not to go on.
                print(f"a reward was not taken: {error}", flush=True)
        self.reply(200, f"<p>{html.escape(query.get('offer', ''))}</p>")

    def visitor(self):
        cookies = dict(part.strip().split("=", 1) for part in self.headers.get("Cookie", "").split(";") if "=" in part)
        return cookies.get("visitor")

    def reply(self, status, text, headers=None):
        body = f"<!doctype html><title>A shop</title>{text}".encode()
        self.send_response(status)
        for name, value in {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing: the log does not say which pages people look at."""


class Shop(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, client, port):
        super().__init__(("127.0.0.1", port), Page)
        self.client = client


def visit(connection, chance):
    """One simulated visitor, who looks at the first offer alone: whether it was clicked."""
    device = chance.choice(list(TASTE))
    agent = {"phone": "Mobile", "computer": "Desktop"}[device]
    page = ask(connection, "/", {"User-Agent": agent})
    first = html.unescape(page.split('href="', 1)[1].split('"', 1)[0])
    clicked = chance.random() < TASTE[device][dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(first).query))["offer"]]
    if clicked:
        ask(connection, first, {"User-Agent": agent})
    return clicked


def ask(connection, path, headers):
    connection.request("GET", path, headers=headers)
    return connection.getresponse().read().decode()


def simulate(port, visitors, seed):
    """Prints how many visitors of each thousand clicked the first offer."""

    def some(first, count):
        chance, connection = random.Random(f"{seed} {first}"), http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        return sum(visit(connection, chance) for _ in range(count))

    best = sum(max(taste.values()) for taste in TASTE.values()) / len(TASTE)
    fixed = max(sum(taste[offer] for taste in TASTE.values()) / len(TASTE) for offer in OFFERS)
    print(f"The best offer for all devices would be clicked by {fixed:.0%}, the best for each device by {best:.0%}.", flush=True)
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for start in range(0, visitors, 1000):
            size = min(1000, visitors - start)
            shares = [len(range(part, size, 8)) for part in range(8)]
            clicks = sum(threads.map(some, range(start, start + 8), shares))
            print(f"visitors {start + 1:5} to {start + size:5}: {clicks / size:.0%} clicked", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--service", default="http://127.0.0.1:8080", help="the address of `reticent-server serve`")
    options.add_argument("--port", type=int, default=8081, help="the page's port")
    options.add_argument("--visitors", type=int, help="number of simulated visitors, then end")
    options.add_argument("--seed", type=int, default=1, help="of the simulated visitors")
    given = options.parse_args()
    key = os.environ.get("RETICENT_KEY")
    if not key:
        options.error("RETICENT_KEY: missing; set it to the key that `reticent-server key new` printed")
    with reticent.Client(given.service, "front", key=key, timeout=1.0) as client, Shop(client, given.port) as shop:
        print(f"http://127.0.0.1:{shop.server_port}/", flush=True)
        if given.visitors is None:
            shop.serve_forever()
        threading.Thread(target=shop.serve_forever, daemon=True).start()
        simulate(shop.server_port, given.visitors, given.seed)
        shop.shutdown()


if __name__ == "__main__":
    main()

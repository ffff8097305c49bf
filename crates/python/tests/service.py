"""Processes of the built program, and what may go wrong between them and a client."""

import http.client
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = pathlib.Path(os.environ.get("RETICENT", ROOT / "target" / "debug" / "reticent"))


def program(name="reticent-server"):
    """A built program. A test without it is skipped by name; under CI nothing is skipped, and the test fails."""
    binary = BINARY.with_name(name)
    if not shutil.which(binary):
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse(f"{binary} is missing: cargo build, or give RETICENT")
    return binary


class Process:
    """A process that prints its address."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([program(), *map(str, arguments)], stderr=subprocess.PIPE, text=True)
        said = []
        # Lines of the log may come before the address.
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", said[-1] if said else "")):
            said.append(self.process.stderr.readline())
            assert said[-1], f"it did not start: {said}"
        self.address = found.group()
        # A full pipe would stop it.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


class Service(Process):
    """`reticent-server serve`, with its keys."""

    def __init__(self, folder, loops):
        self.config, self.data = folder / "loops.toml", folder / "data"
        self.config.write_text(loops)
        super().__init__("serve", "--config", self.config, "--data", self.data, "--listen", "127.0.0.1:0")

    def key(self, roles, loop="home"):
        """A new key; an admin key has no loop."""
        command = [program(), "key", "new", "--data", self.data, "--role", roles]
        command += [] if roles == "admin" else ["--loop", loop]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def get(self, key, path):
        """The body of a reading call that must succeed."""
        connection = http.client.HTTPConnection(self.address.removeprefix("http://"), timeout=30)
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status == 200, body
        return body


class Between(http.server.ThreadingHTTPServer):
    """Stands between a client and a service, does what `plan` says with one answer after the other, and notes requests.

    `drop`: the service has carried the request out, and its answer is lost. A number is answered in place of the service, 429 with `Retry-After: 1`; `slow` sends
    the service's answer byte by byte. After the plan's end answers pass.
    """

    daemon_threads = True

    def __init__(self, service=None, plan=(), certificate=None):
        self.service, self.plan, self.seen = service, list(plan), []
        super().__init__(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.address = f"{'https' if certificate else 'http'}://localhost:{self.server_port}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """A client that goes away is no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def carry(self):
        between = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        between.seen.append((self.command, self.path, dict(self.headers), body))
        step = between.plan.pop(0) if between.plan else "pass"
        if isinstance(step, int):
            headers = {"Retry-After": "1"} if step == 429 else {}
            return self.answer(step, {**headers, "Content-Type": "application/problem+json"}, b'{"detail": "planned"}')
        connection = http.client.HTTPConnection(between.service.address.removeprefix("http://"), timeout=30)
        kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body or None, kept)
        answer = connection.getresponse()
        found = answer.read()
        connection.close()
        if step == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return None
        headers = {name: value for name, value in answer.getheaders() if name.lower() in ("content-type", "reticent-head", "retry-after")}
        return self.answer(answer.status, headers, found, slow=step == "slow")

    do_GET = do_POST = carry

    def answer(self, status, headers, body, slow=False):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), 1 if slow else len(body) or 1):
            self.wfile.write(body[start : start + (1 if slow else len(body))])
            self.wfile.flush()
            if slow:
                time.sleep(0.02)


def wait_until(condition, seconds=30):
    """Asks again until it holds; a service that never gets there fails the test."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "the service did not get there"
        time.sleep(0.05)
    return found

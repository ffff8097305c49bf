"""The systems that `beside.py` measures: how each is started, asked, rewarded, and asked after a kill for what it has kept."""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from beside_client import drive

ROOT = Path(__file__).resolve().parents[1]
SETUP = ROOT / "target" / "beside"
ACTIONS, EPSILON = 20, 0.1
TOPICS, DEVICES = ("news", "sport", "music"), ("phone", "computer")


def rank_request(generator):
    """Data of a caller: a person, a context and the features of every action."""
    return {
        "person": f"person-{generator.randrange(10_000)}",
        "age": generator.randrange(18, 80),
        "device": generator.choice(DEVICES),
        "actions": [(generator.choice(TOPICS), generator.randrange(60)) for _ in range(ACTIONS)],
    }


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class System:
    """A server in a process group of its own, with its data in a folder. `head` is the name in the table."""

    learns = durable = known = ""

    def __init__(self, folder, clients):
        self.folder, self.clients, self.port, self.process = folder, clients, free_port(), None
        folder.mkdir(parents=True)

    def run(self, *command):
        log = self.folder / "log"
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)
        for _ in range(1000):
            if self.is_up(log.read_text()):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise SystemExit(f"{self.head} did not start: {log.read_text()[-2000:]}")

    def is_up(self, log):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def kill(self):
        """Kills the server with -9, and waits until its children are gone too."""
        if not self.process:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            for _ in range(500):
                os.killpg(self.process.pid, 0)
                time.sleep(0.02)

    def processor_seconds(self):
        """Processor seconds that the server and its children have used so far."""
        nanoseconds = 0
        for process in Path("/proc").glob("[0-9]*"):
            # A process or a thread may end meanwhile.
            with contextlib.suppress(OSError):
                group = int((process / "stat").read_text().rpartition(")")[2].split()[2])
                if group == self.process.pid:
                    nanoseconds += sum(int(thread.read_text().split()[0]) for thread in process.glob("task/*/schedstat"))
        return nanoseconds / 1e9

    def ask(self, request):
        """One request on a connection of its own."""
        return drive(self.port, [request], self.is_whole, 1)[0][0]

    def prepare(self):
        """Facts that are known only when the server runs."""


class Reticent(System):
    head = "Reticent"
    learns = "a private linear model, from features"
    durable = "yes: every answer after its commit"
    known = "raw rows until the window's tick; then sums with noise, (1, 1e-6) for ten visits in 30 days, and visits under a keyed hash"
    binary = Path(os.environ.get("RETICENT", ROOT / "target" / "release" / "reticent")).with_name("reticent-server")

    @classmethod
    def missing(cls):
        return None if cls.binary.exists() else "cargo build --release"

    def start(self):
        data = self.folder / "data"
        self.run(self.binary, "serve", "--config", ROOT / "examples" / "loops.toml", "--data", data, "--witness", self.folder / "witness", "--listen", f"127.0.0.1:{self.port}")

    def is_up(self, log):
        return "serving " in log

    def prepare(self):
        def key(*arguments):
            command = [self.binary, "key", "new", "--data", self.folder / "data", *arguments]
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

        self.key, self.admin = key("--loop", "home", "--role", "decide,reward"), key("--role", "admin")

    def post(self, path, body):
        text = json.dumps(body)
        return f"POST /v1/loops/home/{path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.key}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()

    def rank(self, event, asked, _):
        actions = [{"id": str(index), "features": {"topic": topic, "length": length}} for index, (topic, length) in enumerate(asked["actions"])]
        return self.post("rank", {"event_id": event, "person": asked["person"], "context": {"age": asked["age"], "device": asked["device"]}, "actions": actions})

    def reward(self, event, asked, answer, value, _):
        return self.post(f"events/{event}/reward", {"value": value})

    @staticmethod
    def is_whole(reply):
        head, empty, body = reply.partition(b"\r\n\r\n")
        _, named, length = head.partition(b"content-length: ")
        return bool(empty) and (not named or len(body) >= int(length.partition(b"\r")[0]))

    @staticmethod
    def is_good(reply):
        return reply.startswith((b"HTTP/1.1 200", b"HTTP/1.1 204"))

    def kept(self, ranks):
        reply = self.ask(f"GET /v1/loops HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {self.admin}\r\n\r\n".encode())
        return json.loads(reply.partition(b"\r\n\r\n")[2])["loops"][0]["open_events"] / ranks


class VowpalWabbit(System):
    head = "VW's daemon"
    learns = "a linear model, from features"
    durable = "no: in memory until it is saved"
    known = "weights without noise; the caller keeps every request for its reward"
    python = SETUP / "bin" / "python"
    # The loop of the `vw` program, which PyPI's package lacks.
    code = "import sys, pylibvw; from vowpalwabbit import pyvw; pylibvw.vw.run_parser(pyvw.Workspace(arg_list=sys.argv[1:]))"

    @classmethod
    def missing(cls):
        done = cls.python.exists() and subprocess.run([cls.python, "-c", "import vowpalwabbit, pylibvw"], capture_output=True).returncode == 0
        return None if done else "python3 -m venv target/beside && target/beside/bin/pip install vowpalwabbit"

    def start(self):
        options = ["--cb_explore_adf", "-q", "ca", "--epsilon", str(EPSILON), "--quiet"]
        # One more than there are clients: a connection has a child for itself.
        self.run(self.python, "-c", self.code, "--daemon", "--foreground", "--port", str(self.port), "--num_children", str(self.clients + 1), *options)

    def prepare(self):
        self.probe = self.rank("", rank_request(random.Random(0)), 0.0)
        self.fresh = self.ask(self.probe)

    def rank(self, event, asked, _, chosen=None, label=""):
        lines = [f"shared |c age:{(asked['age'] - 18) / 62:.3f} device={asked['device']}"]
        lines += [f"{label if index == chosen else ''}|a topic={topic} length:{length / 60:.3f}" for index, (topic, length) in enumerate(asked["actions"])]
        return "\n".join([*lines, "", ""]).encode()

    def reward(self, event, asked, answer, value, draw):
        chances = [tuple(part.split(":")) for part in answer.decode().strip().split(",")]
        (chosen, chance), *_ = random.Random(draw).choices(chances, [float(chance) for _, chance in chances])
        return self.rank(event, asked, 0.0, int(chosen), f"{chosen}:{-value}:{chance} ")

    @staticmethod
    def is_whole(reply):
        return reply.endswith(b"\n\n")

    @staticmethod
    def is_good(reply):
        return reply.count(b":") == ACTIONS

    def kept(self, ranks):
        """1 if the model still answers as it did, 0 if it answers as one that has learnt nothing."""
        answer = self.ask(self.probe)
        return 0.0 if answer == self.fresh else 1.0


RANK = """
local cells, best, value = {}, 1, -1
for i = 4, #ARGV do cells[i - 3] = ARGV[2] .. ':' .. ARGV[i] end
local shown, sums = redis.call('HMGET', 'shown', unpack(cells)), redis.call('HMGET', 'sums', unpack(cells))
for i = 1, #cells do
  local mean = shown[i] and tonumber(sums[i] or '0') / tonumber(shown[i]) or 1
  if mean > value then best, value = i, mean end
end
local draw = tonumber(ARGV[3])
if draw < EPSILON then best = 1 + math.floor(draw / EPSILON * #cells) end
redis.call('SET', 'event:' .. ARGV[1], cells[best], 'EX', 1800)
redis.call('HINCRBY', 'shown', cells[best], 1)
return best
""".replace("EPSILON", str(EPSILON))
REWARD = """
local cell = redis.call('GETDEL', 'event:' .. ARGV[1])
if not cell then return 0 end
redis.call('HINCRBYFLOAT', 'sums', cell, ARGV[2])
return 1
"""


def resp(*words):
    return b"".join([f"*{len(words)}\r\n".encode(), *(f"${len(str(word))}\r\n{word}\r\n".encode() for word in words)])


class Redis(System):
    head, sync = "Redis, synced always", "always"
    learns = "a mean for each device and action"
    durable = "yes"
    known = "exact counts and sums; every event in the append-only file until that is rewritten"

    @classmethod
    def missing(cls):
        return None if shutil.which("redis-server") else "apt-get install redis-server"

    def start(self):
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "appendonly": "yes", "appendfsync": self.sync, "save": ""}
        self.run("redis-server", *(str(word) for name, value in options.items() for word in (f"--{name}", value)))

    def is_up(self, log):
        # It listens while it still reads its file.
        return super().is_up(log) and self.ask(resp("PING")) == b"+PONG\r\n"

    def prepare(self):
        for script in (RANK, REWARD):
            self.ask(resp("SCRIPT", "LOAD", script))

    def call(self, script, *words):
        return resp("EVALSHA", hashlib.sha1(script.encode()).hexdigest(), 0, *words)

    def rank(self, event, asked, draw):
        return self.call(RANK, event, asked["device"], draw, *range(ACTIONS))

    def reward(self, event, asked, answer, value, _):
        return self.call(REWARD, event, value)

    @staticmethod
    def is_whole(reply):
        if reply.startswith(b"*"):
            return reply.endswith(b"\r\n") and reply.count(b"\r\n") == 1 + 2 * int(reply[1 : reply.index(b"\r\n")])
        return reply.endswith(b"\r\n") and (not reply.startswith(b"$") or reply.count(b"\r\n") == 2)

    @staticmethod
    def is_good(reply):
        return reply.startswith((b":", b"+"))

    def kept(self, ranks):
        values = self.ask(resp("HVALS", "shown")).split(b"\r\n")
        return sum(int(value) for value in values[2::2]) / ranks


class RedisEverySecond(Redis):
    head, sync = "Redis, synced every second", "everysec"
    durable = "but for the last second"


ALL = (Reticent, VowpalWabbit, Redis, RedisEverySecond)

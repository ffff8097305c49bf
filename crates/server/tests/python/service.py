"""A `reticent-server serve` process of the built binary, with its keys."""

import functools
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import requests

ROOT = pathlib.Path(__file__).resolve().parents[4]
# RETICENT names the desk program; that of the service lies beside it.
BINARY = pathlib.Path(os.environ.get("RETICENT", ROOT / "target" / "debug" / "reticent")).with_name("reticent-server")

# Events of `brief` close within three seconds, so that tests can be late; those of `home` stay open.
LOOPS = """
[loop.brief]
privacy = { epsilon = 1.0, delta = 1e-6, visits = 100, per = "30 days" }
learner = { tick = "1 second", forget = "1 hour" }
reward = { range = [0, 1], window = "1 second" }
retain = "1 day"
person_from = "contextFeatures.user.id"
[loop.brief.context]
device = { categories = ["phone", "computer"] }
age = { range = [18, 80] }
[loop.brief.action]
topic = { categories = ["news", "sport"] }

[loop.home]
privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "30 days" }
learner = { tick = "1 second", forget = "1 hour" }
reward = { range = [0, 1], window = "1 hour", combine = "sum" }
baseline = { share = 0.25 }
retain = "1 day"
person_from = "contextFeatures.user.id"
[loop.home.context]
device = { categories = ["phone", "computer"] }
age = { range = [18, 80] }
[loop.home.action]
topic = { categories = ["news", "sport"] }

[loop.phones]
trust = "device"
privacy = { epsilon = 2.0, delta = 1e-6, visits = 3, per = "30 days" }
learner = { tick = "1 second" }
reward = { range = [0, 1] }
[loop.phones.action]
topic = { categories = ["news", "sport"] }

[loop.mixed]
trust = "shuffler"
privacy = { epsilon = 1.0, delta = 1e-6, visits = 1, per = "ever" }
shuffle = { batch = 1000, mode = "sealed" }
learner = { tick = "1 second" }
reward = { range = [0, 1] }
[loop.mixed.action]
topic = { categories = ["news", "sport"] }
"""


class Service:
    """The process, its address and its keys."""

    def __init__(self, folder):
        self.data = folder / "data"
        config = folder / "loops.toml"
        config.write_text(LOOPS)
        command = [BINARY, "serve", "--config", config, "--data", self.data, "--listen", "127.0.0.1:0"]
        # Everything that can be logged, so that what must not be is looked for in it.
        environment = {**os.environ, "RETICENT_LOG": "trace"}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        self.log = []
        # Lines of the log may come before the address.
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", self.log[-1] if self.log else "")):
            self.log.append(self.process.stderr.readline())
            assert self.log[-1], f"the service did not start: {self.log}"
        self.address = found.group()
        self._reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self._reader.start()

    @functools.cache
    def key(self, roles, loop="home"):
        """A key, the same each time: only two with the same roles may be in use. An admin key has no loop."""
        command = [BINARY, "key", "new", "--data", self.data, "--role", roles]
        if roles != "admin":
            command += ["--loop", loop]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def stop(self):
        """Stops as an operator does, and returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        self._reader.join(timeout=10)
        return status


def wait_until(condition, seconds=60):
    """Asks again until it holds; a service that never gets there fails the test."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the service did not get there"
        time.sleep(0.1)


def get(address, key, path):
    """A reading call that must succeed."""
    answer = requests.get(address + path, headers={"Authorization": f"Bearer {key}"}, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer

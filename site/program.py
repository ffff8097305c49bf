"""The built programs, asked for what they say of themselves: help, schemas, refusals of keys and values, and the document of the service's calls."""

import functools
import json
import os
import re
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from repository import ROOT

BINARY = Path(os.environ.get("RETICENT", ROOT / "target" / "debug" / "reticent"))
SERVER = BINARY.with_name("reticent-server")
PROGRAMS = {"reticent": BINARY, "reticent-server": SERVER}


def printed(*arguments, name="reticent"):
    """Output of a command, stdout and stderr."""
    done = subprocess.run([PROGRAMS[name], *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def refusal(text, *arguments):
    """Error with which `reticent certify` refuses a file with this text; empty if it does not."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "file.toml")
        file.write_text(text)
        done = subprocess.run([BINARY, "certify", file, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.stderr if done.returncode else ""


def expected(refusal):
    """The names that a refusal says are expected."""
    listed = re.search(r"expected (?:one of )?((?:`\w+`(?:, | or )?)+)", refusal)
    return re.findall(r"`(\w+)`", listed[1]) if listed else []


# Types, as the parser of files names them.
TYPES = ("a number", "a whole number", "a whole number of 0 or more", "a name in quotation marks, or a table such as { name")


def remedy(refusal, name):
    """Values of this key that a refusal asks for: the text after `expected`. None if it speaks of another key."""
    if found := re.search(r"(at least 1 ms and at most \d+ years)", refusal):
        return found[1]
    # A count of entries is no value of the key.
    asked = re.search(rf"\b{name}: (?:got (?!\d+ entries)[^;]+|missing); (?:[^;]*; )?expected ((?:an? |the |at least \d|finite |radians |\d)[^:;=]*)(?:[:;]|$)", refusal.strip())
    # The refusal of a value of another type states no range.
    return asked[1] if asked and asked[1] not in TYPES else None


def certificate_page():
    """The certificate of the loop in the examples, as a page."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "certificate.html")
        printed("certify", "examples/loops.toml", "--page", page)
        return page.read_text()


@functools.cache
def calls():
    """The OpenAPI document that a service serves on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        command = [SERVER, "serve", "--config", "examples/loops.toml", "--data", f"{folder}/data", "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as service:
            try:
                address = next(found for line in service.stderr if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
                with urllib.request.urlopen(f"{address[0]}/openapi.json", timeout=30) as answer:
                    return json.load(answer)
            finally:
                service.terminate()
                service.stderr.read()

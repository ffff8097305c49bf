"""Oracles: the built binary against software of others. Run by `cargo xtask test`."""

import json
import pathlib
import subprocess

import pytest

BINARY = pathlib.Path(__file__).parent.parent / "target" / "debug" / "reticent"


@pytest.fixture(scope="session")
def reticent():
    """Calls the command line with --json and returns the document."""

    def call(*arguments):
        done = subprocess.run(
            [BINARY, *map(str, arguments), "--json"], capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return call


@pytest.fixture
def account(reticent, tmp_path):
    """Prices a list of events given as TOML inline tables."""

    def call(events, **target):
        path = tmp_path / "events.toml"
        path.write_text("event = [\n" + ",\n".join(events) + "\n]\n")
        ((name, value),) = target.items()
        return reticent("privacy", "account", path, f"--{name}", repr(value))

    return call

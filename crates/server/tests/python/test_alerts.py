"""The alerts of packaging/prometheus: promtool accepts them, they fire and stay silent as their own tests say, and the service exports all that they look at."""

import os
import re
import shutil
import subprocess

from optional import program
from service import ROOT, get, wait_until

FOLDER = ROOT / "packaging" / "prometheus"


def promtool(*arguments):
    """Runs Prometheus' own tool, from where `cargo xtask` puts it or from the path."""
    path = os.environ.get("PROMTOOL") or program("promtool")
    return subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60)


def test_promtool_accepts_the_rules():
    done = promtool("check", "rules", FOLDER / "reticent.rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_fire_and_stay_silent(tmp_path):
    done = promtool("test", "rules", FOLDER / "reticent.rules.test.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    # A rule that never fires is found.
    rules = (FOLDER / "reticent.rules.yml").read_text()
    (tmp_path / "reticent.rules.yml").write_text(rules.replace("reticent_halted == 1", "reticent_halted == 2"))
    shutil.copy(FOLDER / "reticent.rules.test.yml", tmp_path)
    assert promtool("test", "rules", tmp_path / "reticent.rules.test.yml").returncode != 0


def exported(text):
    """Names of the series of a text of metrics."""
    return set(re.findall(r"^([a-z_]+)(?:\{| )", text, re.MULTILINE))


def test_the_service_exports_every_metric_that_the_rules_look_at(service):
    rules = (FOLDER / "reticent.rules.yml").read_text()
    _, public, curator = re.split(r"^  - name: .*$", rules, flags=re.MULTILINE)
    named = [set(re.findall(r"\breticent_[a-z_]+", "\n".join(re.findall(r"expr: (.*)", group)))) for group in (public, curator)]
    assert len(named[0]) > 12 and len(named[1]) > 6
    key = service.key("admin")
    # Requests are counted when they have been answered.
    wait_until(lambda: named[0] | named[1] <= exported(get(service.address, key, "/metrics").text), seconds=10)
    # Whoever has a key of one loop sees what its public alerts look at: of a curator's loop, and of one with devices and a shuffler.
    seen = set.union(*(exported(get(service.address, service.key("read", loop), "/metrics").text) for loop in ["home", "mixed"]))
    assert named[0] <= seen, named[0] - seen
    assert not named[1] & seen, named[1] & seen
    assert "reticent_no_such_metric" not in seen

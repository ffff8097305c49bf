"""The commands of docs/guides/operations.md, as they are printed, on a service of their own.

`systemctl` starts and stops a real process with the folders of the page, `runuser` runs the command as whoever runs the tests, and `chown` changes no owner; everything else is the real thing.
"""

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from optional import program
from service import BINARY, ROOT, wait_until

PAGE = ROOT / "docs" / "guides" / "operations.md"

LOOPS = """
[loop.home]
privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
learner = { tick = "1 second", forget = "1 hour" }
reward = { range = [0, 1], window = "1 second" }
[loop.home.action]
topic = { categories = ["news", "sport"] }
"""

SYSTEMCTL = """#!/bin/sh
set -e
cd "$TEST_FOLDER"
case "$1" in
start)
    reticent-server serve --config loops.toml --data "$TEST_FOLDER/data" --witness witness/heads --listen "$TEST_LISTEN" $RETICENT_OPTIONS 2> log > /dev/null < /dev/null &
    echo $! > pid
    for _ in $(seq 200); do
        if grep -q '^serving' log; then exit 0; fi
        kill -0 "$(cat pid)" || { cat log; exit 1; }
        sleep 0.05
    done
    exit 1 ;;
stop)
    kill -TERM "$(cat pid)"
    while kill -0 "$(cat pid)" 2> /dev/null; do sleep 0.05; done ;;
esac
"""


class Operator:
    """An operator who follows the page, block by block, in one shell."""

    def __init__(self, folder):
        self.folder = folder
        tools = folder / "tools"
        tools.mkdir()
        (folder / "loops.toml").write_text(LOOPS)
        for name, text in {
            "systemctl": SYSTEMCTL,
            "runuser": '#!/bin/sh\n[ "$1 $2 $3" = "-u reticent --" ] && shift 3 && exec "$@"\n',
            "chown": '#!/bin/sh\n[ "$1 $2" = "-R reticent:" ]\n',
        }.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        for binary in (BINARY, BINARY.with_name("reticent")):
            (tools / binary.name).symlink_to(binary.resolve())
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.listen = f"127.0.0.1:{free.getsockname()[1]}"
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TEST_FOLDER": str(folder), "TEST_LISTEN": self.listen}
        self.shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=folder)

    def run(self, block):
        """Runs the commands of a block, of which none may fail, and returns what they printed."""
        self.shell.stdin.write(f"set -e\n{block}\nset +e\necho; echo '==end=='\n")
        self.shell.stdin.flush()
        printed = []
        while (line := self.shell.stdout.readline()) and line != "==end==\n":
            printed.append(line)
        assert line, f"a command of the block failed:\n{block}\n{''.join(printed)}"
        return "".join(printed).strip()

    def head(self):
        """The head of the loop, as a release of the running service."""
        return int(re.search(r'reticent_release\{loop="home"\} (\d+)', self.metrics())[1])

    def metrics(self):
        return self.run('curl -s $SERVICE/metrics -H "Authorization: Bearer $ADMIN"')

    def wait_for_release(self):
        before = self.head()
        wait_until(lambda: self.head() > before)

    def close(self):
        self.shell.stdin.close()
        self.shell.wait(timeout=10)
        if (self.folder / "pid").exists():
            subprocess.run(["kill", "-KILL", (self.folder / "pid").read_text().strip()], stderr=subprocess.DEVNULL)


@pytest.fixture
def operator(tmp_path_factory):
    program("curl")
    running = Operator(tmp_path_factory.mktemp("o"))
    yield running
    running.close()


def blocks(of_database=False):
    """The blocks of commands of the page, or of its section about PostgreSQL."""
    before, rest = PAGE.read_text().split("## With PostgreSQL\n")
    section, after = rest.split("\n## ", 1)
    return re.findall(r"```sh\n(.*?)```", section if of_database else before + after, re.DOTALL)


def settle(operator, settings):
    """Sets the folders of the test in place of those of the package."""
    places = {name: operator.folder / name.lower() for name in ["DATA", "WITNESS", "BACKUP", "KEYS"]}
    for name, place in {**places, "SERVICE": f"http://{operator.listen}"}.items():
        settings, found = re.subn(rf"^{name}=.*$", f"{name}={place}", settings, flags=re.MULTILINE)
        assert found == 1, name
    operator.run(settings)


def words(text):
    """The service's words, without the numbers of releases and hashes."""
    return re.sub(r"\b\d+(\.[0-9a-f]{32})?\b", "N", " ".join(text.split()))


def test_the_page_s_commands_back_up_restore_and_accept(operator):
    settings, start, backup, restore, put_back, accept, lost = blocks()
    settle(operator, settings)
    operator.run(start)
    operator.wait_for_release()
    assert "the copy is in" in operator.run(backup)
    copied = operator.head()
    operator.wait_for_release()
    assert stat.S_IMODE((operator.folder / "keys" / "people.key").stat().st_mode) == 0o600

    # Every release after the copy is missed.
    said = json.loads(operator.run(restore).splitlines()[-1])
    assert not said["ready"] and operator.head() <= copied + 1
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert words(said["troubles"][0]) == words(json.loads(example)["troubles"][0])
    assert "reticent_halted{loop=\"home\"} 1" in operator.metrics()

    # The lost folder was not lost: it goes on, and nothing is charged.
    assert json.loads(operator.run(put_back).splitlines()[-1])["ready"]
    operator.wait_for_release()
    assert epsilon(operator) == pytest.approx(1.0, abs=1e-9)

    # It is lost in earnest.
    shutil.rmtree(operator.folder / "data.copy")
    operator.run(restore)
    printed = operator.run(accept)
    assert "replays charged so far: 1" in printed
    charged = float(re.search(r'"epsilon":([\d.]+)', printed)[1])
    stated = re.search(r"epsilon 1\.00 becomes (\d\.\d\d)", PAGE.read_text())[1]
    # Rounded up, as everywhere.
    assert float(stated) - 0.01 < charged <= float(stated)
    assert epsilon(operator) == charged
    operator.wait_for_release()

    # Without its witness the store is not served, unless the operator says that it is lost.
    ready = operator.run(lost).splitlines()[-1]
    assert json.loads(ready)["ready"]
    certificate = operator.run('curl -s $SERVICE/v1/loops/home/certificate -H "Authorization: Bearer $ADMIN"')
    assert "lost" in certificate
    operator.run("systemctl stop reticent")
    (operator.folder / "witness" / "heads").unlink()
    refused = operator.run("! systemctl start reticent")
    assert "--witness-lost" in refused, refused


@pytest.fixture
def database(tmp_path_factory):
    """The address of a database in a PostgreSQL that runs as an ordinary user."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    tools = versions[-1] if versions else Path(program("initdb")).parent
    folder = Path(tempfile.mkdtemp(prefix="reticent-pg-"))
    user = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def run(*command):
        subprocess.run([*user, tools / command[0], *command[1:]], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    run("initdb", "-D", folder / "data", "-A", "trust", "-U", "reticent", "-E", "UTF8", "--locale=C", "--no-sync")
    run("pg_ctl", "-D", folder / "data", "-s", "-w", "-l", folder / "log", "-o", f"-k {folder} -c listen_addresses=", "start")
    run("createdb", "-h", folder, "-U", "reticent", "reticent")
    yield f"postgres://reticent@/reticent?host={folder}"
    run("pg_ctl", "-D", folder / "data", "-s", "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


def test_the_page_s_commands_restore_a_database(operator, database):
    begin, backup, restore = blocks(of_database=True)
    settings, *_, accept, _ = blocks()
    settle(operator, settings)
    begin, found = re.subn(r"=postgres:.*", f"='{database}'", begin)
    assert found == 1
    operator.run(begin)
    operator.wait_for_release()
    # In the package there is a folder for copies.
    (operator.folder / "backup").mkdir()
    operator.run(backup)
    copied = operator.head()
    operator.wait_for_release()
    assert not (operator.folder / "data" / "store.redb").exists(), "the store is in the database"

    said = json.loads(operator.run(restore).splitlines()[-1])
    assert not said["ready"] and operator.head() <= copied + 1
    printed = operator.run(accept)
    assert "replays charged so far: 1" in printed
    operator.wait_for_release()
    operator.run("systemctl stop reticent")


def epsilon(operator):
    certificate = operator.run('curl -s $SERVICE/v1/loops/home/certificate -H "Authorization: Bearer $ADMIN"')
    return json.loads(certificate)["guarantee"]["epsilon"]


def test_the_page_names_every_alert():
    rules = (ROOT / "packaging" / "prometheus" / "reticent.rules.yml").read_text()
    alerts = set(re.findall(r"alert: (\w+)", rules))
    named = set(re.findall(r"`(Reticent\w+)`", PAGE.read_text()))
    assert alerts == named


def test_the_page_prints_the_folders_of_the_unit():
    unit = (ROOT / "packaging" / "debian" / "reticent.service").read_text()
    folders = re.search(r"^StateDirectory=(.*)$", unit, re.MULTILINE)[1].split()
    assert [f"/var/lib/{folder}" for folder in folders] == re.findall(r"^\| `(/var/lib/[\w-]+)`", PAGE.read_text(), re.MULTILINE)

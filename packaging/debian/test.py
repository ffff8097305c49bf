"""Installs the Debian package, serves from it, upgrades, removes and purges it: `cargo xtask deb --test`, as root.

Where systemd runs, it starts the unit. Elsewhere the command line, user, folders and environment of the installed unit are started as systemd would.
Everything happens on this machine, so that nothing of the package may be there before.
"""

import json
import os
import pathlib
import pwd
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request

UNIT = pathlib.Path("/usr/lib/systemd/system/reticent.service")
SETTINGS = pathlib.Path("/etc/default/reticent")
LOOPS = pathlib.Path("/etc/reticent/loops.toml")
DATA = pathlib.Path("/var/lib/reticent")
WITNESS = pathlib.Path("/var/lib/reticent-witness")
BACKUP = pathlib.Path("/var/lib/reticent-backup")
PROGRAMS = [pathlib.Path("/usr/bin/reticent"), pathlib.Path("/usr/bin/reticent-server")]
PLACES = [*PROGRAMS, UNIT, SETTINGS, LOOPS.parent, DATA, WITNESS, BACKUP]

#: The most that `systemd-analyze security` may find: 10 is a service without any protection.
EXPOSURE = 1.5


def run(*command, **options):
    """Runs a command that must succeed, and returns what it printed."""
    options = {"stdout": subprocess.PIPE, "text": True, **options}
    done = subprocess.run([str(part) for part in command], **options)
    assert done.returncode == 0, f"{command}: exit status {done.returncode}\n{done.stdout}"
    return done.stdout


def values(key):
    """All values of a key of the installed unit."""
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.MULTILINE)


class Unit:
    """The unit as it runs."""

    has_systemd = pathlib.Path("/run/systemd/system").is_dir()
    #: Processes that were started here.
    started = []

    def __init__(self):
        if self.has_systemd:
            run("systemctl", "restart", "reticent")
            return
        (user,), (group,), (mode,) = values("User"), values("Group"), values("StateDirectoryMode")
        for folder in values("StateDirectory")[0].split():
            run("install", "-d", "-m", mode, "-o", user, "-g", group, f"/var/lib/{folder}")
        environment = {"PATH": os.environ["PATH"]}
        settings = values("Environment") + SETTINGS.read_text().splitlines()
        for line in settings:
            if line and not line.startswith("#"):
                name, value = line.split("=", 1)
                environment[name] = value.strip('"')
        (command,) = values("ExecStart")
        # `${NAME}` is one word, and `$NAME` as many as it has.
        words = []
        for word in shlex.split(command):
            whole, parts = re.fullmatch(r"\$\{(\w+)\}", word), re.fullmatch(r"\$(\w+)", word)
            words += [environment[whole[1]]] if whole else shlex.split(environment.get(parts[1], "")) if parts else [word]
        as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--init-groups", "--no-new-privs"]
        self.process = subprocess.Popen([*as_user, *words], env=environment, umask=int(values("UMask")[0], 8), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.started.append(self.process)

    def stop(self):
        """Stops it as systemd does; it must end with 0."""
        if self.has_systemd:
            run("systemctl", "stop", "reticent")
            assert "Result=success" in run("systemctl", "show", "reticent", "--property=Result")
            return
        (name,) = values("KillSignal")
        self.process.send_signal(getattr(signal, name))
        assert self.process.wait(timeout=60) == 0


class Service:
    """Calls of the service that the unit runs."""

    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"
        self.headers = {}

    def get(self, path):
        request = urllib.request.Request(self.address + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def wait(self, condition):
        """Asks again until it holds."""
        end = time.monotonic() + 60
        while True:
            try:
                if (found := condition(self)) is not None:
                    return found
            except (urllib.error.URLError, ConnectionError) as error:
                problem = error
            assert time.monotonic() < end, f"the service did not get there: {problem}"
            problem = "it answered something else"
            time.sleep(0.1)

    def ready(self):
        return self.wait(lambda service: True if json.loads(service.get("/readyz"))["ready"] else None)

    def release(self, above):
        """The number of the last release of the loop `home`, when it is above this one."""

        def number(service):
            found = int(re.search(r'^reticent_release\{loop="home"\} (\d+)', service.get("/metrics"), re.MULTILINE)[1])
            return found if found > above else None

        return self.wait(number)


def installed():
    """The version that dpkg knows, and the state of the package."""
    done = subprocess.run(["dpkg-query", "--show", "--showformat=${Version} ${db:Status-Status}", "reticent"], capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else ["none", "not-installed"]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def server(*arguments):
    """A command of the operator, as the service's user."""
    return run("runuser", "-u", "reticent", "--", "reticent-server", *arguments, stderr=subprocess.DEVNULL).strip()


def check(old, new):
    run("dpkg", "--install", old)
    user = pwd.getpwnam("reticent")
    assert user.pw_uid != 0 and user.pw_shell.endswith("nologin"), user
    run("systemd-analyze", "verify", UNIT, stderr=subprocess.STDOUT)
    exposure = run("systemd-analyze", "security", "--offline=yes", UNIT)
    level = float(re.search(r"exposure level.*: ([\d.]+)", exposure)[1])
    assert level <= EXPOSURE, exposure
    run("reticent-server", "serve", "--config", LOOPS, "--check")
    run("reticent", "certify", LOOPS)

    if Unit.has_systemd:
        # The package has started it with its own settings. A witness moves with the setting.
        run("systemctl", "stop", "reticent")
        if (WITNESS / "heads").exists():
            (WITNESS / "heads").rename(WITNESS / "own")
    # Changes by an operator are kept by everything that follows.
    port = free_port()
    SETTINGS.write_text(f"RETICENT_LISTEN=127.0.0.1:{port}\nRETICENT_WITNESS=/var/lib/reticent-witness/own\nRETICENT_LOG=warn\n")
    LOOPS.write_text(LOOPS.read_text().replace('tick = "10 minutes"', 'tick = "1 second"').replace("30 minutes", "1 second"))
    kept = [SETTINGS.read_text(), LOOPS.read_text()]
    assert '"1 second"' in kept[1]

    unit, service = Unit(), Service(port)
    service.ready()
    key = server("key", "new", "--data", DATA, "--role", "admin")
    service.headers = {"Authorization": f"Bearer {key}"}
    first = service.release(above=0)
    assert (WITNESS / "own").exists()
    server("store", "backup", "--data", DATA, "--to", BACKUP / "store.redb")
    for path in [DATA, *DATA.iterdir(), WITNESS, *WITNESS.iterdir(), BACKUP, *BACKUP.iterdir()]:
        status = path.lstat()
        assert status.st_uid == user.pw_uid and not stat.S_IMODE(status.st_mode) & 0o077, path

    # The new package has another file of loops: that of the operator stays.
    if not Unit.has_systemd:
        unit.stop()
    run("dpkg", "--install", "--force-confold", new)
    assert installed()[0].endswith("+upgrade"), installed()
    assert [SETTINGS.read_text(), LOOPS.read_text()] == kept
    # A policy of the machine may keep the package from starting it again.
    unit = Unit()
    service.ready()
    second = service.release(above=first)
    assert "epsilon" in service.get("/v1/loops/home/certificate")
    assert second > first

    unit.stop()
    run("dpkg", "--remove", "reticent")
    assert installed()[1] == "config-files"
    assert not any(program.exists() for program in PROGRAMS) and not UNIT.exists()
    assert [SETTINGS.read_text(), LOOPS.read_text()] == kept
    assert (DATA / "store.redb").exists()

    said = run("dpkg", "--purge", "reticent", stderr=subprocess.STDOUT)
    assert installed()[1] == "not-installed"
    left = [place for place in PLACES if place.exists()]
    assert left == [WITNESS, BACKUP], left
    assert all(str(place) in said for place in left), said
    assert not list(pathlib.Path("/etc/systemd/system").rglob("reticent*")), "it is still enabled or masked"


def main():
    old, new = sys.argv[1:]
    found = [str(place) for place in PLACES if place.exists()]
    if found or installed()[1] != "not-installed":
        sys.exit(f"the package is here already, and this test would remove it with its data ({', '.join(found)}): take another machine, or purge it")
    had_user = any(entry.pw_name == "reticent" for entry in pwd.getpwall())
    try:
        check(old, new)
    finally:
        for process in Unit.started:
            if process.poll() is None:
                process.kill()
        subprocess.run(["dpkg", "--purge", "reticent"], capture_output=True)
        for place in [WITNESS, BACKUP]:
            subprocess.run(["rm", "-rf", place])
        if not had_user:
            subprocess.run(["userdel", "reticent"], capture_output=True)


if __name__ == "__main__":
    main()

"""A reader who follows a page: runs its commands one after another in an empty folder, and compares what they print with what the page shows.

A page shows stdout, of a command that is refused stderr, and of a service what it says until it serves.
"""

import doctest
import os
import re
import shutil
import subprocess
import threading
import time

import program
from repository import ROOT

# Longest wait of a reader for a block.
SECONDS = 240
# Loops of the examples release at every tenth minute of the clock, and a page that starts a service shows it before its first release: it is begun no later than this many seconds before.
TICK, AHEAD = 600, 30


class Session:
    """A shell in a folder with the repository's examples."""

    def __init__(self, folder):
        self.folder, self.services, self.key = folder, [], None
        self.address = "127.0.0.1:8080"
        # Paths in an experiment are relative to its file: what a script writes beside a copy is not in the repository.
        shutil.copytree(ROOT / "examples", folder / "examples")
        (folder / "crates").symlink_to(ROOT / "crates")
        (folder / "bin").mkdir()
        for name, binary in program.PROGRAMS.items():
            (folder / "bin" / name).symlink_to(binary.resolve())

    def close(self):
        for service in self.services:
            service.terminate()
            service.wait(timeout=60)

    def run(self, block, shown=None):
        """Runs a block; `shown` is what the page says that it prints."""
        extra = re.match(r"tested with: (.*)", block.note)
        printed, script = "", []
        for line in block.text.split("\n"):
            if extra and line.startswith("reticent"):
                command, _, remark = line.partition(" #")
                line = f"{command} {extra[1]}"
            if re.match(r"reticent-server (serve|shuffle) ", line) and "--check" not in line and "--help" not in line:
                printed += self.shell("\n".join(script), block)
                script = []
                printed += self.serve(line)
            else:
                script.append(line)
        printed += self.shell("\n".join(script), block)
        if shown is not None:
            checker = doctest.OutputChecker()
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            example = doctest.Example(block.text, shown + "\n")
            assert checker.check_output(shown + "\n", printed + "\n", flags), checker.output_difference(example, printed, flags)

    def shell(self, script, block):
        """Runs commands that end; their variables stay for later blocks."""
        if not script.strip():
            return ""
        script = script.replace("127.0.0.1:8080", self.address).replace("KEY=rt_...", f"KEY={self.key}")
        whole = f"set -a\n[ -f .variables ] && . ./.variables\n{script}\nstatus=$?\nexport -p > .variables\nexit $status"
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", whole], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
        fails = block.note == "fails"
        assert (done.returncode != 0) == fails, f"line {block.line}: {script}\n{done.stdout}{done.stderr}"
        if key := re.search(r"^rt_\S+", done.stdout, re.MULTILINE):
            self.key = self.key or key[0]
        return (done.stderr if fails else done.stdout).replace(self.address, "127.0.0.1:8080")

    def serve(self, line):
        """Starts a service on a free port, and returns what it says until it serves."""
        command, _, _ = line.partition(" #")
        if not self.services and (left := TICK - time.time() % TICK) < AHEAD:
            time.sleep(left + 1)
        arguments = [*command.split()[1:], "--listen", "127.0.0.1:0"]
        service = subprocess.Popen([program.SERVER, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.services.append(service)
        said = ""
        for line in service.stderr:
            said += line
            if found := re.search(r"127\.0\.0\.1:\d+", line):
                self.address = found[0]
                # A full pipe would stop it.
                threading.Thread(target=service.stderr.read, daemon=True).start()
                return said.replace(found[0], "127.0.0.1:8080")
        raise AssertionError(f"{line} did not start: {said}")


def files(block):
    """The name under which the page says to save a block, if it does."""
    named = re.search(r"[Ss]ave (?:this|it|them) as `([\w./-]+)`", block.before)
    return named[1] if named and block.language in ("toml", "csv", "json", "python") else None

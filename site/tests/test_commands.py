"""Every command on the pages for beginners runs as printed and prints what the page shows; commands of all other pages can be run."""

import re
import shlex
import subprocess
import sys

import program
import pytest
from pages import blocks
from repository import ROOT
from session import Session, files

DOCS = ROOT / "docs"

# Pages whose commands are run. The others have experiments of minutes.
SLOW = {"guides/devices.md", "guides/from-personalizer.md", "guides/operations.md", "guides/python.md", "reference/defaults.md", "reference/features.md", "reference/real-data.md"}
RUN = ["index.md", "why/privacy.md", *(f"{folder}/{page.name}" for folder in ("start", "guides", "reference") for page in sorted((DOCS / folder).glob("*.md")) if f"{folder}/{page.name}" not in SLOW)]
ALL = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", *sorted(ROOT.glob("examples/**/README.md"))]


@pytest.mark.parametrize("page", RUN)
def test_commands_of_a_page(page, tmp_path_factory):
    # The path of a control socket has at most 107 bytes, so the folder is short.
    folder = tmp_path_factory.mktemp("p")
    session = Session(folder)
    try:
        found = list(blocks((DOCS / page).read_text()))
        for block, after in zip(found, [*found[1:], None]):
            if name := files(block):
                (folder / name).write_text(block.text + "\n")
            elif block.is_command and not block.has_blanks and not block.note.startswith("not run: "):
                shown = after.text if after and after.language == "text" and not after.before else None
                session.run(block, shown)
    finally:
        session.close()


def commands():
    """Commands of all pages, with where they stand."""
    for page in ALL:
        for block in blocks(page.read_text()):
            if not block.is_command:
                continue
            for number, line in enumerate(block.text.split("\n"), block.line):
                if re.match(r"(reticent|reticent-server|python3?|cargo run) ", line):
                    command = re.split(r"  +#|\s#\s| && | \| | > ", line)[0]
                    yield f"{page.relative_to(ROOT)}:{number}", shlex.split(command)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the examples and the data that three of their scripts write. A fourth one needs scikit-learn."""
    folder = tmp_path_factory.mktemp("examples")
    Session(folder)
    for script in ("make_logs.py", "make_classes.py", "make_shapes.py"):
        subprocess.run([sys.executable, f"examples/{script}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.mark.parametrize("where, command", [pytest.param(where, command, id=where) for where, command in commands()])
def test_a_command_can_be_run(where, command, folder):
    """Its script is there; the program has its options; its experiment is usable with the keys that it changes."""
    if command[0].startswith("python"):
        assert command[1] == "-m" or (ROOT / command[1]).exists()
        return
    if command[0] == "cargo":
        if "--example" in command:
            name = command[command.index("--example") + 1]
            assert [*ROOT.glob(f"crates/*/examples/{name}.rs"), *ROOT.glob(f"crates/*/examples/{name}/main.rs")]
            return
        if "--" not in command:
            return
        name = "reticent-server" if "reticent-server" in command else "reticent"
        command = [name, *command[command.index("--") + 1 :]]
    words = [word for word in command[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)]
    help = program.printed(*words, "--help", name=command[0])
    if "unrecognized" in help:
        words, help = words[:1], program.printed(words[0], "--help", name=command[0])
    for option in (word.partition("=")[0] for word in command if word.startswith("--") and word != "--help"):
        assert re.search(rf"{option}\b", help), f"{option} is not in\n{help}"
    for word in command:
        assert not word.startswith(("examples/", "crates/")) or (ROOT / word).exists(), word
    if words == ["reproduce"] and len(command) > 2 and not command[2].startswith("--"):
        known = program.printed("reproduce", "nonsense")
        assert command[2] in known, known
    if words[:1] in (["run"], ["audit"], ["certify"]) and command[2:] and command[2].startswith(("examples/", "crates/")):
        changed = [word for option, value in zip(command, command[1:]) if option == "--set" for word in (option, value)]
        done = subprocess.run([program.BINARY, "certify", command[2], *changed], cwd=folder, capture_output=True, text=True)
        # Data that scikit-learn brings, or that an earlier command of the page writes.
        missing = re.search(r"results/\S+(?:: got|;) No such file", done.stderr)
        assert done.returncode == 0 or missing, done.stderr


def printed_files():
    """Whole files of loops and whole experiments that pages print, with where they stand."""
    for page in ALL:
        for block in blocks(page.read_text()):
            whole = block.language == "toml" and re.search(r"^\[loop\.|^name = [^[]*^\[environment\]", block.text, re.MULTILINE | re.DOTALL)
            # A file that reads another one is run with its page, and one with kinds of a reader's own by the reader's program.
            if whole and "file = " not in block.text and not block.note.startswith("own kinds: "):
                yield pytest.param(block.text, id=f"{page.relative_to(ROOT)}:{block.line}")


@pytest.mark.parametrize("text", list(printed_files()))
def test_a_printed_file_is_usable(text):
    assert program.refusal(text) == ""

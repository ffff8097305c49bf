"""Every command on the pages for beginners runs as printed and prints what the page shows; commands of all other pages name what exists."""

import re
import shlex

import program
import pytest
from pages import blocks
from repository import ROOT
from session import Session, files

DOCS = ROOT / "docs"

# Pages whose commands are run. The others have experiments of minutes.
RUN = ["index.md", "guide.md", "privacy.md", "service.md", *(f"{folder}/{page.name}" for folder in ("for", "guides", "reference") for page in sorted((DOCS / folder).glob("*.md")))]
ALL = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", *sorted(ROOT.glob("examples/**/README.md"))]


@pytest.mark.parametrize("page", RUN)
def test_commands_of_a_page(page, tmp_path):
    session = Session(tmp_path)
    try:
        found = list(blocks((DOCS / page).read_text()))
        for block, after in zip(found, [*found[1:], None]):
            if name := files(block):
                (tmp_path / name).write_text(block.text + "\n")
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
                if re.match(r"(reticent|python3?|cargo run) ", line):
                    command = re.split(r"  +#|\s#\s| && | \| | > ", line)[0]
                    yield f"{page.relative_to(ROOT)}:{number}", shlex.split(command)


@pytest.mark.parametrize("where, command", [pytest.param(where, command, id=where) for where, command in commands()])
def test_a_command_names_what_exists(where, command):
    """Its script, experiment or file of loops is there, and the program has its options."""
    if command[0].startswith("python"):
        assert command[1] == "-m" or (ROOT / command[1]).exists()
        return
    if command[0] == "cargo":
        if "--example" in command:
            name = command[command.index("--example") + 1]
            assert list(ROOT.glob(f"crates/*/examples/{name}.rs"))
            return
        if "--" not in command:
            return
        command = ["reticent", *command[command.index("--") + 1 :]]
    path = [word for word in command[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)]
    help = program.printed(*path, "--help") if path else program.printed("--help")
    if "unrecognized" in help:
        path, help = path[:1], program.printed(path[0], "--help")
    for option in (word.partition("=")[0] for word in command if word.startswith("--")):
        assert f"{option} " in help or f"{option}\n" in help or option in ("--help",), f"{where}: {option} is not in\n{help}"
    for word in command:
        if word.startswith(("examples/", "crates/")):
            assert (ROOT / word).exists(), f"{where}: {word}"
    if path[:1] == ["reproduce"] and (names := [word for word in command[2:] if not word.startswith("--") and command[command.index(word) - 1] != "--out"]):
        known = program.printed("reproduce", "nonsense")
        assert names[0] in known, f"{where}: {names[0]} is not in {known}"


def printed_files():
    """Whole files of loops and whole experiments that pages print, with where they stand."""
    for page in ALL:
        for block in blocks(page.read_text()):
            whole = block.language == "toml" and re.search(r"^\[loop\.|^name = [^[]*^\[environment\]", block.text, re.MULTILINE | re.DOTALL)
            # A file that reads another one is run with its page.
            if whole and "file = " not in block.text:
                yield pytest.param(block.text, id=f"{page.relative_to(ROOT)}:{block.line}")


@pytest.mark.parametrize("text", list(printed_files()))
def test_a_printed_file_is_usable(text):
    assert program.refusal(text) == ""

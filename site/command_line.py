"""The help of every command, as the built programs print it."""

import re

import program


def subcommands(help):
    """The commands that a help text lists."""
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", help, re.MULTILINE)
    return [name for name in re.findall(r"^  (\S+)", listed[1], re.MULTILINE) if name != "help"] if listed else []


def sections(name, *path):
    """A heading and the help of a command and of all commands below it."""
    help = program.printed(*path, "--help", name=name)
    level = "##" if len(path) < 2 else "###"
    yield f"{level} {' '.join((name, *path))}\n\n```text\n{help.strip()}\n```\n"
    for command in subcommands(help):
        yield from sections(name, *path, command)


def text():
    return "\n".join(section for name in program.PROGRAMS for section in sections(name))

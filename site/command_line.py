"""The help of every command, as the built program prints it."""

import re

import program


def subcommands(help):
    """The commands that a help text lists."""
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", help, re.MULTILINE)
    return [name for name in re.findall(r"^  (\S+)", listed[1], re.MULTILINE) if name != "help"] if listed else []


def sections(*path):
    """A heading and the help of a command and of all commands below it."""
    help = program.printed(*path, "--help")
    level = "##" if len(path) < 2 else "###"
    yield f"{level} {' '.join(('reticent', *path))}\n\n```text\n{help.strip()}\n```\n"
    for name in subcommands(help):
        yield from sections(*path, name)


def text():
    return "\n".join(sections())

"""Parts of reference pages that are made from the types, the help and the calls of the program.

    <!-- generated: name -->
    <!-- end -->

In the repository the text stands between the two lines, so that a reader there has it, and a test compares it with what the program makes. A part
without the second line is made for the site only: a list of Python's names would repeat the stubs, and the certificate is a page of its own.

`RETICENT_WRITE_DOCS=1 pytest site/tests/test_generated.py` writes the parts anew.
"""

import re

import command_line
import http_calls
import python_names
import toml_keys

CERTIFICATE = "figures/certificate.html"

TEXTS = {
    "certificate": lambda: f"[The whole page](../{CERTIFICATE}), as the command writes it.",
    "command_line": command_line.text,
    "experiments": toml_keys.experiments,
    "http": http_calls.text,
    "loops": toml_keys.loops,
    "other_files": toml_keys.other_files,
    "python": python_names.text,
}

COMMITTED = re.compile(r"^<!-- generated: (?P<name>\w+) -->\n(?P<text>.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
MADE_FOR_SITE = re.compile(r"^<!-- generated: (?P<name>\w+) -->$", re.MULTILINE)


def made(name):
    """The text of a part, as it is committed."""
    return "\n" + "\n".join(line.rstrip() for line in TEXTS[name]().strip("\n").split("\n")) + "\n\n"


def committed(markdown):
    """The name and the text of every part of a page that is in the repository."""
    return [(found["name"], found["text"]) for found in COMMITTED.finditer(markdown)]


def written_anew(markdown):
    """A page with its committed parts as the program makes them now."""
    return COMMITTED.sub(lambda found: f"<!-- generated: {found['name']} -->\n{made(found['name'])}<!-- end -->", markdown)


def for_site(markdown):
    """A page with all of its parts."""
    whole = COMMITTED.sub(lambda found: made(found["name"]), markdown)
    return MADE_FOR_SITE.sub(lambda found: TEXTS[found["name"]](), whole)


def without(markdown):
    """A page without its committed parts, with the same numbers of lines: what people wrote."""
    return COMMITTED.sub(lambda found: "\n" * found[0].count("\n"), markdown)

"""Blocks of code on a page of the documentation.

A comment in the line above a block says how the tests treat it, and is not seen by a reader:

    <!-- not run: reason -->            the block is not run, for this reason
    <!-- tested with: --set trials=1 -->  these arguments are added to each of its commands, to make them fast
    <!-- fails -->                      its last command is refused
"""

import re
from dataclasses import dataclass

import generated

COMMAND = re.compile(r"(reticent|curl|python3?|cargo|pip|mkdir|cp|[A-Z_]+=)")


@dataclass
class Block:
    language: str
    text: str
    line: int
    # The last line of text before the block, and the comment between them.
    before: str
    note: str

    @property
    def is_command(self):
        return self.language in ("sh", "indented") and bool(COMMAND.match(self.text))

    @property
    def has_blanks(self):
        """True if a reader has to fill in a word, such as FILE, or an address of their own."""
        return bool(re.search(r"(?<![$\w{])(FILE|KEYS|NUMBER|HASH|ID|DIR|YYYY)\b(?!=)|\.example\b", self.text))


def blocks(text):
    """All blocks of a page, in order; generated parts are tested where they are made."""
    lines = generated.without(text).split("\n")
    before, note, position = "", "", 0
    while position < len(lines):
        line = lines[position]
        if fence := re.match(r"```(\w*)", line):
            end = next(index for index in range(position + 1, len(lines)) if lines[index].startswith("```"))
            yield Block(fence[1], "\n".join(lines[position + 1 : end]), position + 1, before, note)
            position, before, note = end, "", ""
        elif line.startswith("    ") and not lines[position - 1].strip(" ") or line.startswith("    ") and lines[position - 1].startswith(("#", "<!--")):
            end = next((index for index in range(position, len(lines)) if not lines[index].startswith("    ")), len(lines))
            yield Block("indented", "\n".join(text[4:] for text in lines[position:end]), position + 1, before, note)
            position, before, note = end - 1, "", ""
        elif comment := re.match(r"<!-- (.*) -->$", line):
            note = comment[1]
        elif line.strip():
            before, note = line, ""
        position += 1

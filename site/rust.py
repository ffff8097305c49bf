"""Structs and enums of the Rust sources with their documentation, as the reference of TOML keys needs them.

This reads sources that rustfmt has formatted: an item begins in the first column, and so does the brace that ends it.
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

from repository import ROOT


@dataclass
class Member:
    """A field of a struct, or a variant of an enum."""

    name: str
    type: str = ""
    doc: str = ""
    attributes: str = ""
    fields: list = field(default_factory=list)

    @property
    def default(self):
        """The function of `default = "..."`, True for a plain `default`, or None."""
        named = re.search(r'\bdefault = "([\w:]+)"', self.attributes)
        return named[1] if named else bool(re.search(r"\bdefault\b", self.attributes)) or None

    @property
    def written(self):
        """Its name in files, where that differs."""
        renamed = re.search(r'\brename = "(\w+)"', self.attributes)
        return renamed[1] if renamed else self.name

    @property
    def skipped(self):
        return bool(re.search(r"serde\(skip\)", self.attributes))


@dataclass
class Item:
    kind: str
    name: str
    path: str
    doc: str
    attributes: str
    members: list

    @property
    def all_default(self):
        """True if every field may be left out."""
        return bool(re.search(r"serde\([^)]*\bdefault\b", self.attributes))


def documentation(lines):
    """The text of `///` lines, without examples."""
    text = "\n".join(line.strip().removeprefix("///").removeprefix(" ") for line in lines)
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL).strip()


def members(lines):
    """Fields and variants of the lines between an item's braces."""
    found, doc, attributes = [], [], []
    position = 0
    while position < len(lines):
        line = lines[position].strip()
        position += 1
        if line.startswith("///"):
            doc.append(line)
        elif line.startswith("#["):
            attributes.append(line)
        elif line and not line.startswith("//"):
            member, position = one_member(line, lines, position)
            if member:
                member.doc, member.attributes = documentation(doc), " ".join(attributes)
                found.append(member)
            doc, attributes = [], []
    return found


def one_member(line, lines, position):
    """The member that begins in this line, and the position after it."""
    if variant := re.match(r"(\w+) \{$", line):
        end = next(index for index in range(position, len(lines)) if lines[index].strip() == "},")
        return Member(variant[1], fields=members(lines[position:end])), end + 1
    if variant := re.match(r"(\w+)(?:\((.*?)\))?(?: =>.*)?,$", line):
        return Member(variant[1], type=variant[2] or ""), position
    if named := re.match(r"(?:pub(?:\([\w:]+\))? )?(\w+): (.*?),?$", line):
        return Member(named[1], type=named[2]), position
    return None, position


HEAD = re.compile(r"^(?:pub(?:\([\w:]+\))? )?(struct|enum) (\w+)(?:<.*>)? \{$|^(algorithms)! \{$")


def items(path):
    """The structs and enums of a file."""
    lines = (ROOT / path).read_text().split("\n")
    for start, line in enumerate(lines):
        if not (head := HEAD.match(line)):
            continue
        before = start
        while before and re.match(r"///|#\[", lines[before - 1]):
            before -= 1
        above = lines[before:start]
        end = next(index for index in range(start, len(lines)) if lines[index] == "}")
        kind, name = ("enum", "Algorithm") if head[3] else (head[1], head[2])
        # The macro derives it.
        attributes = "Deserialize" if head[3] else " ".join(text for text in above if text.startswith("#["))
        doc = documentation([text for text in above if text.startswith("///")])
        yield Item(kind, name, path, doc, attributes, members(lines[start + 1 : end]))


@functools.cache
def index():
    """All items of the crates that read files, by name."""
    found = {}
    for folder in ("core", "device", "lab", "loops", "server"):
        for file in sorted((ROOT / "crates" / folder / "src").rglob("*.rs")):
            for item in items(file.relative_to(ROOT).as_posix()):
                found.setdefault(item.name, []).append(item)
    return found


@functools.cache
def imports(path):
    """The full path of every name that a file imports."""
    found = {}
    for statement in re.findall(r"^(?:pub )?use ([^;]+);", (ROOT / path).read_text(), re.MULTILINE):
        before, stack = [], []
        for token in re.findall(r"[\w]+|[{},]", statement):
            if token == "{":
                stack.append(list(before))
            elif token == "}":
                stack.pop()
                before = list(stack[-1]) if stack else []
            elif token == ",":
                before = list(stack[-1])
            else:
                before = [*before, token]
                found[token] = before
    return found


def resolve(name, path):
    """The item that a name means in a file: the nearest one in the tree, among those in the modules that the file names."""
    *modules, name = name.split("::")
    modules = [*imports(path).get(modules[0] if modules else name, [])[:-1], *modules]
    crate = "crates/core/src" if modules[:1] == ["reticent"] else "crates"
    within = [module for module in modules if module not in ("crate", "reticent", "self", "super")]
    candidates = [item for item in index().get(name, []) if "Deserialize" in item.attributes and item.path.startswith(crate)]
    candidates = [item for item in candidates if all(re.search(rf"/{module}(/|\.rs)", item.path) for module in within)] or candidates
    here = Path(path).parts
    return max(candidates, key=lambda item: (item.path == path, common(Path(item.path).parts, here), -item.path.count("/")), default=None)


def common(left, right):
    return next((count for count, pair in enumerate(zip(left, right)) if pair[0] != pair[1]), min(len(left), len(right)))


def function_value(name, path):
    """The body of a function of one expression, such as `default_depth`, in this file or in the crate."""
    name = name.split("::")[-1]
    crate = ROOT / Path(*Path(path).parts[:3])
    for file in [ROOT / path, *sorted(crate.rglob("*.rs"))]:
        if body := re.search(rf"^(?:    )?(?:pub(?:\([\w:]+\))? )?(?:const )?fn {name}(?:<.*>)?\(\) -> .*? \{{\n\s+(.*)\n\s*\}}$", file.read_text(), re.MULTILINE):
            return body[1]
    return None


def default_values(name, path):
    """Fields and expressions of `impl Default for Name`."""
    return dict(re.findall(r"(\w+): (\([^)]*\)|[^,{}]+?)(?:,| \})", default_body(name, path)))


def default_body(name, path):
    """The text of `impl Default for Name`."""
    body = re.search(rf"^impl Default for {name} \{{\n(.*?)^\}}$", (ROOT / path).read_text(), re.MULTILINE | re.DOTALL)
    return body[1] if body else ""


def constant_value(name, path):
    """The value of a constant of this file or of the crate."""
    crate = ROOT / Path(*Path(path).parts[:3])
    for file in [ROOT / path, *sorted(crate.rglob("*.rs"))]:
        if value := re.search(rf"const {name}: \S+ = (.*);$", file.read_text(), re.MULTILINE):
            return value[1]
    return None

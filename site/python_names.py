"""Classes and functions of the Python package: signatures from the stubs and the modules, texts from where they are written.

The compiled classes have their documentation in `crates/python/src`, the others in their own modules.
"""

import ast
import functools
import re

import rust
from repository import ROOT

PACKAGE = ROOT / "crates/python/python/reticent"

# Letters of a line of code that is seen without scrolling.
LINE = 76

# Modules as a caller imports them.
MODULES = {"reticent": "__init__.py", "reticent.privacy": "privacy.py", "reticent.lab": "lab/__init__.py"}


def exported(module):
    """The names in `__all__` of a module, each with its definition in a stub or a module; submodules have none."""
    file = PACKAGE / MODULES[module]
    names = next(node.value for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")
    known = definitions(file)
    return {name.value: known.get(name.value) for name in names.elts}


@functools.cache
def definitions(file):
    """Classes and functions of a file by name, with those that it imports from other files of the package."""
    known = {}
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            known[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.level:
            folder = file.parent if node.level == 1 else file.parent.parent
            source = folder / f"{node.module}.{'pyi' if node.module == '_core' else 'py'}"
            found = definitions(source) if source.exists() else {}
            known |= {name.asname or name.name: found[name.name] for name in node.names if name.name in found}
    return known


PYCLASS = re.compile(r'pyclass\(.*name = "(\w+)"')


def classes(lines):
    """The names in Python of a file's structs."""
    found = {}
    for position, line in enumerate(lines):
        if named := PYCLASS.search(line):
            struct = next(match for after in lines[position:] if (match := re.search(r"(?:struct|enum) (\w+)", after)))
            found[struct[1]] = named[1]
    return found


def rust_texts():
    """Documentation in the Rust sources, by the name of a class and of its method or by that of a function."""
    found = {}
    for file in sorted((ROOT / "crates/python/src").glob("*.rs")):
        lines = file.read_text().split("\n")
        python, doc, owner, renamed = classes(lines), [], None, None
        found |= dict(re.findall(r'create_exception!\(\s*\w+,\s*(\w+),\s*\w+,\s*"(.*)"\s*\)', file.read_text()))
        for line in lines:
            text = line.strip()
            if text.startswith("///"):
                doc.append(text)
                continue
            if given := re.match(r'#\[pyo3\(name = "(\w+)"', text):
                renamed = given[1]
            if named := PYCLASS.search(text):
                found[named[1]] = rust.documentation(doc)
            elif implementation := re.match(r"impl (\w+) \{", line):
                owner = python.get(implementation[1])
            elif line == "}":
                owner = None
            elif function := re.match(r"(?:pub(?:\(\w+\))? )?fn (\w+)", text):
                name, renamed = renamed or re.sub(r"^(get_|py_)", "", function[1]), None
                # A method in a macro belongs to all classes of its file.
                owners = [owner] if owner else list(python.values()) if line.startswith("        ") else [None]
                for owned in owners if doc else []:
                    found.setdefault((owned, name) if owned else name, rust.documentation(doc))
            if not text.startswith("#["):
                doc = []
    return found


COLUMN = re.compile(r"(\w[\w, ]*?) {2,}(\S.*)")


def with_examples(text):
    """A docstring as Markdown: examples of a session become blocks of code, and parameters in columns a table."""
    return "\n\n".join(paragraph(part) for part in re.split(r"\n\s*\n", text or "") if part.strip())


def paragraph(text):
    """One paragraph of a docstring."""
    lines = text.strip("\n").split("\n")
    session = next((number for number, line in enumerate(lines) if line.startswith(">>>")), None)
    if session is not None:
        before = "\n".join(lines[:session])
        return f"{before}\n\n```pycon\n" + "\n".join(lines[session:]) + "\n```"
    if not COLUMN.fullmatch(lines[0]) or not all(COLUMN.fullmatch(line) or line.startswith("  ") for line in lines):
        return text
    rows = []
    for line in lines:
        if line.startswith("  "):
            rows[-1][1] += f" {line.strip()}"
        else:
            rows.append(list(COLUMN.fullmatch(line).groups()))
    cells = "\n".join(f"| `{name}` | {said.replace('|', chr(92) + '|')} |" for name, said in rows)
    return f"| argument | what it is |\n| --- | --- |\n{cells}"


def signature(node):
    """A definition in one line, without its body."""
    arguments = re.sub(r"\bself(, )?|\bcls(, )?", "", ast.unparse(node.args), count=1).removeprefix("/, ")
    answer = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){answer}"


def in_lines(call):
    """A call of more than a line's length, with a line for each argument."""
    if len(call) <= LINE:
        return call
    # Commas inside brackets belong to types.
    depth, lines, start = 0, [], call.index("(") + 1
    for position, letter in enumerate(call):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 1:
            lines.append(f"    {call[start : position + 1].strip()}")
            start = position + 1
        if depth == 0 and letter == ")":
            lines.append(f"    {call[start:position].strip()},\n{call[position:]}")
            break
    return "\n".join([call[: call.index("(") + 1], *lines])


def first_sentence(text):
    text = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", text)[0].replace("|", "\\|")


def class_section(name, node, texts):
    """The constructor, the text and a table of what a class has."""
    doc = ast.get_docstring(node) or texts.get(name, "")
    parts = [f"### {name}\n"]
    methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    made = next((method for method in methods if method.name in ("__new__", "__init__")), None)
    if made:
        made_as = signature(made).replace(made.name, name, 1).split(" -> ")[0]
        parts.append(f"```python\n{in_lines(made_as)}\n```\n")
    parts.append(with_examples(doc) + "\n")
    rows = []
    for method in methods:
        if method.name.startswith("_"):
            continue
        said = first_sentence(ast.get_docstring(method) or texts.get((name, method.name)))
        decorators = [ast.unparse(decorator) for decorator in method.decorator_list]
        shown = f"{method.name}: {ast.unparse(method.returns) if method.returns else ''}" if "property" in decorators else signature(method)
        shown = shown.replace("|", "\\|")
        rows.append(f"| `{shown}` | {said} |")
    rows += [f"| `{ast.unparse(part.target)}: {ast.unparse(part.annotation)}` | |".replace(" | None", " \\| None") for part in node.body if isinstance(part, ast.AnnAssign)]
    if rows:
        parts.append("| name | what it is |\n| --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def function_section(name, node, texts):
    doc = ast.get_docstring(node) or texts.get(name, "")
    return f"### {name}\n\n```python\n{in_lines(signature(node))}\n```\n\n{with_examples(doc)}\n"


def text():
    """Every name of every module."""
    texts, parts = rust_texts(), []
    for module in MODULES:
        parts.append(f"## {module}\n")
        for name, node in exported(module).items():
            if isinstance(node, ast.ClassDef):
                parts.append(class_section(name, node, texts))
            elif node is not None:
                parts.append(function_section(name, node, texts))
    return "\n".join(parts)

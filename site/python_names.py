"""Classes and functions of the Python package: signatures from the stubs and the modules, texts from where they are written.

The compiled classes have their documentation in `crates/python/src`, the others in their own modules.
"""

import ast
import re

import rust
from repository import ROOT

PACKAGE = ROOT / "crates/python/python/reticent"

# Modules as a caller imports them, with what is not compiled in them.
MODULES = [
    ("reticent", ["client.py", "_device.py", "_http.py", "_limits.py"]),
    ("reticent.privacy", ["privacy.py"]),
    ("reticent.lab", ["lab/experiment.py", "lab/own.py", "lab/results.py", "lab/progress.py", "lab/engines.py"]),
]


def exported(module):
    """The names in `__all__` of a module."""
    file = PACKAGE / ("privacy.py" if module.endswith("privacy") else "lab/__init__.py" if module.endswith("lab") else "__init__.py")
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [entry.value for entry in node.value.elts]
    raise ValueError(f"{file} has no __all__")


def definitions(file):
    """Classes and functions of a file by name."""
    return {node.name: node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


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
        python, doc, owner = classes(lines), [], None
        for line in lines:
            text = line.strip()
            if text.startswith("///"):
                doc.append(text)
                continue
            if named := PYCLASS.search(text):
                found[named[1]] = rust.documentation(doc)
            elif implementation := re.match(r"impl (\w+) \{", line):
                owner = python.get(implementation[1])
            elif line == "}":
                owner = None
            elif function := re.match(r"(?:pub(?:\(\w+\))? )?fn (\w+)", text):
                name = re.sub(r"^(get_|py_)", "", function[1])
                # A method in a macro belongs to all classes of its file.
                owners = [owner] if owner else list(python.values()) if line.startswith("        ") else [None]
                for owned in owners if doc else []:
                    found.setdefault((owned, name) if owned else name, rust.documentation(doc))
            if not text.startswith("#["):
                doc = []
    return found


def with_examples(text):
    """A docstring as Markdown: examples of a session become blocks of code."""
    lines, code = [], False
    for line in (text or "").split("\n"):
        if line.startswith(">>>") and not code:
            lines += ["", "```pycon"]
            code = True
        elif code and not line.strip():
            lines.append("```")
            code = False
        lines.append(line)
    return "\n".join(lines + ["```"] * code)


def signature(node):
    """A definition in one line, without its body."""
    arguments = re.sub(r"\bself(, )?|\bcls(, )?", "", ast.unparse(node.args), count=1).removeprefix("/, ")
    answer = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments}){answer}"


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
        parts.append(f"```python\n{signature(made).replace(made.name, name, 1).split(' -> ')[0]}\n```\n")
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
    return f"### {name}\n\n```python\n{signature(node)}\n```\n\n{with_examples(doc)}\n"


def text():
    compiled, texts, parts = definitions(PACKAGE / "_core.pyi"), rust_texts(), []
    for module, files in MODULES:
        known = dict(compiled)
        for file in files:
            known |= definitions(PACKAGE / file)
        parts.append(f"## {module}\n")
        for name in exported(module):
            node = known.get(name)
            if isinstance(node, ast.ClassDef):
                parts.append(class_section(name, node, texts))
            elif node is not None:
                parts.append(function_section(name, node, texts))
    return "\n".join(parts)

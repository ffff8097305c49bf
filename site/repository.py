"""Files outside docs/ that pages link to, as pages of the site.

A link on a page is a path in the repository, so that it works where the repository is read. Here every such path becomes a page: another
text in Markdown as it is, a notebook as its cells, a source file as a listing, a folder as a table of its files.
"""

import json
import posixpath
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A fenced block, code in a line, or the target of a link: code is left alone.
LINK = re.compile(r"^```.*?^```|`[^`\n]+`|(?<=\]\()(?P<target>[^)\s]+)(?=\))", re.MULTILINE | re.DOTALL)

# Lines of a data file that are shown.
HEAD = 20

LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".js": "javascript", ".mjs": "javascript", ".json": "json", ".yml": "yaml", ".yaml": "yaml"}


def linked(markdown, source):
    """The paths in the repository that a text at `source` links to."""
    for found in LINK.finditer(markdown):
        if path := resolved(found["target"], source):
            yield path


def resolved(target, source):
    """The path in the repository that a relative link leads to, or None if it leads elsewhere."""
    path = (target or "").partition("#")[0]
    if not path or re.match(r"[a-z]+:|/", path):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    return path if (ROOT / path).exists() and not path.startswith("..") else None


def uri(path):
    """Place of a path of the repository in the site's sources."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        readme = posixpath.join(path, "README.md")
        return f"repository/{readme if (ROOT / readme).exists() else posixpath.join(path, 'index.md')}"
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def source_of(uri):
    """The path in the repository that links of a page are relative to."""
    return uri.removeprefix("repository/") if uri.startswith("repository/") else f"docs/{uri}"


def with_links_of_the_site(markdown, page_uri):
    """The text of a page, with links that lead to pages of the site."""
    source = source_of(page_uri)

    def link(found):
        path = resolved(found["target"], source)
        if path is None:
            return found[0]
        anchor = found["target"].partition("#")[2]
        relative = posixpath.relpath(uri(path), posixpath.dirname(page_uri) or ".")
        return f"{relative}#{anchor}" if anchor else relative

    return LINK.sub(link, markdown)


def pages():
    """Every page that is made from files outside docs/, as uri and text: those that are linked to, and those that the linked ones link to."""
    tracked = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    waiting = [path for path in tracked if path.startswith("docs/") and path.endswith(".md")]
    waiting += ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"]
    seen, made = set(waiting), {}
    while waiting:
        path = waiting.pop()
        if (ROOT / path).is_dir() and (ROOT / path / "README.md").exists():
            path = posixpath.join(path, "README.md")
        text = page(path, tracked)
        if not path.startswith("docs/"):
            made[uri(path)] = text
        new = {target for target in linked(text, path) if target not in seen}
        seen |= new
        waiting += new
    return made


def page(path, tracked):
    """A path of the repository as Markdown."""
    file = ROOT / path
    if file.is_dir():
        return folder(path, tracked)
    if file.suffix == ".png":
        return ""
    if file.suffix == ".ipynb":
        return notebook(path, json.loads(file.read_text()))
    text = file.read_text()
    if path == "CHANGELOG.md":
        # It has every word of the site: searches find it after the page that explains the word.
        return f"---\nsearch:\n  boost: 0.1\n---\n\n{text}"
    if file.suffix == ".md":
        return text
    lines = text.splitlines()
    note = ""
    if file.suffix in (".csv", ".json", ".tsv") and len(lines) > HEAD:
        note = f"\nThe first {HEAD} of {len(lines)} lines.\n"
        lines = lines[:HEAD]
    shown = "\n".join(line[:400] for line in lines)
    return f"---\nsearch:\n  exclude: true\n---\n\n# {file.name}\n\n`{path}`\n{note}\n````{LANGUAGES.get(file.suffix, 'text')}\n{shown}\n````\n"


def folder(path, tracked):
    """A table of a folder's files, with the first sentence of each."""
    rows = []
    for name in sorted({entry.removeprefix(f"{path}/").split("/")[0] for entry in tracked if entry.startswith(f"{path}/")}):
        rows.append(f"| `{name}` | {summary(ROOT / path / name)} |")
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n| file | what |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def summary(file):
    """The first line of a file's documentation."""
    if file.is_dir():
        inside = [file / "mod.rs", file / "src" / "lib.rs"]
        return next((summary(candidate) for candidate in inside if candidate.exists()), "")
    first = file.read_text(errors="replace").lstrip().partition("\n")[0] if file.suffix in (".rs", ".py", ".toml", ".md") else ""
    text = re.match(r'(?://!|#|""")\s*([^\[].*?)"*$', first)
    return text[1].replace("|", "\\|") if text else ""


def notebook(path, cells):
    """The cells of a notebook, with what they print."""
    parts = [f"`{path}`"]
    for cell in cells["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code":
            parts.append(f"```python\n{text}\n```")
            printed = "".join("".join(output.get("text", "")) for output in cell.get("outputs", []))
            parts += [f"```text\n{printed.rstrip()}\n```"] if printed else []
    # The title first: the page's name is taken from it.
    return "\n\n".join([parts[1], parts[0], *parts[2:]]) + "\n"

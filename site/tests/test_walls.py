"""No page is a wall of text: after some lines of prose there is something to look at, a table, an example or a figure.

The built pages are measured, as a reader sees them. Headings do not count as something to look at.
"""

from html.parser import HTMLParser

import pytest
from repository import ROOT

SITE = ROOT / "target" / "site"

# Characters of prose without a table, an example or a figure: about half a screen.
STRETCH = 2000
# Characters of a paragraph, of an item of a list, and of a cell of a table.
PIECE = 700

# Beginnings of something to look at, and ends of a piece of prose.
SHOWN = {"table", "pre", "img", "svg"}
PIECES = {"p", "li", "td", "th", "summary", "h1", "h2", "h3", "h4"}
EMPTY = {"img", "br", "hr", "input", "link", "meta", "path", "source"}

# A list of changes, and source files and notebooks that are shown as they are.
LEFT_OUT = {"repository/CHANGELOG.html"}


class Prose(HTMLParser):
    """Measures the prose of a page's article."""

    def __init__(self):
        super().__init__()
        self.open, self.piece, self.stretch, self.found = [], "", "", []

    def handle_starttag(self, tag, attributes):
        if tag in SHOWN and "article" in self.open:
            self.end_piece()
            self.end_stretch()
        if tag in PIECES:
            self.end_piece()
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in PIECES or tag == "article":
            self.end_piece()
        if tag == "article":
            self.end_stretch()
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if "article" in self.open and not {"pre", "svg", "script", "style", "nav"} & set(self.open):
            self.piece += data

    def end_piece(self):
        text = " ".join(self.piece.split())
        self.piece = ""
        if len(text) > PIECE:
            self.found.append(f"a piece of {len(text)} characters, at most {PIECE}: {text[:80]!r}")
        if not {"table", "h1", "h2", "h3", "h4"} & set(self.open):
            self.stretch += text + " "

    def end_stretch(self):
        text, self.stretch = self.stretch.strip(), ""
        if len(text) > STRETCH:
            self.found.append(f"{len(text)} characters without a table, an example or a figure, at most {STRETCH}: {text[:80]!r}")


def walls(html):
    prose = Prose()
    prose.feed(html)
    return prose.found


def pages():
    """Pages of docs/, and texts of the repository that are pages of the site."""
    for page in sorted(SITE.rglob("*.html")):
        name = page.relative_to(SITE).as_posix()
        written = not name.startswith(("repository/", "figures/")) or (ROOT / name.removeprefix("repository/").replace(".html", ".md")).exists()
        if written and name not in LEFT_OUT:
            yield name


@pytest.mark.parametrize("page", list(pages()))
def test_a_page_is_no_wall(page):
    found = walls((SITE / page).read_text())
    assert not found, "split it into sections with a table, an example or a figure:\n" + "\n".join(found)


def test_every_page_is_measured():
    assert len(list(pages())) > 40, "cargo xtask docs builds the site before its tests"


LINE = "<p>" + 60 * "somewords " + "</p>"


@pytest.mark.parametrize(
    "html, count",
    [
        (3 * LINE, 0),
        (4 * LINE, 1),
        # A heading is no rest, a table, an example and a figure are.
        (3 * LINE + "<h2>more</h2>" + LINE, 1),
        (3 * LINE + "<table><tr><td>1</td></tr></table>" + 3 * LINE, 0),
        (3 * LINE + "<pre><code>" + 999 * "long " + "</code></pre>" + 3 * LINE, 0),
        (3 * LINE + "<p><img src=a.svg></p>" + 3 * LINE, 0),
        # Neither a paragraph nor a cell may be long by itself.
        ("<p>" + 2 * LINE.removeprefix("<p>").removesuffix("</p>") + "</p>", 1),
        ("<table><tr><td>" + 80 * "somewords " + "</td></tr></table>", 1),
    ],
)
def test_walls_are_found(html, count):
    assert len(walls(f"<html><body>{9 * LINE}<article>{html}</article></body></html>")) == count

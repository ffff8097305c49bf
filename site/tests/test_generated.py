"""Generated parts of reference pages: what is committed is what the program makes."""

import os

import generated
import pytest
from repository import ROOT

PAGES = {page: text for page in sorted((ROOT / "docs").rglob("*.md")) if generated.committed(text := page.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_what_the_program_makes(page):
    anew = generated.written_anew(PAGES[page])
    if "RETICENT_WRITE_DOCS" in os.environ:
        page.write_text(anew)
    assert page.read_text() == anew, "RETICENT_WRITE_DOCS=1 cargo xtask docs writes it anew"


def test_parts_are_found():
    assert len(PAGES) == 5
    page = "# Keys\n<!-- generated: loops -->\nold\n```sh\nx\n```\n<!-- end -->\nafter\n"
    assert generated.committed(page) == [("loops", "old\n```sh\nx\n```\n")]
    assert generated.without(page) == "# Keys\n\n\n\n\n\n\nafter\n"
    assert generated.without(page).count("\n") == page.count("\n")


def test_a_changed_part_is_noticed():
    page = "<!-- generated: other_files -->\n<!-- end -->\n"
    anew = generated.written_anew(page)
    assert anew != page and generated.written_anew(anew) == anew
    assert generated.written_anew(anew.replace("| key |", "| name |")) == anew

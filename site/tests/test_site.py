"""The built site: links between pages and files of the repository, and nothing from other hosts."""

import json
import re

import hooks
import pytest
import python_names
import repository
import toml_keys
from repository import ROOT

SITE = ROOT / "target" / "site"


@pytest.mark.parametrize(
    "target, page, link",
    [
        ("../reference/service.md#figures", "start/experiments.md", "../reference/service.md#figures"),
        ("../../examples/loops.toml", "start/experiments.md", "../repository/examples/loops.toml.md"),
        ("../../SECURITY.md", "start/operator.md", "../repository/SECURITY.md"),
        ("docs/start/experiments.md", "repository/README.md", "../start/experiments.md"),
        ("examples/web", "repository/README.md", "examples/web/README.md"),
        ("crates/core/src/noise", "repository/README.md", "crates/core/src/noise/index.md"),
        ("#here", "start/experiments.md", "#here"),
        ("https://example.org/a.md", "start/experiments.md", "https://example.org/a.md"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site(target, page, link):
    assert repository.with_links_of_the_site(f"[text]({target})", page) == f"[text]({link})"


def test_a_link_that_leads_nowhere_is_left_for_mkdocs_to_refuse():
    assert repository.with_links_of_the_site("[text](../../examples/none.toml)", "start/experiments.md") == "[text](../../examples/none.toml)"


def test_code_is_left_alone():
    for code in ("`[a](../../examples/loops.toml)`", "```\n[a](../../examples/loops.toml)\n```"):
        assert repository.with_links_of_the_site(code, "start/experiments.md") == code


def test_nothing_is_loaded_from_other_hosts():
    pages = sorted(SITE.rglob("*.html"))
    assert len(pages) > 50, "cargo xtask docs builds the site before its tests"
    for page in pages:
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"?((?:https?:)?//[^\" >]+)", page.read_text())
        assert loaded == [], page


def test_a_search_finds_the_changelog_last():
    """It has every word of the site; `search_index.js` is what the browser searches."""
    text = (SITE / "search" / "search_index.js").read_text()
    entries = json.loads(text[text.index("{") : text.rindex("}") + 1])["docs"]
    boosts = {entry.get("boost", 1) for entry in entries if "CHANGELOG" in entry["location"]}
    assert boosts == {0.1} and len(entries) > 100
    assert all(entry.get("boost", 1) >= 1 for entry in entries if "CHANGELOG" not in entry["location"])


def test_defaults_are_named_in_every_table_of_keys():
    for text in (toml_keys.loops(), toml_keys.other_files()):
        rows = [line.split(" | ") for line in text.split("\n") if re.match(r"\| `[\w.]+`(, `[\w.]+`)? \| [^|]", line)]
        keys = [row for row in rows if len(row) == 4]
        assert len(keys) > 20
        assert [row[0] for row in keys if not row[2].strip()] == []


def test_cells_are_stacked_on_a_telephone():
    narrow = (ROOT / "site" / "theme" / "site.css").read_text().partition("(max-width: 37.5em)")[2].partition("\n}")[0]
    assert re.search(r"td \{ display: block", narrow) and "attr(data-label)" in narrow
    table = "<table><thead><tr><th>key</th><th>the <b>value</b></th></tr></thead><tbody><tr><td>a</td><td align=right>1</td></tr></tbody></table>"
    assert hooks.with_labels(table).endswith('<td>a</td><td data-label="the value" align=right>1</td></tr></tbody></table>')


def test_every_name_in_python_has_a_text():
    for section in python_names.text().split("\n### ")[1:]:
        name, _, rest = section.partition("\n")
        assert re.sub(r"```python.*?```", "", rest, flags=re.DOTALL).strip(), name


def test_parameters_in_columns_become_a_table():
    assert python_names.with_examples("Runs.\n\nfile      a path\nrounds    how many,\n          at least 1") == (
        "Runs.\n\n| argument | what it is |\n| --- | --- |\n| `file` | a path |\n| `rounds` | how many, at least 1 |"
    )

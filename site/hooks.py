"""Hooks that mkdocs calls while it builds the site: pages from outside docs/, and the generated parts of reference pages."""

import re

import generated
import program
import repository
from mkdocs.structure.files import File


def on_config(config):
    """A page that the settings do not name stands under "More", so that every page can be reached."""
    named = set(re.findall(r"[\w./-]+\.md", repr(config.nav)))
    docs = repository.ROOT / "docs"
    others = sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))
    if more := [page for page in others if page not in named]:
        config.nav.append({"More": more})
    return config


def on_files(files, config):
    for uri, text in repository.pages().items():
        files.append(File.generated(config, uri, content=text))
    files.append(File.generated(config, generated.CERTIFICATE, content=program.certificate_page()))
    return files


def on_page_markdown(markdown, page, config, files):
    markdown = generated.for_site(markdown)
    return repository.with_links_of_the_site(with_space_before_lists(markdown), page.file.src_uri)


def on_page_content(html, page, config, files):
    return re.sub(r"<table>.*?</table>", lambda found: with_labels(found[0]), html, flags=re.DOTALL)


def with_labels(table):
    """A table whose cells after the first have the heading of their column, for screens on which rows are stacked."""
    headings = [re.sub(r"<[^>]+>", "", heading).strip() for heading in re.findall(r"<th\b[^>]*>(.*?)</th>", table, re.DOTALL)]

    def row(found):
        labels = iter(headings)

        def cell(tag):
            label = next(labels, "")
            return f'<td data-label="{label}"{tag[1]}>' if label and label != headings[0] else tag[0]

        return re.sub(r"<td\b([^>]*)>", cell, found[0])

    return re.sub(r"<tr>.*?</tr>", row, table, flags=re.DOTALL)


def with_space_before_lists(markdown):
    """GitHub begins a list in the line after a paragraph, Python-Markdown after an empty one only."""
    lines, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        item = re.match(r"(- |1\. )", line)
        after_text = lines and lines[-1].strip() and not re.match(r"\s|- |\d+\. |#|<!--", lines[-1])
        if item and after_text and not fenced:
            lines.append("")
        lines.append(line)
    return "\n".join(lines)

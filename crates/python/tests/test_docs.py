"""Every example in a docstring and on a page of docs/ runs and prints the output shown."""

import doctest
import inspect
import pathlib
import re

import pytest
import reticent
from reticent import _core, client, lab, privacy
from reticent.lab import engines, experiment, own, progress, results

DOCS = pathlib.Path(__file__).parents[3] / "docs"


def documented():
    """Everything that has a docstring, with its name; compiled classes included."""
    for module in (reticent, client, privacy, lab, engines, experiment, own, progress, results, _core):
        yield module.__name__, module.__doc__
        for name, value in vars(module).items():
            if inspect.ismodule(value) or not (inspect.isroutine(value) or inspect.isclass(value)):
                continue
            yield f"{module.__name__}.{name}", inspect.getdoc(value)
            if inspect.isclass(value):
                for method, function in vars(value).items():
                    yield f"{module.__name__}.{name}.{method}", getattr(function, "__doc__", None)


# Each text once, under the first of its names.
EXAMPLES = {name: doc for doc, name in {doc: name for name, doc in reversed(list(documented())) if doc and ">>>" in doc}.items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring(name):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(EXAMPLES[name], {}, name, None, 0))
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples():
    assert len(EXAMPLES) > 20


def test_everything_public_is_documented():
    silent = []
    for module in (reticent, client, privacy, lab):
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.getdoc(value):
                silent.append(name)
            if inspect.isclass(value):
                for method, function in vars(value).items():
                    if not method.startswith("_") and function is not None and not inspect.getdoc(function):
                        silent.append(f"{name}.{method}")
    assert not silent


# Pages with sessions in Python, with the least number of examples.
PAGES = {"guides/adding-an-algorithm.md": 9, "guides/python.md": 20, "reference/defaults.md": 2, "reference/features.md": 6, "reference/python.md": 2}


@pytest.mark.parametrize("page", PAGES)
def test_a_page(tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert failed == 0 and tried > PAGES[page]


def test_no_page_is_left_out():
    assert {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if "\n>>> " in page.read_text()} == set(PAGES)


def block(page):
    """The one block of Python of a page that is not a session."""
    (text,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return text


def test_the_readme(capsys):
    """The Python of the README runs as it stands and prints a guarantee."""
    exec(compile(block(DOCS.parent / "README.md"), "README.md", "exec"), {})
    assert "(at most 1.0000, 1e-6)-differentially private" in capsys.readouterr().out


def test_the_page_about_audits(capsys):
    """Its player is not certified and is refuted; with fewer rounds and runs than the page has, which take minutes."""
    text = block(DOCS / "why" / "audit.md")
    quick = text.replace("Leak()}))", "Leak()}, rounds=12, samples=1000))")
    assert quick != text
    exec(compile(quick, "audit.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "stated, not checked" in printed and "VIOLATED" in printed

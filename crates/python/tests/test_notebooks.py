"""Every notebook runs from top to bottom. They are kept without outputs."""

import json
import pathlib

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_every_kind_of_user():
    assert [path.stem for path in NOTEBOOKS] == ["operator", "product_engineer", "researcher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    tables = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "text/html" in output.get("data", {})]
    assert tables, "a guarantee or results, shown as a table"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None

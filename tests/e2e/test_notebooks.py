"""Every notebook of examples/notebooks, cell by cell, in a kernel of its own."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.e2e.product import ROOT, Product

FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))
CELL_S = 180
# what a notebook must have printed, besides having run to its end
FOUND = {
    "first_endpoint.ipynb": ("sees 2 is 2", "accuracy of green: 0.9", "DeploymentNotFound |"),
    "many_at_a_time.ipynb": ("all right: True", "power-3 {'blue': 100}"),
}


def test_every_notebook_is_known() -> None:
    assert sorted(FOUND) == NOTEBOOKS


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_kept_without_outputs(name: str) -> None:
    notebook = nbformat.read(FOLDER / name, as_version=4)
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs(
    name: str, product: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_HOME", str(product.home))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(FOLDER / name, as_version=4)
    NotebookClient(
        notebook, timeout=CELL_S, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in shown)
    for words in FOUND[name]:
        assert words in text, text
    assert not [output for output in shown if output.get("name") == "stderr"], shown
    if name == "first_endpoint.ipynb":
        tables = [
            output.data["text/html"] for output in shown if "text/html" in output.get("data", {})
        ]
        assert any("Upload" in table for table in tables), "no progress below any cell"

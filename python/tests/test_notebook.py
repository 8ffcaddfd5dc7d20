"""The notebook runs from its first cell to its last, and leaves its picture."""

import os
import pathlib
import sys

import pytest

NOTEBOOK = pathlib.Path(__file__).parent.parent / "examples" / "first_steps.ipynb"


def test_first_steps(checkpoint, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("emcee")
    monkeypatch.setenv("CHECKPOINT", os.path.abspath(checkpoint))
    monkeypatch.setenv("MPLBACKEND", "agg")
    # The kernel of this environment, whatever kernels are installed for the user.
    kernel = tmp_path / "share" / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    kernel.joinpath("kernel.json").write_text(
        '{"argv": ["%s", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}' % sys.executable
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    book = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "the notebook is kept without outputs"
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "double_well.png").stat().st_size > 5000

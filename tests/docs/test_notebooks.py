"""The notebooks of the site run, and are kept with their plots."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def list_outputs(path):
    cells = json.loads(path.read_text())["cells"]
    return [output for cell in cells for output in cell.get("outputs", ())]


def test_there_are_five():
    assert len(NOTEBOOKS) == 5


@each_notebook
def test_it_runs(path, tmp_path, monkeypatch):
    pytest.importorskip("nbclient")
    pytest.importorskip("sklearn")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.syspath_prepend(ROOT / "tools" / "site")
    tool = runpy.run_path(str(ROOT / "tools" / "site" / "notebook_pages.py"))
    done = tool["execute_notebook"](path, tmp_path)
    drawn = [
        output
        for cell in done.cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    kept = [output for output in list_outputs(path) if "image/png" in output.get("data", {})]
    assert len(drawn) == len(kept) > 0


@each_notebook
def test_it_is_kept_with_what_it_prints_and_small(path):
    outputs = list_outputs(path)
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert path.stat().st_size < 400_000

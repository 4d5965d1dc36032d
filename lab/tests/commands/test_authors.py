"""The comparison with the authors' package: what it is given, and what of it is loaded."""

import importlib
import json
import sys
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("threadpoolctl")

from benchmarks import authors
from benchmarks.voting.cases import simulate_table


def test_the_table_is_written_with_its_columns_by_type(tmp_path):
    table = simulate_table(20, 2, (3,))
    rows, columns = authors._write_csv(table, tmp_path)
    assert pd.read_csv(rows).shape == (20, 4)
    found = json.loads(Path(columns).read_text())
    label = table.schema.label
    assert found["label_columns"] == [label]
    assert len(found["cat_columns"]) == 1
    assert len(found["float_columns"]) == 2
    named = {*found["cat_columns"], *found["float_columns"], *found["int_columns"], label}
    assert named == set(table.data.column_names)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the same layout, whose part for images can not be loaded."""
    home = tmp_path / "pe"
    for name in ("data/image", "data/tabular", "runner"):
        (home / name).mkdir(parents=True)
    (home / "__init__.py").touch()
    (home / "data" / "__init__.py").write_text(
        "from .image import Cifar\nfrom .tabular import Rows"
    )
    (home / "data" / "image" / "__init__.py").write_text("raise ImportError")
    (home / "data" / "tabular" / "__init__.py").write_text("Rows = 1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [authors.EmptyModules(), *sys.meta_path])
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "pe"]:
        del sys.modules[name]


def test_parts_for_images_are_left_out_and_tables_are_not(package):
    found = importlib.import_module("pe.data")
    assert found.Rows == 1
    assert found.Cifar is None


def test_the_package_must_be_there(package, monkeypatch, tmp_path):
    monkeypatch.setenv("TABPE_AUTHORS", str(package))
    assert authors.find_package() == package.resolve()
    monkeypatch.setenv("TABPE_AUTHORS", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="TABPE_AUTHORS"):
        authors.find_package()


def test_a_run_of_ours_makes_as_many_rows_as_theirs():
    table = simulate_table(300, 3)
    assert authors.prepare_ours("paper", table, 50)().num_rows == 50

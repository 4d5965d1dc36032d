"""The page about data sets: its code runs, and its table says what `load` gives."""

import re
from pathlib import Path

import pytest

from tabpe_lab.datasets import load, names, recorded
from tabpe_lab.datasets.catalog import _ENTRIES
from tabpe_lab.datasets.download import DataFile

TEXT = (Path(__file__).parents[3] / "docs" / "how-to" / "data-sets.md").read_text()
ROWS = {
    cells[0].strip("` "): [cell.strip() for cell in cells[1:]]
    for line in TEXT.split("## Splits")[0].splitlines()
    if line.startswith("| `")
    for cells in [line.strip("|").split("|")]
}


def test_the_code_runs(capsys):
    for code in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        exec(code, {})
    assert "XOR of 3 features 35000" in capsys.readouterr().out


def test_each_data_set_has_a_row():
    assert tuple(ROWS) == names()
    for name, (_, _, _, order, *_) in ROWS.items():
        assert order == _ENTRIES[name].order


@pytest.mark.parametrize(
    "name", ["scm-tree", "regions", "breast-cancer", "adult", "monk", "insurance"]
)
def test_a_row_says_what_is_loaded(name):
    needed = {"adult": recorded.ADULT, "monk": recorded.MONKS, "insurance": recorded.INSURANCE}
    if name in needed and needed[name].find_local() is None:
        pytest.skip(f"{needed[name].name} is not here")
    data = load(name)
    rows, columns, classes, *_, split = ROWS[name]
    assert f"{sum(map(len, (data.train, data.validation, data.test))):,}" == rows
    assert (len(data.schema.columns), len(data.schema.class_names)) == (int(columns), int(classes))
    assert split.split(",")[0] in data.split


def test_each_file_is_named():
    files = [each for each in vars(recorded).values() if isinstance(each, DataFile)]
    more = [recorded.CHARACTERS[0], *recorded.AUTHORS_SCM.values(), recorded.make_xor_file(3)]
    for file in [*files, *more]:
        assert f"`{file.name}`" in TEXT

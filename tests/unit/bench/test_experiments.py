"""The experiment files: read strictly, about known things, and quick where they say so."""

from pathlib import Path

import pytest

from tabpe.bench.exhibits import figures_of, tables_of
from tabpe.bench.fields import METHODS
from tabpe.bench.files import read_suite
from tabpe.bench.grid import runs_of
from tabpe.bench.methods import maker_of
from tabpe.bench.paper import paper, printed
from tabpe.datasets import names
from tabpe.errors import ParameterError

FOLDER = Path(__file__).parents[3] / "experiments"
FILES = sorted(file for file in FOLDER.glob("*.yaml") if file.stem != "quick")
VARIANTS = ("quick", "full")
MOST_QUICK_RUNS, MOST_QUICK_ROWS, MOST_ROWS_MADE = 10, 8000, 400
SMALL_BY_THEMSELVES = ("breast-cancer", "insurance", "monk")

each_file = pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])


def experiment(file, variant):
    (found,) = read_suite(file, variant).experiments
    return found


@each_file
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_is_read_strictly_and_shows_something(file, variant):
    found = experiment(file, variant)
    assert found.name == file.stem
    assert found.paper
    tables = tables_of(found.tables, where=file.name)
    figures = figures_of(found.figures, where=file.name)
    assert tables or figures
    for entry in tables:
        assert not entry.paper or printed(entry.paper)


@each_file
@pytest.mark.parametrize("variant", VARIANTS)
def test_its_data_methods_and_settings_are_known(file, variant):
    for run in runs_of(experiment(file, variant)):
        maker_of(run)
        assert run.method in METHODS
        assert run.data in names()


@each_file
def test_its_measures_are_made(file):
    found = experiment(file, "full")
    made = {*found.metrics, *(f"validation_{name}" for name in found.metrics)}
    made |= {"seconds", "peak_megabytes", "synthetic_rows"}
    for entry in tables_of(found.tables, where=file.name):
        assert set(entry.metrics) <= made
    for entry in figures_of(found.figures, where=file.name):
        assert set(entry.y) <= made


@each_file
def test_the_quick_variant_is_few_runs_on_few_rows(file):
    runs = runs_of(experiment(file, "quick"))
    assert len(runs) <= MOST_QUICK_RUNS
    assert {run.seed for run in runs} == {0}
    for run in runs:
        assert run.data in SMALL_BY_THEMSELVES or run.data_options["train_rows"] <= MOST_QUICK_ROWS
        assert run.settings.get("n_samples", 0) <= MOST_ROWS_MADE


def test_the_quick_suite_has_every_experiment():
    suite = read_suite(FOLDER / "quick.yaml")
    assert sorted(found.name for found in suite.experiments) == sorted(file.stem for file in FILES)
    assert {found.variant for found in suite.experiments} == {"quick"}


def test_every_table_of_the_paper_is_remade():
    remade = {
        entry.paper
        for file in FILES
        for entry in tables_of(experiment(file, "full").tables, where=file.name)
    }
    assert remade - {""} == set(paper())


def test_the_search_has_the_settings_of_the_paper():
    runs = runs_of(experiment(FOLDER / "search.yaml", "full"))
    assert len([run for run in runs if run.epsilon == 1.0]) == 144


@each_file
def test_the_page_of_experiments_tells_how_many_runs_it_has(file):
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith(f"| `{file.name}` |")]
    told = row.split("|")[3].split(",")
    for variant, count in zip(("quick", "small", "full"), told, strict=True):
        if count.strip() == "-":
            with pytest.raises(ParameterError, match="there is none named"):
                experiment(file, variant)
        else:
            assert int(count) == len(runs_of(experiment(file, variant)))

"""The experiment files: read strictly, about known things, and quick where they say so."""

from pathlib import Path

import pytest

from tabpe.errors import ParameterError
from tabpe_lab.datasets import names
from tabpe_lab.exhibits import METHODS, parse_figures, parse_tables, read_suite
from tabpe_lab.grid import list_runs
from tabpe_lab.methods import build_maker
from tabpe_lab.summary import find_paper_table, load_paper_tables
from tabpe_lab.task import HOSPITAL

FOLDER = Path(__file__).parents[2] / "experiments"
SUITES = ("quick", "queue")
PAPER = sorted(file for file in FOLDER.glob("*.yaml") if file.stem not in SUITES)
BEYOND = sorted(file for file in FOLDER.glob("beyond/*.yaml") if file.stem != "quick")
SECOND = sorted(file for file in FOLDER.glob("second-step/*.yaml") if file.stem != "quick")
FILES = [*PAPER, *BEYOND, *SECOND]
VARIANTS = ("quick", "full")
MOST_QUICK_RUNS, MOST_QUICK_ROWS, MOST_ROWS_MADE = 10, 8000, 400
SMALL_BY_THEMSELVES = ("breast-cancer", "insurance", "monk")


def named(file):
    return file.relative_to(FOLDER).with_suffix("").as_posix()


each_file = pytest.mark.parametrize("file", FILES, ids=[named(file) for file in FILES])


def experiment(file, variant):
    (found,) = read_suite(file, variant).experiments
    return found


@each_file
@pytest.mark.parametrize("variant", VARIANTS)
def test_it_is_read_strictly_and_shows_something(file, variant):
    found = experiment(file, variant)
    assert found.name == named(file)
    assert bool(found.paper) == (file in PAPER)
    tables = parse_tables(found.tables, where=file.name)
    figures = parse_figures(found.figures, where=file.name)
    assert tables or figures
    for entry in tables:
        assert not entry.paper or find_paper_table(entry.paper)


@each_file
@pytest.mark.parametrize("variant", VARIANTS)
def test_its_data_methods_and_settings_are_known(file, variant):
    for run in list_runs(experiment(file, variant)):
        build_maker(run)
        assert run.method in METHODS
        assert run.data in {HOSPITAL, *names()}


@each_file
def test_its_measures_are_made(file):
    found = experiment(file, "full")
    made = {*found.metrics, *(f"validation_{name}" for name in found.metrics)}
    made |= {"seconds", "peak_megabytes", "synthetic_rows"}
    for entry in parse_tables(found.tables, where=file.name):
        assert set(entry.metrics) <= made
    for entry in parse_figures(found.figures, where=file.name):
        assert set(entry.y) <= made


@each_file
def test_the_quick_variant_is_few_runs_on_few_rows(file):
    runs = list_runs(experiment(file, "quick"))
    assert len(runs) <= MOST_QUICK_RUNS
    assert {run.seed for run in runs} == {0}
    for run in runs:
        assert run.data in SMALL_BY_THEMSELVES or run.data_options["train_rows"] <= MOST_QUICK_ROWS
        assert run.settings.get("n_samples", 0) <= MOST_ROWS_MADE


@pytest.mark.parametrize("files", [PAPER, BEYOND, SECOND], ids=["paper", "beyond", "second step"])
def test_the_quick_suite_has_every_experiment(files):
    suite = read_suite(files[0].parent / "quick.yaml")
    assert sorted(found.name for found in suite.experiments) == sorted(map(named, files))
    assert {found.variant for found in suite.experiments} == {"quick"}


def test_every_table_of_the_paper_is_remade():
    remade = {
        entry.paper
        for file in FILES
        for entry in parse_tables(experiment(file, "full").tables, where=file.name)
    }
    assert remade - {""} == set(load_paper_tables())


def test_the_search_has_the_settings_of_the_paper():
    runs = list_runs(experiment(FOLDER / "search.yaml", "full"))
    assert len([run for run in runs if run.epsilon == 1.0]) == 144


@each_file
def test_the_page_of_experiments_tells_how_many_runs_it_has(file):
    text = (file.parent / "README.md").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith(f"| `{file.name}` |")]
    told = row.split("|")[3].split(",")
    for variant, count in zip(("quick", "small", "full"), told, strict=True):
        if count.strip() == "-":
            with pytest.raises(ParameterError, match="there is none named"):
                experiment(file, variant)
        else:
            assert int(count) == len(list_runs(experiment(file, variant)))


def test_a_candidate_means_the_same_in_every_experiment_beyond_the_paper():
    """But for the source of noise, and the number of rows, which the paper names for some data."""
    meant = {}
    for file in BEYOND:
        for method in experiment(file, "full").methods:
            if method.called == "Paper":
                continue
            settings = {name: of for name, of in method.settings.items() if name != "noise"}
            assert meant.setdefault(method.called, settings) == settings, (file, method.called)
    assert {"Tuned", "Best", "Tables alone"} <= set(meant)


def test_nothing_is_confirmed_on_the_development_list():
    def cases(name):
        found = list_runs(experiment(FOLDER / "beyond" / f"{name}.yaml", "full"))
        return {(run.data, run.data_options.get("features")) for run in found}

    assert cases("development") == cases("tuning") == cases("known")
    assert not cases("confirmation") & cases("development")
    assert cases("confirmation") == cases("confirmation-epsilon")

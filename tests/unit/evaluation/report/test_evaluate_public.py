"""Reports that may be released: what they hold, and what they claim."""

import dataclasses
import datetime
import json
import sys

import pyarrow as pa
import pyarrow.csv
import pytest

from appraised import REAL, SCHEMA, SYNTHETIC, no_noise
from certificates import honest
from tabpe import Schema, TabPE, evaluate_public
from tabpe.cli.app import app
from tabpe.errors import NotPrivateWarning, ParameterError
from tabpe.evaluation.private_metrics import measure
from tabpe.schema import Source

BUDGET = {"real": REAL, "epsilon": 1, "delta": 1e-6, "verbose": 0}
READ_OFF = Schema(
    tuple(dataclasses.replace(column, source=Source.DATA) for column in SCHEMA.columns), "ill"
)
CLAIM = "May be released: holds only"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A synthetic table with its certificate, as a command writes them."""
    folder = tmp_path_factory.mktemp("released")
    pa.csv.write_csv(REAL, folder / "real.csv")
    SCHEMA.save(folder / "schema.yaml")
    words = ("synth", folder / "real.csv", "--schema", folder / "schema.yaml", "--rows", 200)
    saved = ("--delta", 1e-6, "-o", folder / "out.csv", "--save", folder / "run.tabpe", "--quiet")
    with pytest.raises(SystemExit) as ended:
        app([str(word) for word in (*words, *saved)])
    assert not ended.value.code
    return folder


def claims(report):
    return CLAIM in report.to_html()


def doubts(report):
    return json.loads(report.to_json())["doubts"]


def of(released, **changes):
    given = {"certificate": released / "out.certificate.json", "verbose": 0}
    return evaluate_public(released / "out.csv", **(given | changes))


@pytest.mark.parametrize("budget", [{}, BUDGET], ids=["nothing", "measures"])
def test_the_very_table_of_a_certificate_may_be_released(released, budget):
    report = of(released, **budget)
    assert claims(report)
    assert doubts(report) == []


def test_real_rows_in_the_place_of_the_synthetic_ones_may_not(released):
    """Neither the certificate nor the run is of them, whichever is given."""
    for given in (
        {"certificate": released / "out.certificate.json"},
        {"run": released / "run.tabpe"},
    ):
        report = evaluate_public(released / "real.csv", verbose=0, **given)
        assert not claims(report)
        assert doubts(report)


def test_rows_that_nobody_can_compare_are_not_claimed_to_be_those_of_the_certificate():
    model = TabPE(epsilon=1, delta=1e-6, n_samples=50, random_state=0, verbose=0).fit(REAL, SCHEMA)
    report = evaluate_public(model.sample(), certificate=model.certificate, verbose=0)
    assert not claims(report)
    assert "not compared" in doubts(report)[0]


@pytest.mark.parametrize("budget", [{}, BUDGET], ids=["nothing", "measures"])
def test_a_schema_read_off_the_real_rows_is_not_shown_as_public(released, budget):
    """The certificate knows nothing of it: it is the page that tells its bounds."""
    report = of(released, schema=READ_OFF, **budget)
    assert "age.max" in report.contents.fields_from_data
    assert "age.max" in report.to_html().split("<main>")[0]
    assert not claims(report)


def test_a_schema_read_off_synthetic_rows_is_public():
    assert evaluate_public(SYNTHETIC, verbose=0).contents.fields_from_data == ()


def test_fake_noise_is_never_claimed_to_be_private(released):
    with pytest.warns(NotPrivateWarning):
        report = of(released, noise=no_noise(), **BUDGET)
    assert not claims(report)
    assert "fake noise" in doubts(report)[0]
    assert "<title>NOT PRIVATE" in report.to_html()


def test_it_reveals_nothing_of_how_long_the_real_rows_took(released, monkeypatch):
    """Reading them takes longer the more there are."""
    now = datetime.datetime.now(datetime.UTC)
    later = [now + datetime.timedelta(hours=hour) for hour in range(9)]

    class Clock:
        now = staticmethod(lambda _: later[0])

    def slow(*given):
        del later[0]
        return measure_rows(*given)

    measure_rows = measure.measure_with_budget
    monkeypatch.setattr(sys.modules["tabpe.evaluation.report.evaluate_public"], "datetime", Clock)
    monkeypatch.setattr(measure, "measure_with_budget", slow)
    contents = of(released, **BUDGET).contents
    assert contents.created == now.isoformat(timespec="seconds")
    assert contents.seconds == {}


def test_the_rounds_of_another_run_are_refused(released):
    assert of(released, run=released / "run.tabpe").contents.history
    with pytest.raises(ParameterError, match="run="):
        of(released, run=released / "run.tabpe", certificate=honest())


@pytest.mark.parametrize("changes", [{"real": REAL}, {"epsilon": 1}])
def test_private_measures_need_both_the_rows_and_a_budget(changes):
    with pytest.raises(ParameterError, match="real, epsilon"):
        evaluate_public(SYNTHETIC, **changes)


@pytest.mark.parametrize("name", ["delta", "dataset", "ledger"])
def test_budget_options_are_refused_without_epsilon(name):
    with pytest.raises(ParameterError, match=f"{name}.*epsilon"):
        evaluate_public(SYNTHETIC, **{name: 1e-6 if name == "delta" else "x"})


def test_all_real_figures_are_estimated_privately(released):
    contents = of(released, **BUDGET).contents
    assert set(contents.rows) == {"synthetic"}
    assert contents.association.real is None
    assert contents.projection.real is None
    assert all(view.band > 0 for view in contents.columns)
    with pytest.raises(ParameterError, match="real columns"):
        dataclasses.replace(contents, private_measures=None)

"""Whole evaluations, from tables to a report."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from facade import SCHEMA, columns, fitted
from tabpe import Boolean, Integer, Schema, evaluate
from tabpe.errors import DataError, ParameterError

REAL, OTHER = pa.table(columns(400)), pa.table(columns(300, seed=1))


@pytest.fixture(scope="module")
def model():
    return fitted(REAL)


@pytest.fixture(scope="module")
def report(model):
    return evaluate(
        REAL,
        model.sample(200),
        test=OTHER,
        certificate=model.certificate,
        history=model.history_,
        verbose=0,
    )


def test_everything_is_measured(report):
    contents = report.contents
    empty = [
        field.name
        for field in dataclasses.fields(contents)
        if getattr(contents, field.name) in (None, ())
    ]
    assert empty == ["audit", "private_measures", "notes", "fields_from_data"]
    assert contents.rows == {"real": 400, "synthetic": 200, "test": 300}
    assert [column.name for column in contents.columns] == list(SCHEMA.names)
    assert contents.label == "ill"
    assert not contents.utility.held_out


def test_it_is_stamped(report):
    assert report.contents.mode == "custodian"
    page = report.to_html()
    assert "do not release" in page.lower()


def test_every_section_is_timed(report):
    assert set(report.contents.seconds) >= {"reading", "columns", "Wasserstein", "utility", "map"}
    assert all(spent >= 0 for spent in report.contents.seconds.values())


def test_a_run_that_was_saved_brings_its_certificate_and_history(model, tmp_path):
    model.save(tmp_path / "run.tabpe")
    report = evaluate(REAL, model.sample(50), run=tmp_path / "run.tabpe", verbose=0)
    assert report.contents.certificate == model.certificate
    assert len(report.contents.history) == 3
    other = fitted(REAL, epsilon=40.0)
    with pytest.raises(ParameterError, match="run="):
        evaluate(REAL, REAL, run=tmp_path / "run.tabpe", certificate=other.certificate, verbose=0)


def test_the_same_seed_gives_the_same_report(model):
    rows = model.sample(100)
    same = [evaluate(REAL, rows, label="ill", jobs=jobs, verbose=0).to_dict() for jobs in (1, 2)]
    for one in same:
        one.pop("seconds")
        one.pop("created")
    assert json.dumps(same[0]) == json.dumps(same[1])


def test_without_anything_but_two_tables():
    report = evaluate(REAL.to_pandas(), OTHER.to_pandas(), verbose=0)
    assert report.contents.label is None
    assert report.contents.utility is None
    assert any("no schema was given" in note for note in report.contents.notes)
    report.to_html()


def test_real_rows_are_no_worse_than_the_floor():
    """Two halves of one table are as close as two halves of one table are."""
    report = evaluate(REAL, OTHER, schema=SCHEMA, verbose=0)
    pairs = zip(report.contents.wasserstein, report.contents.wasserstein_floor, strict=True)
    assert all(one.distance < 2 * floor.distance for one, floor in pairs)


@pytest.mark.parametrize(
    ("real", "synthetic", "test", "compared"),
    [
        (400, 300, None, (200, 200)),
        (400, 30, None, (200, 30)),
        (40, 300, None, (20, 20)),
        (400, 300, 250, (400, 250)),
        (400, 300, 5, (200, 200)),
    ],
)
def test_the_floor_is_of_as_many_rows(real, synthetic, test, compared):
    """Fewer rows are further apart: a floor of fewer rows would flatter the synthetic ones."""
    others = None if test is None else OTHER.slice(0, test)
    report = evaluate(REAL.slice(0, real), OTHER.slice(0, synthetic), test=others, verbose=0)
    contents = report.contents
    for ways in (contents.wasserstein, contents.variation):
        assert {way.rows for way in ways} == {compared}
    for ways in (contents.wasserstein_floor, contents.variation_floor):
        assert {way.rows for way in ways} == {compared}
    assert contents.representation.rows == compared


def test_numbers_beyond_all_measure_are_measured():
    real = pa.table({"x": np.linspace(0, 1, 60), "y": np.linspace(0, 1, 60) ** 2})
    far = pa.table({"x": np.array([-1e308, 1e308] * 30), "y": np.linspace(0, 1, 60)})
    report = evaluate(real, far, verbose=0)
    assert next(card for card in report.cards if card.title == "Columns").grade == "poor"
    assert json.loads(report.to_json())


def test_what_is_missing_without_a_label_is_said():
    report = evaluate(REAL, OTHER, verbose=0)
    assert any("no label was given" in note for note in report.contents.notes)


@pytest.mark.parametrize(
    ("real", "synthetic"),
    [
        ({"age": [1]}, {"age": [2]}),
        ({"age": [1, 2, 3]}, {"age": [None, None, 5]}),
        ({"age": [None, None, 4]}, {"age": [None, None, None]}),
        ({"ill": [True]}, {"ill": [False]}),
        ({"age": [7] * 50, "ill": [True] * 50}, {"age": [7] * 50, "ill": [True] * 50}),
        ({"age": [1, 2] * 30, "ill": [True, False] * 30}, {"age": [1] * 9, "ill": [True] * 9}),
    ],
)
def test_small_and_dull_tables_get_a_report(real, synthetic):
    kinds = {"age": pa.int64(), "ill": pa.bool_()}
    known = {"age": Integer("age", 0, 10), "ill": Boolean("ill")}
    tables = [
        pa.table({name: pa.array(cells, kinds[name]) for name, cells in side.items()})
        for side in (real, synthetic)
    ]
    label = "ill" if len(real) > 1 else None
    schema = Schema(tuple(known[name] for name in real), label=label)
    report = evaluate(*tables, schema=schema, verbose=0)
    assert report.to_html()
    assert json.loads(report.to_json())


def test_hundreds_of_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 300)), columns=[f"c{i}" for i in range(300)])
    report = evaluate(frame, frame, verbose=0)
    assert len(report.contents.columns) == 300
    assert len(report.to_html().encode()) < 3_000_000


def test_mistakes_are_named():
    with pytest.raises(ParameterError, match="random_state"):
        evaluate(REAL, OTHER, random_state=-1, verbose=0)
    with pytest.raises(ParameterError, match=r"categories='code'.*'codes'"):
        evaluate(REAL, OTHER, categories="code", verbose=0)
    with pytest.raises(ParameterError, match="gradient boosting"):
        evaluate(REAL, OTHER, label="ill", learners=["gradient bosting"], verbose=0)
    with pytest.raises(ParameterError, match="learners='extra trees'"):
        evaluate(REAL, OTHER, label="ill", learners="extra trees", verbose=0)
    with pytest.raises(ParameterError, match="jobs=0"):
        evaluate(REAL, OTHER, jobs=0, verbose=0)
    with pytest.raises(ParameterError, match="title=5"):
        evaluate(REAL, OTHER, title=5, verbose=0)
    with pytest.raises(ParameterError, match="history"):
        evaluate(REAL, OTHER, history="abc", verbose=0)
    with pytest.raises(DataError, match="'ward'"):
        evaluate(REAL, OTHER.drop(["ward"]), schema=SCHEMA, verbose=0)

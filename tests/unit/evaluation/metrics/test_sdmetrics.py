"""The scores of SDMetrics: the same numbers as that package gives."""

import math
import os
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tabpe.evaluation.metrics.sdmetrics import (
    QualityScores,
    contingency_similarity,
    correlation_similarity,
    discretize_values,
    ks_complement,
    score_quality,
    tv_complement,
)
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SCHEMA = Schema(
    (
        Float("height", 0, 250),
        Float("weight", 0, 200),
        Integer("age", 0, 120),
        Categorical("ward", tuple("abcdef")),
        Categorical("floor", (1, 2, 3)),
        Boolean("ill"),
    )
)
AGREES = {"abs": 1e-9, "nan_ok": True}


def mixed(rng, rows, *, nulls=0.0, shift=0.0):
    """A table whose columns go together, some strongly and some hardly."""
    height = rng.normal(170 + shift, 10, rows)
    ward = rng.integers(0, 4, rows)
    ill = (ward + rng.integers(0, 2, rows)) > 2
    frame = pd.DataFrame(
        {
            "height": height,
            "weight": height / 2 + rng.normal(0, 3, rows),
            "age": 10.0 * ward + rng.integers(0, 15, rows),
            "ward": np.array(list("abcd"))[ward],
            "floor": rng.integers(1, 4, rows).astype(object),
            "ill": ill.astype(object),
        }
    )
    return frame.mask(rng.random(frame.shape) < nulls)


def with_(frame, **columns):
    return frame.assign(**{name: pd.Series(cells).values for name, cells in columns.items()})


def ours(real, synthetic, schema=SCHEMA, **settings):
    tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in (real, synthetic)]
    return score_quality(*build_table_arrays(schema, tables), **settings)


def need_sdmetrics():
    """Skip aloud without the package, but where it is expected."""
    if not os.environ.get("TABPE_EXPECT_PEERS") and find_spec("sdmetrics") is None:
        pytest.skip("sdmetrics is not installed: make test-peers compares with it")


def theirs(real, synthetic, schema=SCHEMA, thresholds=None):
    """SDMetrics' own report. Tables here are below the size from which it takes a sample."""
    need_sdmetrics()
    kinds = {Float: "numerical", Integer: "numerical", Boolean: "boolean"}
    columns = {c.name: {"sdtype": kinds.get(type(c), "categorical")} for c in schema.columns}
    with warnings.catch_warnings():
        # It warns of constants and empty means on its way, and takes an error for no score.
        warnings.simplefilter("ignore")
        from sdmetrics.reports import QualityReport

        report = QualityReport()
        if thresholds:
            report.real_correlation_threshold, report.real_association_threshold = thresholds
        metadata = {"tables": {"t": {"columns": columns}}}
        report.generate({"t": real}, {"t": synthetic}, metadata, verbose=False)
    return report


def assert_same(found: QualityScores, report):
    columns, pairs = (report.get_details(f"Column {name}") for name in ("Shapes", "Pair Trends"))
    assert [(c.column, c.metric) for c in found.columns] == list(
        zip(columns["Column"], columns["Metric"], strict=True)
    )
    assert [c.score for c in found.columns] == pytest.approx(list(columns["Score"]), **AGREES)
    if len(pairs):
        assert [(*p.columns, p.metric) for p in found.pairs] == list(
            zip(pairs["Column 1"], pairs["Column 2"], pairs["Metric"], strict=True)
        )
        assert [p.score for p in found.pairs] == pytest.approx(list(pairs["Score"]), **AGREES)
    shapes, trends = report.get_properties()["Score"]
    assert found.column_shapes == pytest.approx(shapes, **AGREES)
    assert found.column_pair_trends == pytest.approx(trends, **AGREES)
    assert found.overall == pytest.approx(report.get_score(), **AGREES)


@pytest.mark.parametrize("thresholds", [None, (0.0, 0.0), (0.1, 0.05)])
@pytest.mark.parametrize("nulls", [0.0, 0.2])
def test_a_report_is_that_of_sdmetrics(nulls, thresholds):
    rng = np.random.default_rng(5)
    real, synthetic = mixed(rng, 400, nulls=nulls), mixed(rng, 300, nulls=nulls, shift=4)
    names = ("correlation_threshold", "association_threshold")
    settings = dict(zip(names, thresholds or (), strict=False))
    found = ours(real, synthetic, **settings)
    assert_same(found, theirs(real, synthetic, thresholds=thresholds))
    assert any(not math.isnan(pair.score) for pair in found.pairs)


def test_pairs_below_the_thresholds_of_sdmetrics_have_no_score():
    rng = np.random.default_rng(6)
    found = ours(mixed(rng, 400), mixed(rng, 300))
    scores = {pair.columns: pair.score for pair in found.pairs}
    assert math.isnan(scores["height", "floor"])
    assert scores["height", "weight"] > 0.9


CORNERS = {
    "categories of one table": lambda real, syn: (
        with_(real, ward=np.resize(list("abc"), len(real))),
        with_(syn, ward=np.resize(list("cdefghij"), len(syn))),
    ),
    "a constant number": lambda real, syn: (with_(real, age=np.full(len(real), 3.0)), syn),
    "a constant synthetic number": lambda real, syn: (real, with_(syn, age=np.full(len(syn), 3.0))),
    "a constant category": lambda real, syn: (with_(real, ward=["a"] * len(real)), syn),
    "a constant synthetic category": lambda real, syn: (real, with_(syn, ward=["a"] * len(syn))),
    "numbers all null": lambda real, syn: (with_(real, age=np.full(len(real), np.nan)), syn),
    "synthetic numbers all null": lambda real, syn: (
        real,
        with_(syn, age=np.full(len(syn), np.nan)),
    ),
    "categories all null": lambda real, syn: (
        with_(real, ward=[None] * len(real)),
        with_(syn, ward=[None] * len(syn)),
    ),
    "constant where the other is not null": lambda real, syn: (
        with_(
            real,
            height=np.where(np.arange(len(real)) < 20, real["height"], np.nan),
            weight=np.where(np.arange(len(real)) < 20, 60.0, real["weight"]),
        ),
        syn,
    ),
    "never both": lambda real, syn: (
        with_(
            real,
            height=np.where(np.arange(len(real)) < 20, real["height"], np.nan),
            weight=np.where(np.arange(len(real)) < 20, np.nan, real["weight"]),
        ),
        syn,
    ),
    "one row": lambda real, syn: (real.iloc[:1], syn.iloc[:1]),
    "two rows": lambda real, syn: (real.iloc[:2], syn.iloc[:2]),
    "one synthetic row": lambda real, syn: (real, syn.iloc[:1]),
    "equal tables": lambda real, syn: (real, real),
    "numbers far from zero": lambda real, syn: (
        with_(real, age=1e9 + real["age"]),
        with_(syn, age=1e9 + syn["age"]),
    ),
    "huge numbers": lambda real, syn: (
        with_(real, age=1e200 * real["age"]),
        with_(syn, age=1e200 * syn["age"]),
    ),
    "the last bits differ": lambda real, syn: (
        with_(real, height=np.resize([0.3, 0.7], len(real))),
        with_(syn, height=np.resize([0.1 + 0.2, 0.7], len(syn))),
    ),
}


@pytest.mark.parametrize("corner", CORNERS.values(), ids=CORNERS)
@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_a_corner_is_scored_as_sdmetrics_does(corner, nulls):
    rng = np.random.default_rng(7)
    real, synthetic = corner(mixed(rng, 60, nulls=nulls), mixed(rng, 40, nulls=nulls))
    assert_same(ours(real, synthetic), theirs(real, synthetic))
    thresholds = (0.0, 0.0)
    found = ours(real, synthetic, correlation_threshold=0, association_threshold=0)
    assert_same(found, theirs(real, synthetic, thresholds=thresholds))


@pytest.mark.parametrize("seed", range(20))
def test_small_tables_with_many_categories_agree(seed):
    rng = np.random.default_rng(seed)
    rows = [int(rng.integers(2, 12)) for _ in range(2)]
    real, synthetic = (mixed(rng, size, nulls=0.2) for size in rows)
    letters = [list("abc"), list("bcdefghij")]
    real, synthetic = (
        with_(frame, ward=rng.choice(known, len(frame)))
        for frame, known in zip((real, synthetic), letters, strict=True)
    )
    assert_same(ours(real, synthetic), theirs(real, synthetic))


@pytest.mark.parametrize("names", [["height"], ["ward"], ["height", "age"], ["ward", "ill"]])
def test_few_columns_of_one_kind_agree(names):
    rng = np.random.default_rng(8)
    real, synthetic = mixed(rng, 80)[names], mixed(rng, 50)[names]
    schema = Schema(tuple(SCHEMA[name] for name in names))
    assert_same(ours(real, synthetic, schema), theirs(real, synthetic, schema))


@pytest.mark.parametrize("cells", [[1.0, np.nextafter(1.0, 2)], [-1.7e308, 0.0, 1.7e308]])
def test_numbers_that_can_not_be_cut_have_no_contingency(cells):
    rng = np.random.default_rng(8)
    schema = Schema((SCHEMA["age"], SCHEMA["ward"]))
    real, synthetic = mixed(rng, 80)[["age", "ward"]], mixed(rng, 50)[["age", "ward"]]
    real = with_(real, age=np.resize(cells, len(real)))
    found = ours(real, synthetic, schema)
    assert math.isnan(found.column_pair_trends)
    assert_same(found, theirs(real, synthetic, schema))


@pytest.mark.parametrize("seed", range(5))
def test_single_scores_are_those_of_sdmetrics(seed):
    need_sdmetrics()
    from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
    from sdmetrics.single_column import KSComplement, TVComplement

    rng = np.random.default_rng(seed)
    numbers = [rng.normal(place, 1, (2, 50 + 9 * place)) for place in range(2)]
    codes = [rng.integers(0, 3 + place, (2, 50 + 9 * place)) for place in range(2)]
    for numeric in numbers:
        numeric[1] += 2 * numeric[0]
    frames = [[pd.DataFrame(table.T) for table in tables] for tables in (numbers, codes)]
    first, second = (table[0] for table in numbers)
    assert ks_complement(first, second) == pytest.approx(KSComplement.compute(first, second))
    first, second = (table[0] for table in codes)
    assert tv_complement(first, second) == pytest.approx(TVComplement.compute(first, second))
    assert correlation_similarity(*map(tuple, numbers), threshold=0.2) == pytest.approx(
        CorrelationSimilarity.compute(*frames[0], real_correlation_threshold=0.2)
    )
    assert contingency_similarity(*map(tuple, codes)) == pytest.approx(
        ContingencySimilarity.compute(*frames[1])
    )


def test_a_score_without_cells_is_not_a_number():
    none, some = np.array([np.nan]), np.array([1.0])
    assert math.isnan(ks_complement(none, some))
    assert math.isnan(tv_complement(np.array([-1]), np.array([0])))
    assert math.isnan(correlation_similarity((none, none), (some, some)))


def test_tables_without_rows_have_no_score():
    rng = np.random.default_rng(9)
    found = ours(mixed(rng, 0), mixed(rng, 0), association_threshold=0)
    assert math.isnan(found.overall)


def test_numbers_of_enormous_range_are_scored_without_overflow():
    wide = np.array([-1.7e308, 0.0, 1.7e308])
    assert discretize_values(wide) is None
    assert ks_complement(wide, wide) == 1.0
    assert correlation_similarity((wide, wide), (wide, -wide)) == pytest.approx(0.0)


def test_many_categories_take_no_table_of_all_pairs():
    rng = np.random.default_rng(10)
    first, second = rng.permutation(100_000), rng.permutation(100_000)
    assert contingency_similarity((first, second), (first, second)) == pytest.approx(1.0)
    assert contingency_similarity((first, second), (first, first)) < 0.01


def test_scores_are_plain_numbers():
    rng = np.random.default_rng(11)
    found = ours(mixed(rng, 30), mixed(rng, 30))
    assert {type(score.score) for score in (*found.columns, *found.pairs)} == {float}
    assert type(found.overall) is float

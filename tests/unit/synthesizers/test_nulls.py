"""Tables with holes: nulls come out as often as they go in, in types that hold them."""

import dataclasses
import datetime as dt
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from facade import BOTH, QUICK_PAIRS, fitted
from output_types import expected_types, types_of
from tabpe import Boolean, Categorical, Date, Datetime, Float, Integer, Posterior, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.baselines import Baseline, Independent
from tabpe.errors import DataError, ParameterError, SchemaError, ThinSupportWarning
from tabpe.evaluation.private_metrics import appraise
from tabpe.verification.verify import count_fitting_rows

ROWS = 3000
SCHEMA = Schema(
    (
        Integer("age", 18, 90, nullable=True),
        Float("pay", 0.0, 100.0, decimals=1, nullable=True),
        Date("seen", "2024-01-01", "2024-12-31", nullable=True),
        Categorical("grade", ("low", "mid", "high"), ordered=True, nullable=True),
        Categorical("ward", ("eye", "heart"), nullable=True),
        Boolean("ill", nullable=True),
    ),
    label="ill",
)
NAMES = SCHEMA.names


def frame(size=ROWS, seed=0):
    """Pay is there unless one is old; the other holes are anywhere."""
    rng = np.random.default_rng(seed)

    def holed(values, share):
        return pd.Series(values).where(rng.random(size) >= share)

    age = rng.integers(18, 91, size)
    pay = np.where(age > 60, np.nan, np.round(rng.uniform(0, 100, size), 1))
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, size), "D")
    return pd.DataFrame(
        {
            "age": holed(pd.Series(age, dtype="Int64"), 0.1),
            "pay": pay,
            "seen": holed(days, 0.2),
            "grade": holed(rng.choice(["low", "mid", "high"], size), 0.1),
            "ward": holed(rng.choice(["eye", "heart"], size), 0.3),
            "ill": pd.array(holed(rng.random(size) < 0.5, 0.1), dtype="boolean"),
        }
    )


@BOTH
def test_nulls_come_out_about_as_often_as_they_go_in(preset):
    table = frame()
    model = fitted(table, SCHEMA, preset=preset, n_samples=500)
    off = (model.sample().isna().mean() - table.isna().mean()).abs()
    assert off.max() < 0.12


def test_the_default_learns_where_nulls_are():
    table = frame()
    made = TabPE(epsilon=3.0, random_state=0).fit(table, SCHEMA).sample()
    assert (made.isna().mean() - table.isna().mean()).abs().max() < 0.03
    old = made["age"].fillna(0) > 60
    assert made.loc[old, "pay"].isna().mean() > 0.7
    assert made.loc[~old, "pay"].isna().mean() < 0.2


@pytest.mark.parametrize(
    "kinds",
    [
        {},
        {"age": "Int16", "pay": "Float32", "grade": "category", "ward": "string", "ill": "object"},
        {"age": "float64", "pay": "float32", "ward": "object", "ill": "boolean"},
        {
            "age": "int32[pyarrow]",
            "pay": "double[pyarrow]",
            "seen": "date32[day][pyarrow]",
            "ward": "string[pyarrow]",
            "ill": "bool[pyarrow]",
        },
    ],
    ids=["usual", "extension", "numpy", "pyarrow"],
)
def test_types_of_pandas_follow_from_the_schema(kinds):
    table = frame(400).astype(kinds)
    made = fitted(table, SCHEMA).sample()
    assert types_of(made) == expected_types(SCHEMA, "pandas")
    assert made.isna().any(axis=None)


@pytest.mark.parametrize(
    "kinds",
    [
        {"age": "Int16", "pay": "Float32", "grade": "category", "ward": "string", "ill": "object"},
        {"age": "float64", "ward": "object", "ill": "object"},
        {"age": "int32[pyarrow]", "seen": "date32[day][pyarrow]", "ill": "bool[pyarrow]"},
    ],
    ids=["extension", "numpy", "pyarrow"],
)
def test_storage_types_do_not_change_a_cell(kinds):
    made = []
    for table in (frame(400), frame(400).astype(kinds)):
        with pytest.warns(match="NOT PRIVATE"):
            made.append(fitted(table, SCHEMA, noise=FakeNoise(0)).sample())
    pd.testing.assert_frame_equal(*made)


def test_types_of_polars_and_arrow_follow_from_the_schema():
    table = pa.Table.from_pandas(frame(400))
    assert types_of(fitted(table, SCHEMA).sample()) == expected_types(SCHEMA, "pyarrow")
    frames = pl.from_arrow(table).with_columns(
        pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))
    )
    made = fitted(frames, SCHEMA).sample()
    assert types_of(made) == expected_types(SCHEMA, "polars")
    assert made.null_count().sum_horizontal().item() > 0


@pytest.mark.parametrize("nulls", [0, 1, 200])
def test_a_nullable_column_has_one_type_however_many_cells_are_null(nulls):
    table = pd.DataFrame({"age": np.arange(400) % 70 + 18, "ill": np.arange(400) % 2 == 0})
    table = table.astype({"ill": object})
    table.loc[: nulls - 1, :] = None
    schema = Schema((Integer("age", 18, 90, nullable=True), Boolean("ill", nullable=True)))
    made = fitted(table, schema, n_samples=80).sample()
    assert types_of(made) == {"age": "Int64", "ill": "boolean"}
    assert nulls < 200 or made.isna().any().all()


def test_a_csv_with_empty_cells_comes_back_with_empty_cells(tmp_path):
    frame(800).to_csv(tmp_path / "in.csv", index=False)
    made = fitted(tmp_path / "in.csv", SCHEMA, n_samples=80).sample()
    assert sum(made[name].null_count for name in NAMES) > 10
    assert set(made["ward"].to_pylist()) == {"eye", "heart", None}


@BOTH
def test_every_engine_and_number_of_threads_makes_the_same_rows(preset):
    made = []
    for options in ({}, {"n_jobs": 2}, {"engine": "stream"}, {"engine": "stream", "spill": False}):
        model = TabPE(
            epsilon=8.0,
            delta=1e-6,
            preset=preset,
            noise=FakeNoise(0),
            random_state=0,
            n_samples=60,
            **options,
        )
        with pytest.warns(match="NOT PRIVATE"):
            made.append(model.fit(frame(600), SCHEMA).sample())
    assert all(one.equals(made[0]) for one in made[1:])


def test_users_have_nulls_too():
    table = frame(600).assign(person=np.arange(600) // 2)
    options = {"unit": "person", "max_rows_per_user": 2, "epsilon": 8.0}
    made = fitted(table, SCHEMA, **options).sample()
    assert made.isna().any(axis=None)


def test_pairs_of_columns_with_nulls():
    listed = Schema(
        (
            *(Categorical(name, ("a", "b"), nullable=True) for name in ("p", "q", "r")),
            Integer("n", 0, 9, nullable=True),
            Boolean("ill"),
        ),
        label="ill",
    )
    rng = np.random.default_rng(0)
    p = rng.choice(["a", "b", None], 4000)
    table = pd.DataFrame(
        {
            "p": p,
            "q": p,
            "r": rng.choice(["a", "b"], 4000),
            "n": np.where(p == "a", np.nan, rng.integers(0, 10, 4000)),
            "ill": rng.random(4000) < 0.4,
        }
    )
    preset = dataclasses.replace(QUICK_PAIRS, candidates=400, pool=8000, rounds=4)
    made = fitted(table, listed, preset=preset, n_samples=2000).sample()
    same = (made["p"] == made["q"]) | (made["p"].isna() & made["q"].isna())
    assert same.mean() > 0.9
    assert made.loc[made["p"] == "a", "n"].isna().mean() > 0.8


def test_saved_and_loaded_rows_keep_their_nulls(tmp_path):
    model = fitted(frame(400), SCHEMA)
    model.save(tmp_path / "run.tabpe")
    assert TabPE.load(tmp_path / "run.tabpe").sample().equals(model.sample())


@pytest.mark.parametrize("smooth", [False, True])
def test_many_rows_keep_the_share_of_nulls(smooth):
    model = fitted(frame(400), SCHEMA)
    few, many = (model.sample(n, smooth=smooth).isna().mean() for n in (30, 3000))
    assert (few - many).abs().max() == pytest.approx(0.0)


@pytest.fixture(scope="module")
def model():
    return fitted(frame(), SCHEMA, n_samples=300)


@pytest.mark.parametrize("name", NAMES)
def test_a_condition_may_be_that_a_cell_is_null(model, name):
    made = model.sample(conditions={name: None})
    assert made[name].isna().all()
    assert len(made) == model.sample()[name].isna().sum()


def test_a_range_holds_no_null(model):
    assert model.sample(conditions={"age": (18, 90)})["age"].notna().all()


def test_only_a_nullable_column_may_be_asked_to_be_null():
    plain = fitted(pd.DataFrame({"x": range(50)}), Schema((Integer("x", 0, 50),)))
    with pytest.raises(ParameterError, match="'x'=None: the column is not nullable"):
        plain.sample(conditions={"x": None})


def test_known_nulls_go_with_rows_that_have_them(model):
    known = pd.DataFrame({"age": pd.array([None, 25], "Int64"), "ward": [None, "eye"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThinSupportWarning)
        made = model.sample_remaining_columns(known)
    assert made["age"].isna().tolist() == [True, False]
    assert made["ward"].isna().tolist() == [True, False]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_with_nulls_fits_its_schema(model, tmp_path, suffix):
    path = tmp_path / f"made.{suffix}"
    getattr(model.sample(), f"to_{suffix}")(path, index=False)
    assert count_fitting_rows(SCHEMA, path) == 300


def test_a_public_report_tells_of_nulls(model):
    made = model.sample()
    found = appraise(frame(), made, SCHEMA, epsilon=5.0, delta=1e-6, random_state=0)
    view = next(one for one in found.columns if one.name == "pay")
    assert view.real.nulls == pytest.approx(frame()["pay"].isna().mean(), abs=0.05)
    ward = next(one for one in found.columns if one.name == "ward")
    assert ward.bars == ("eye", "heart", "null")


def test_baselines_take_nulls_of_lists_and_refuse_those_of_numbers():
    listed = Schema((Categorical("ward", ("eye", "heart"), nullable=True), Boolean("ill")))
    table = frame(2000)[["ward", "ill"]].dropna(subset="ill")
    made = Baseline(Independent(), epsilon=50.0, delta=1e-6).fit(table, listed).sample()
    assert made["ward"].isna().mean() == pytest.approx(0.3, abs=0.05)
    with pytest.raises(SchemaError, match=r"column 'age': nullable: true.*TabPE"):
        Baseline(Independent(), epsilon=1.0, delta=1e-6).fit(frame(50), SCHEMA)


def without_nulls():
    return Schema(tuple(dataclasses.replace(c, nullable=False) for c in SCHEMA.columns))


def test_a_missing_cell_counts_as_the_default_where_there_is_no_null():
    made = fitted(frame(50), without_nulls()).sample()
    assert made.notna().all(axis=None)
    assert types_of(made) == expected_types(without_nulls(), "pandas")


def test_in_strict_mode_a_missing_cell_is_refused_with_what_to_declare():
    with pytest.raises(DataError, match="declare the column `nullable: true`"):
        fitted(frame(50), without_nulls(), strict=True)


def test_moments_with_a_zone_and_microseconds_survive_beside_nulls():
    first = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    column = Datetime(
        "at", first.replace(tzinfo=None), dt.datetime(2024, 12, 31), "microsecond", "UTC",
        nullable=True,
    )  # fmt: skip
    cells = [first + dt.timedelta(days=i, microseconds=i) for i in range(300)] + [None] * 100
    table = pa.table({"at": pa.array(cells, pa.timestamp("us", "UTC"))})
    preset = Posterior(rounds=2, pool=400, candidates=40)
    made = fitted(table, Schema((column,)), preset=preset, n_samples=80)
    assert made.sample().schema.types == table.schema.types
    assert made.sample()["at"].null_count > 0

"""Dates, times, ordered values and ids: through every interface, and out in one type each."""

import datetime as dt
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from facade import fitted
from output_types import expected_types, types_of
from tabpe import Categorical, Date, Datetime, Id, Integer, Schema, TabPE, Time
from tabpe.baselines import Baseline, Independent
from tabpe.errors import DataError
from tabpe.evaluation.metrics.columns import compare_columns
from tabpe.evaluation.private_metrics import appraise
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.verification.verify import count_fitting_rows

ROWS = 600
GRADES = ("none", "low", "mid", "high")
SCHEMA = Schema(
    (
        Id("patient", prefix="P", first=100),
        Date("born", "1930-01-01", "2009-12-31"),
        Datetime("seen", "2023-01-01", "2024-01-01", "minute", "Europe/Berlin"),
        Time("fed", "06:00", "20:00", "minute"),
        Categorical("grade", GRADES, ordered=True),
        Integer("score", 0, 50),
        Categorical("ward", ("eye", "heart")),
    ),
    label="ward",
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    ward = rng.integers(0, 2, ROWS)
    minutes = rng.integers(0, 365 * 24 * 60, ROWS)
    seen = pd.Timestamp("2023-01-01", tz="UTC") + pd.to_timedelta(minutes, "min")
    return pa.table(
        {
            "patient": [f"secret-{number}" for number in range(ROWS)],
            "born": pa.array((rng.integers(-5000, 5000, ROWS) + 5000 * ward).astype("int32")).cast(
                pa.date32()
            ),
            "seen": pa.Array.from_pandas(seen.tz_convert("Europe/Berlin")),
            "fed": pa.array(rng.integers(6 * 60, 20 * 60, ROWS) * 60_000_000, pa.time64("us")),
            "grade": np.array(GRADES)[np.clip(rng.integers(0, 3, ROWS) + ward, 0, 3)],
            "score": rng.integers(0, 51, ROWS),
            "ward": np.array(["eye", "heart"])[ward],
        }
    )


@pytest.fixture(scope="module")
def model(table):
    return fitted(table, SCHEMA, epsilon=5.0, n_samples=100, random_state=0)


def test_types_and_the_order_of_columns_are_those_of_the_schema(model):
    made = model.sample()
    assert types_of(made) == expected_types(SCHEMA, "pyarrow")
    assert made.schema.names == list(SCHEMA.names)


def test_values_lie_within_their_bounds_and_on_their_grid(model, tmp_path):
    made = model.sample(1000)
    assert made["born"].to_pylist() == [day for day in made["born"].to_pylist() if day.year < 2010]
    assert all(time.second == 0 and 6 <= time.hour <= 20 for time in made["fed"].to_pylist())
    assert set(made["grade"].to_pylist()) <= set(GRADES)
    model.sample(50).to_pandas().to_parquet(tmp_path / "made.parquet", index=False)
    assert count_fitting_rows(model.schema_, tmp_path / "made.parquet") == 50


def test_ids_are_numbered_anew_and_never_those_of_the_table(model):
    made = model.sample(700)["patient"].to_pylist()
    assert made == [f"P{number}" for number in range(100, 800)]


def test_an_id_is_never_read(table):
    """Lists would be refused in a column that is read."""
    lists = table.set_column(0, "patient", pa.array([[1]] * ROWS))
    for given in (lists, table.drop(["patient"])):
        assert fitted(given, SCHEMA, n_samples=20).sample(2)["patient"].to_pylist() == [
            "P100",
            "P101",
        ]


def test_an_id_is_not_on_the_spends_and_no_part_of_what_a_run_is_known_by(table, tmp_path):
    without = Schema(SCHEMA.columns[1:], label="ward")
    all_spends = [
        [
            (item.name, item.times)
            for item in fitted(table, schema, preset="best").certificate.spends
        ]
        for schema in (SCHEMA, without)
    ]
    assert all_spends[0] == all_spends[1]
    first = fitted(table, SCHEMA, run_dir=tmp_path / "run")
    others = table.set_column(0, "patient", pa.array([f"other-{n}" for n in range(ROWS)]))
    again = fitted(others, SCHEMA, run_dir=tmp_path / "run")
    assert again.sample().equals(first.sample())


def test_dates_follow_the_class(model):
    made = model.sample().to_pandas()
    days = made["born"].map(dt.date.toordinal).groupby(made["ward"]).mean()
    assert days["heart"] - days["eye"] > 2000


@pytest.mark.parametrize("frame", ["pandas", "polars"])
@pytest.mark.parametrize("texts", [False, True], ids=["typed", "text"])
def test_frames_have_the_types_of_their_library(table, frame, texts):
    if texts:
        table = table.cast(pa.schema([(name, pa.string()) for name in table.schema.names]))
    given = table.to_pandas() if frame == "pandas" else pl.from_arrow(table)
    made = fitted(given, SCHEMA, n_samples=20).sample()
    assert types_of(made) == expected_types(SCHEMA, frame)


def test_a_declared_format_gives_text_and_all_else_dates_and_times():
    columns = (
        Date("german", "2024-01-01", "2024-12-31", format="%d.%m.%Y"),
        Datetime("point", "2024-01-01", "2024-12-31"),
    )
    given = pa.table({"german": ["31.01.2024"] * 50, "point": ["2024-03-01 10:30:00"] * 50})
    made = fitted(given, Schema(columns), n_samples=10).sample()
    assert types_of(made) == {"german": pa.string(), "point": pa.timestamp("us")}
    for text in made["german"].to_pylist():
        dt.datetime.strptime(text, "%d.%m.%Y")


def test_a_saved_model_gives_the_same_rows(model, tmp_path):
    model.save(tmp_path / "model.tabpe")
    loaded = TabPE.load(tmp_path / "model.tabpe")
    assert loaded.sample(40, seed=0).equals(model.sample(40, seed=0))
    assert loaded.schema_ == SCHEMA


def test_reports_show_dates(table, model):
    columns = {
        view.name: view
        for view in compare_columns(*build_table_arrays(SCHEMA, [table, model.sample()]))
    }
    assert "patient" not in columns
    assert columns["born"].unit == "days after 1930-01-01"
    assert [mark[:2] for mark in columns["born"].marks] == ["19", "19", "20"]
    assert columns["fed"].marks[0] == "06:00"
    assert columns["born"].difference < 0.5


def test_a_public_report_buys_dates(table, model):
    estimated = appraise(
        table, model.sample(), SCHEMA, epsilon=3, delta=1e-6, random_state=0
    ).columns
    shown = {view.name: view for view in estimated}
    assert shown["seen"].unit == "minutes after 2023-01-01"
    assert shown["grade"].marks[-1] == "high"


def test_a_baseline_takes_them_too(table):
    made = (
        Baseline(Independent(), epsilon=3.0, delta=1e-6, random_state=0)
        .fit(table, SCHEMA)
        .sample(30)
    )
    assert made.schema.names == table.schema.names
    assert made["born"].type == pa.date32()


def with_a_bad_cell(table):
    return table.set_column(1, "born", pa.array(["2001-01-01", "secret-cell"] * (ROWS // 2)))


def test_a_bad_cell_counts_as_the_first_date(table):
    made = fitted(with_a_bad_cell(table), SCHEMA, n_samples=50, epsilon=5.0).sample()
    assert types_of(made)["born"] == pa.date32()
    assert all(1930 <= day.year < 2010 for day in made["born"].to_pylist())


def test_in_strict_mode_a_bad_cell_is_named_and_not_shown(table):
    with pytest.raises(DataError) as error:
        fitted(with_a_bad_cell(table), SCHEMA, n_samples=20, strict=True)
    assert "column 'born'" in str(error.value)
    assert "row 2" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "UTC"])
def test_the_schema_says_in_which_zone_clocks_are(kind, zone):
    """It is that of clocks without one in the table, and of all that come out."""
    there = dt.datetime(2024, 7, 1, 10, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    shown = there.replace(tzinfo=None)
    given = shown if zone is None else there
    table = pa.table({"at": pa.array([given] * 60, pa.timestamp("us", zone))})
    form = {"arrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[kind]
    column = Datetime("at", shown, shown, "hour", timezone="Europe/Berlin")
    made = fitted(form, Schema((column,)), n_samples=5).sample()
    assert type(made) is type(form)
    library = {"arrow": "pyarrow"}.get(kind, kind)
    assert types_of(made) == expected_types(Schema((column,)), library)
    cells = made["at"].to_pylist() if kind == "arrow" else list(made["at"])
    assert cells == [there] * 5

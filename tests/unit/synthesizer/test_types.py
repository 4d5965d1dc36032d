"""Dates, times, ordered values and ids: through every door, and out as they came in."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from facade import fitted
from tabpe import Categorical, Date, Datetime, Id, Integer, Schema, TabPE, Time
from tabpe.appraise import appraise
from tabpe.baselines import Baseline, Independent
from tabpe.errors import DataError
from tabpe.metrics.columns import column_views
from tabpe.metrics.view import views
from tabpe.verify.table import fitting_rows

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


def test_every_type_comes_out_as_it_came_in(table, model):
    made = model.sample()
    expected = table.schema.set(0, pa.field("patient", pa.string()))
    assert made.schema.types == expected.types
    assert made.schema.names == table.schema.names


def test_values_lie_within_their_bounds_and_on_their_grid(model, tmp_path):
    made = model.sample(1000)
    assert made["born"].to_pylist() == [day for day in made["born"].to_pylist() if day.year < 2010]
    assert all(time.second == 0 and 6 <= time.hour <= 20 for time in made["fed"].to_pylist())
    assert set(made["grade"].to_pylist()) <= set(GRADES)
    model.sample(50).to_pandas().to_parquet(tmp_path / "made.parquet", index=False)
    assert fitting_rows(model.schema_, tmp_path / "made.parquet") == 50


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


def test_an_id_is_not_on_the_bill_and_no_part_of_what_a_run_is_known_by(table, tmp_path):
    without = Schema(SCHEMA.columns[1:], label="ward")
    bills = [
        [(item.name, item.times) for item in fitted(table, schema, preset="best").certificate.bill]
        for schema in (SCHEMA, without)
    ]
    assert bills[0] == bills[1]
    first = fitted(table, SCHEMA, run_dir=tmp_path / "run")
    others = table.set_column(0, "patient", pa.array([f"other-{n}" for n in range(ROWS)]))
    again = fitted(others, SCHEMA, run_dir=tmp_path / "run")
    assert again.sample().equals(first.sample())


def test_dates_follow_the_class(model):
    made = model.sample().to_pandas()
    days = made["born"].map(dt.date.toordinal).groupby(made["ward"]).mean()
    assert days["heart"] - days["eye"] > 2000


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_keep_their_types(table, frame):
    given = table.to_pandas() if frame == "pandas" else pl.from_arrow(table)
    made = fitted(given, SCHEMA, n_samples=20).sample()
    assert list(made.dtypes) == list(given.dtypes)


def test_text_comes_out_as_text_in_its_format():
    columns = (
        Date("german", "2024-01-01", "2024-12-31", format="%d.%m.%Y"),
        Datetime("point", "2024-01-01", "2024-12-31"),
    )
    given = pa.table({"german": ["31.01.2024"] * 50, "point": ["2024-03-01 10:30:00"] * 50})
    made = fitted(given, Schema(columns), n_samples=10).sample().to_pylist()
    for row in made:
        dt.datetime.strptime(row["german"], "%d.%m.%Y")
        dt.datetime.fromisoformat(row["point"])


def test_a_saved_model_gives_the_same_rows(model, tmp_path):
    model.save(tmp_path / "model.tabpe")
    loaded = TabPE.load(tmp_path / "model.tabpe")
    assert loaded.sample(40).equals(model.sample(40))
    assert loaded.schema_ == SCHEMA


def test_reports_show_dates(table, model):
    columns = {view.name: view for view in column_views(*views(SCHEMA, [table, model.sample()]))}
    assert "patient" not in columns
    assert columns["born"].unit == "days after 1930-01-01"
    assert [mark[:2] for mark in columns["born"].marks] == ["19", "19", "20"]
    assert columns["fed"].marks[0] == "06:00"
    assert columns["born"].difference < 0.4


def test_a_public_report_buys_dates(table, model):
    bought = appraise(table, model.sample(), SCHEMA, epsilon=3, delta=1e-6, random_state=0).columns
    shown = {view.name: view for view in bought}
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


def test_a_bad_cell_is_named_and_not_shown(table):
    text = pa.array(["2024-01-01", "secret-cell"] * (ROWS // 2))
    bad = table.set_column(1, "born", text)
    with pytest.raises(DataError) as error:
        fitted(bad, SCHEMA, n_samples=20)
    assert "column 'born'" in str(error.value)
    assert "row 2" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_clocks_without_a_zone_show_what_they_showed(kind):
    """The schema says where they are; the table does not, and comes out as it came in."""
    ten = [dt.datetime(2024, 7, 1, 10)] * 60
    table = pa.table({"at": pa.array(ten, pa.timestamp("us"))})
    form = {"arrow": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table)}[kind]
    column = Datetime("at", ten[0], ten[0], "hour", timezone="Europe/Berlin")
    made = fitted(form, Schema((column,)), n_samples=5).sample()
    assert type(made) is type(form)
    cells = made["at"].to_pylist() if kind == "arrow" else list(made["at"])
    assert cells == ten[:5]

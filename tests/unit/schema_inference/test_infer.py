"""A schema from an outline: what is estimated, at which price, and what is refused."""

import csv
import dataclasses
import datetime as dt
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from measuring import estimate_schema
from tabpe.accounting import (
    ROW_LEVEL,
    Account,
    Adjacency,
    ExactNoise,
    FakeNoise,
    NeighboringRelation,
    compose_epsilon,
)
from tabpe.accounting.neighboring import FIXED_POINT
from tabpe.accounting.pld import compute_release_delta
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder
from tabpe.errors import DataError, ParameterError, SchemaError
from tabpe.io import open_source
from tabpe.io.source import FrameSource
from tabpe.measurement.checkpoint import MeasurementJournal, RunFolder, RunInfo
from tabpe.schema import (
    Boolean,
    Categorical,
    Datetime,
    Float,
    Integer,
    PartialSchema,
    Schema,
    Source,
)
from tabpe.schema_inference import count_most_histograms, plan_spend

SECRET = "Secret-Cell-4711"
ROWS_IN_ALL = 6000
RNG = np.random.default_rng(0)
TABLE = {
    "age": RNG.integers(18, 90, ROWS_IN_ALL),
    "bmi": np.round(RNG.normal(25, 3, ROWS_IN_ALL), 1),
    "free": RNG.normal(0, 1, ROWS_IN_ALL),
    "ward": RNG.choice(["heart", "eye", "lung"], ROWS_IN_ALL, p=[0.5, 0.3, 0.2]),
    "smoker": RNG.random(ROWS_IN_ALL) < 0.3,
    "grade": RNG.integers(1, 4, ROWS_IN_ALL),
}
TABLE["ward"][:3] = SECRET
PAID = {"loss": 0.5, "delta_share": 1e-8}
NO_NOISE = FakeNoise(strength=0)


def estimated(columns, given=None, *, drop=(), noise=NO_NOISE, account=None, **paid):
    source = open_source(pa.table(columns) if isinstance(columns, dict) else columns)
    outline = PartialSchema.from_schema(given).complete_columns(
        source.names, drop=drop, estimate=None
    )
    account = Account() if account is None else account
    made = estimate_schema(outline, source, account=account, noise=noise, **(PAID | paid))
    assert account.spent == account.authorized
    assert sum(item.times for item in account.spent) <= count_most_histograms(outline)
    return made


def written(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def holds(column, low, high):
    return column.min <= low and column.max >= high


def test_a_frame_without_any_schema():
    schema = estimated(TABLE, {"label": "grade"}, drop=["smoker"]).schema
    assert [type(column) for column in schema.columns] == [
        *(Integer, Float, Float, Categorical, Categorical)
    ]
    age, bmi, free, ward, grade = schema.columns
    assert holds(age, 18, 89)
    assert age.max < 96
    assert bmi.decimals == 1
    assert free.decimals is None
    assert ward.values == ("eye", "heart", "lung", "other") or ward.other == "heart"
    assert (grade.values, schema.label) == ((1, 2, 3), "grade")
    assert all(column.source is Source.ESTIMATED for column in schema.columns)


def test_text_reads_as_what_its_cells_are(tmp_path):
    text = {name: [str(cell) for cell in cells] for name, cells in TABLE.items()}
    schema = estimated(written(tmp_path / "rows.csv", text), {"label": "grade"}).schema
    kinds = [*(Integer, Float, Float, Categorical, Boolean, Categorical)]
    assert [type(column) for column in schema.columns] == kinds
    assert schema["grade"].values == (1, 2, 3)
    assert schema.fields_estimated[:3] == ("age.type", "age.min", "age.max")
    assert "smoker.type" in schema.fields_estimated


def test_under_noise_a_schema_comes_out_that_every_row_fits(tmp_path):
    text = {name: [str(cell) for cell in cells] for name, cells in TABLE.items()}
    source = open_source(written(tmp_path / "rows.csv", text))
    outline = PartialSchema.from_schema({"label": "ward"}).complete_columns(
        source.names, estimate=None
    )
    made = estimate_schema(outline, source, account=Account(), noise=FakeNoise(seed=0), **PAID)
    encoder = Encoder(made.schema)
    assert sum(len(encoder.encode(batch.table)[0]) for batch in source.batches()) == ROWS_IN_ALL
    assert SECRET not in repr(made)


def test_a_whole_schema_costs_nothing():
    account = Account()
    whole = Schema((Boolean("smoker"), Integer("age", 0, 120)))
    columns = {name: TABLE[name] for name in ("smoker", "age")}
    assert estimated(columns, whole, account=account).schema == whole
    assert plan_spend(PartialSchema.from_schema(whole), **PAID) is None
    assert account.authorized == ()


STORED = {
    "booleans": TABLE["smoker"],
    "numbers": TABLE["smoker"].astype(np.int64),
    "floats": TABLE["smoker"].astype(np.float64),
    "words": np.where(TABLE["smoker"], "True", "false"),
    "digits": np.where(TABLE["smoker"], "1", "0"),
}


@pytest.mark.parametrize("storage", STORED)
def test_booleans_are_told_by_their_cells_whatever_stores_them(storage):
    account = Account()
    made = estimated({"smoker": STORED[storage]}, account=account)
    assert isinstance(made.schema["smoker"], Boolean)
    assert made.schema.fields_estimated == ("smoker.type",)
    assert [item.name for item in account.spent] == ["kinds of columns"]


MOMENT = np.datetime64("2024-03-31T18:30")
INSTANTS = {
    "seconds": np.array([MOMENT, MOMENT + 90], "datetime64[s]"),
    "nanoseconds": np.array([MOMENT, MOMENT + 90], "datetime64[ns]"),
    "text": np.array(["2024-03-31T18:30:00", "2024-03-31 20:00"]),
}


@pytest.mark.parametrize("storage", INSTANTS)
def test_instants_are_told_by_their_cells_whatever_stores_them(storage):
    column = estimated({"seen": np.repeat(INSTANTS[storage], 2000)}).schema["seen"]
    assert isinstance(column, Datetime)
    assert column.estimated == ("type", "min", "max")
    assert column.min <= dt.datetime(2024, 3, 31, 18, 30)
    assert column.max >= dt.datetime(2024, 3, 31, 20)


def test_declared_fields_stay_and_the_rest_is_estimated():
    given = {
        "columns": [
            {"name": "age", "type": "integer", "min": 5},
            {"name": "bmi", "type": "float", "max": 60.0, "decimals": 1},
            {"name": "ward", "type": "categorical", "values": ["none", "eye"], "open": True},
        ]
    }
    made = estimated({name: TABLE[name] for name in ("age", "bmi", "ward")}, given)
    age, bmi, ward = made.schema.columns
    assert (age.min, bmi.max, bmi.decimals) == (5, 60.0, 1)
    assert ward.values[:2] == ("none", "eye")
    assert {"heart", "lung"} < set(ward.values)
    assert made.schema.fields_estimated == (*("age.max", "bmi.min", "ward.values", "ward.other"),)


NEIGHBOURS = [
    ROW_LEVEL,
    NeighboringRelation(Adjacency.REPLACE_ONE),
    NeighboringRelation(max_rows=2),
    NeighboringRelation(Adjacency.REPLACE_ONE, max_rows=2),
]
OUTLINES = [
    None,
    {"label": "ward"},
    {
        "columns": [
            {"name": "age", "type": "integer", "min": 0},
            {"name": "ward", "type": "categorical"},
        ]
    },
    {
        "columns": [
            {"name": "bmi", "type": "float"},
            {"name": "ward", "type": "categorical", "values": ["x"]},
        ]
    },
]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("given", OUTLINES)
@pytest.mark.parametrize("as_text", [False, True])
def test_the_price_is_kept_whatever_is_estimated(neighbours, given, as_text, tmp_path):
    text = {name: [str(cell) for cell in cells] for name, cells in TABLE.items()}
    columns = written(tmp_path / "rows.csv", text) if as_text else TABLE
    account, users = Account(), None
    if neighbours.is_user_level:
        ids = pa.table({"id": np.arange(ROWS_IN_ALL)})
        users = limit_contributions([ids], column="id", max_rows=2, seed=0, scale=neighbours.scale)
    estimated(columns, given, account=account, neighbours=neighbours, users=users)
    source = open_source(columns if as_text else pa.table(columns))
    outline = PartialSchema.from_schema(given).complete_columns(source.names, estimate=None)
    planned = plan_spend(outline, neighbours=neighbours, **PAID)
    for spends in (account.spent, (planned,)):
        loss = sum(neighbours.squared_distance * item.loss for item in spends)
        assert 0.99 * PAID["loss"] < loss <= PAID["loss"]
        assert compute_release_delta(spends, neighbours) <= PAID["delta_share"]


def test_the_spends_composes():
    account = Account()
    estimated(TABLE, account=account)
    epsilon = compose_epsilon(account.spent, 1e-6, ROW_LEVEL)
    assert 0 < epsilon < 5
    assert len({item.name for item in account.spent}) == len(account.spent) == 4


def test_a_column_that_needs_no_more_leaves_its_part_to_the_others(tmp_path):
    def sigma(column):
        text = {"age": TABLE["age"], "more": TABLE[column]}
        account = Account()
        estimated(written(tmp_path / f"{column}.csv", text), account=account)
        return {item.name: item.sigma for item in account.spent}["bounds, powers of two"]

    assert sigma("smoker") < sigma("grade")


def test_a_constant_column():
    account = Account()
    made = estimated({"seven": [7] * 500, "one": [1.5] * 500}, account=account)
    seven, one = made.schema.columns
    assert holds(seven, 7, 7)
    assert holds(one, 1.5, 1.5)
    assert {item.name: item.times for item in account.spent}["bounds, bins"] == 2


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        ({"name": [f"{SECRET}{n}" for n in range(500)]}, None, "'name'.*drop it"),
        ({"x": ["1"] * 5}, None, "column 'x': too few rows.*declare its type"),
        (
            {"x": [1] * 5},
            {"columns": [{"name": "x", "type": "integer"}]},
            "column 'x': too few rows.*declare min and max",
        ),
        ({"x": [1.5] * 500}, {"label": "x"}, "label='x' holds decimals.*label_cuts"),
        (
            {"x": [-5] * 500},
            {"columns": [{"name": "x", "type": "integer", "min": 0}]},
            "'x'.*below the declared min",
        ),
        (
            {"x": [5] * 500},
            {"columns": [{"name": "x", "type": "integer", "max": 0}]},
            "'x'.*above the declared max",
        ),
    ],
)
def test_what_can_not_be_estimated_is_refused_with_what_to_declare(columns, given, message):
    with pytest.raises((SchemaError, DataError), match=message) as caught:
        estimated(columns, given)
    assert SECRET not in str(caught.value)
    assert "500" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["7"] * 700 + [""] * 700, {"type": "integer"}),
        ([1.5] * 700 + [None] * 700, {"type": "float", "decimals": 1}),
        (["true"] * 700 + [" "] * 700, {"type": "boolean"}),
        (["a"] * 700 + [""] * 700, {"type": "categorical", "values": ["a"]}),
        (["a"] * 700 + [None] * 700, {"type": "categorical"}),
    ],
)
def test_an_estimated_type_says_whether_cells_are_empty(cells, expected):
    column = estimated({"x": cells}).schema["x"]
    found = column.to_dict()
    assert column.nullable
    assert "nullable" in column.estimated
    assert expected.items() <= {**found, "values": found.get("values", [])[:1]}.items()
    assert "" not in found.get("values", [])


def test_noise_that_drowns_any_table_is_refused_before_a_row_is_read(monkeypatch):
    source = open_source(pa.table({"age": [1, 2, 3]}))
    monkeypatch.setattr(type(source), "batches", lambda *_: pytest.fail("a row was read"))
    outline, account = (
        PartialSchema.from_schema(None).complete_columns(source.names, estimate=None),
        Account(),
    )
    with pytest.raises(ParameterError, match=r"schema_budget: .*larger than any table"):
        estimate_schema(
            outline,
            source,
            loss=1e-12,
            delta_share=1e-9,
            account=account,
            noise=ExactNoise(),
        )
    assert account.authorized == ()


def test_a_label_of_text_gets_no_class_of_its_own_for_others():
    made = estimated({"ward": TABLE["ward"], "age": TABLE["age"]}, {"label": "ward"})
    assert made.schema.class_names == ("eye", "heart", "lung")
    assert made.schema["ward"].other == "heart"
    assert any("'ward' that are not listed count as the most common" in n for n in made.notes)


def test_others_are_a_value_of_their_own_only_if_there_are_any():
    rare = np.where(np.arange(ROWS_IN_ALL) % 10 == 0, np.arange(ROWS_IN_ALL).astype(str), "usual")
    made = estimated({"sex": np.where(TABLE["smoker"], "f", "m"), "rare": np.char.add("r", rare)})
    assert made.schema["sex"].values == ("f", "m")
    assert made.schema["rare"].values == ("rusual", "other")


def test_notes_say_how_accurate_it_is_and_nothing_exact():
    made = estimated(TABLE, noise=FakeNoise(seed=0))
    text = " ".join(made.notes)
    assert "types estimated for 'age', 'bmi', 'free', 'ward', 'smoker', 'grade'" in text
    assert "values estimated for 'ward'" in text
    assert "bounds estimated for" in text
    assert SECRET not in text
    assert f"{ROWS_IN_ALL:,}" not in text


@pytest.mark.parametrize("wrong", [{"loss": 0}, {"delta_share": 0}, {"delta_share": 1}])
def test_a_price_that_pays_for_nothing_is_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        estimated(TABLE, **wrong)


def test_notes_stay_short_with_many_columns():
    notes = estimated({f"c{place}": [1, 2] * 500 for place in range(30)}).notes
    assert "'c7' and 22 more columns" in notes[0]


def test_the_order_of_rows_changes_nothing():
    order = RNG.permutation(ROWS_IN_ALL)
    shuffled = {name: cells[order] for name, cells in TABLE.items()}
    assert estimated(TABLE).schema == estimated(shuffled).schema


def test_answers_can_be_remembered_and_are_not_asked_for_again(monkeypatch, tmp_path):
    """They are charged for as if they had been asked for."""
    first, again = Account(), Account()

    def estimated_in_folder(account):
        with closing(RunFolder(tmp_path / "run", RunInfo.begin_run(0), {})) as folder:
            folder.check_fingerprint("of the table")
            journal = MeasurementJournal(account, folder)
            return estimated(
                TABLE,
                {"label": "grade"},
                account=account,
                noise=FakeNoise(seed=0),
                journal=journal,
            )

    made = estimated_in_folder(first)
    monkeypatch.setattr(FrameSource, "batches", lambda *_: pytest.fail("a row was read"))
    assert estimated_in_folder(again) == made
    assert again.spent == first.spent


def test_users_count_once_however_many_rows_they_have():
    """Half of the rows are of one user, who alone holds a value."""
    ids = [*range(ROWS_IN_ALL // 2), *[-1] * (ROWS_IN_ALL // 2)]
    columns = {"ward": ["eye"] * (ROWS_IN_ALL // 2) + [SECRET] * (ROWS_IN_ALL // 2)}
    users = limit_contributions(
        [pa.table({"id": ids})], column="id", max_rows=9, seed=0, scale=FIXED_POINT
    )
    by_user = estimated(columns, users=users, neighbours=NeighboringRelation(max_rows=9))
    assert by_user.schema["ward"].values == ("eye", "other")
    assert SECRET in estimated(columns).schema["ward"].values


def test_an_estimated_schema_is_a_file_like_any_other(tmp_path):
    schema = estimated(TABLE).schema
    schema.save(tmp_path / "schema.yaml")
    assert Schema.load(tmp_path / "schema.yaml") == schema
    assert PartialSchema.from_schema(tmp_path / "schema.yaml").missing == ()
    assert dataclasses.is_dataclass(schema)

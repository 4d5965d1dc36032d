"""What is estimated beside types, bounds and values: quantiles, top values, bounds of dates."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from measuring import estimate_schema
from tabpe.accounting import ROW_LEVEL, Account, Adjacency, FakeNoise, NeighboringRelation
from tabpe.accounting.pld import compute_release_delta
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder
from tabpe.errors import SchemaError
from tabpe.io import open_source
from tabpe.schema import Categorical, Date, Datetime, PartialSchema, Schema, Time
from tabpe.schema_inference import count_most_histograms, plan_spend

ROWS_IN_ALL = 6000
RNG = np.random.default_rng(0)
PAY = np.where(RNG.random(ROWS_IN_ALL) < 0.4, 0, np.exp(RNG.normal(7, 1.5, ROWS_IN_ALL))).round()
DAYS = np.datetime64("2015-03-01") + RNG.integers(0, 3000, ROWS_IN_ALL)
SECONDS = np.datetime64("2019-05-05T08:00:00") + RNG.integers(0, 10**8, ROWS_IN_ALL)
CLOCKS = RNG.integers(8 * 3600, 18 * 3600, ROWS_IN_ALL)
CODES = np.minimum(RNG.geometric(0.2, ROWS_IN_ALL), 400)
TABLE = {
    "pay": pa.array(PAY.astype(np.int64)),
    "born": pa.array(DAYS),
    "seen": pa.array(SECONDS.astype("datetime64[us]")),
    "fed": pa.array(CLOCKS * 10**6, pa.time64("us")),
    "ward": pa.array([f"w{code:03}" for code in CODES]),
    "code": pa.array(CODES),
}
VALUES = [f"w{number:03}" for number in range(1, 1001)]
PAID = {"loss": 0.5, "delta_share": 1e-8}
QUIET = FakeNoise(strength=0)
PAY_GAP = {"name": "pay", "type": "integer", "min": 0, "max": 10**6, "scale": "quantile"}
ALL = {
    "columns": [
        {"name": "pay", "type": "integer", "scale": "quantile"},
        {"name": "ward", "type": "categorical", "top": 5, "other": "rest"},
        {"name": "code", "type": "categorical", "values": [*range(1, 401)], "top": 3, "other": 0},
    ]
}


def estimated(columns, *given, noise=QUIET, account=None, table=None, **paid):
    source = open_source(table or pa.table({name: TABLE[name] for name in columns}))
    outline = PartialSchema.from_schema({"columns": list(given)}).complete_columns(
        source.names, estimate=None
    )
    account = Account() if account is None else account
    made = estimate_schema(outline, source, account=account, noise=noise, **(PAID | paid))
    assert account.spent == account.authorized
    assert sum(item.times for item in account.spent) <= count_most_histograms(outline)
    return made


def spends(account):
    return [item.name for item in account.spent]


def test_quantiles_cut_rows_into_about_equal_parts():
    account = Account()
    schema = estimated(["pay"], PAY_GAP, account=account).schema
    pay = schema["pay"]
    assert schema.fields_estimated == ("pay.quantiles",)
    assert spends(account) == ["quantiles"]
    assert (pay.quantiles[0], pay.quantiles[-1]) == (0, 10**6)
    inner = np.array(pay.quantiles[1:-1])
    # Two of five rows have nothing: they share a part.
    assert 1 <= inner[0] < 10
    shares = np.diff(np.searchsorted(np.sort(PAY[PAY > 0]), inner)) / (PAY > 0).sum()
    assert len(inner) >= 10
    assert shares.max() < 2.5 / len(inner)


def test_a_value_that_nearly_all_rows_share_leaves_quantiles_for_the_others():
    rare = np.where(np.arange(ROWS_IN_ALL) % 20 == 0, PAY + 1, 0).astype(np.int64)
    pay = estimated([], PAY_GAP, table=pa.table({"pay": rare})).schema["pay"]
    assert len(pay.quantiles) >= 10


def test_each_column_is_charged_for():
    gaps = [
        *(PAY_GAP, PAY_GAP | {"name": "more"}),
        {"name": "ward", "type": "categorical", "values": VALUES, "top": 4},
        {"name": "ware", "type": "categorical", "values": VALUES, "top": 2},
    ]
    cells = {"pay": TABLE["pay"], "more": TABLE["pay"], "ward": TABLE["ward"]}
    account = Account()
    estimated([], *gaps, table=pa.table(cells | {"ware": TABLE["ward"]}), account=account)
    assert {item.name: item.times for item in account.spent} == {
        "most common values": 2,
        "quantiles": 2,
    }


def test_bounds_are_estimated_before_the_quantiles_between_them():
    account = Account()
    gap = {"name": "pay", "type": "integer", "scale": "quantile"}
    schema = estimated(["pay"], gap, account=account, noise=FakeNoise(seed=1)).schema
    assert schema.fields_estimated == ("pay.min", "pay.max", "pay.quantiles")
    assert spends(account) == ["bounds, powers of two", "bounds, bins", "quantiles"]
    assert Encoder(schema).encode(pa.table({"pay": TABLE["pay"]}))


def test_under_much_noise_there_are_few_quantiles_and_they_serve():
    noisy = estimated(["pay"], PAY_GAP, noise=FakeNoise(seed=0), loss=1e-5).schema["pay"]
    assert 2 <= len(noisy.quantiles) <= 6
    assert np.all(np.diff(noisy.quantiles) > 0)


@pytest.mark.parametrize("cells", [[7] * 500, [0, 1] * 300], ids=["constant", "two values"])
def test_quantiles_of_next_to_no_values(cells):
    gap = {"name": "x", "type": "integer", "scale": "quantile"}
    schema = estimated([], gap, table=pa.table({"x": cells})).schema
    assert schema["x"].quantiles[0] == min(cells)
    Encoder(schema).encode(pa.table({"x": cells}))


def test_the_most_common_values_that_occur_and_one_for_the_rest():
    account = Account()
    gap = {"name": "ward", "type": "categorical", "top": 5, "other": "rest"}
    schema = estimated(["ward"], gap, account=account).schema
    assert schema["ward"].values == ("w001", "w002", "w003", "w004", "w005", "rest")
    assert (schema["ward"].other, schema.fields_estimated) == ("rest", ("ward.values",))
    assert spends(account) == ["categories"]


def test_without_a_name_the_rest_is_called_other():
    ward = estimated(["ward"], {"name": "ward", "type": "categorical", "top": 2}).schema["ward"]
    assert (ward.values, ward.other) == (("w001", "w002", "other"), "other")
    assert ward.estimated == ("values", "other")


def test_the_most_common_declared_values_cost_no_part_of_delta():
    account = Account()
    gap = {"name": "ward", "type": "categorical", "values": VALUES, "top": 4, "other": "w900"}
    made = estimated(["ward"], gap, account=account)
    ward = made.schema["ward"]
    assert ward.values == ("w001", "w002", "w003", "w004", "w900")
    assert (ward.other, made.schema.fields_estimated) == ("w900", ("ward.values",))
    (item,) = account.spent
    assert (item.name, item.delta_share) == ("most common values", 0)
    assert "most common values estimated for 'ward'" in made.notes[0]


def test_declared_values_that_are_no_more_than_noise_do_not_stay_apart():
    gap = {"name": "ward", "type": "categorical", "values": VALUES, "top": 500}
    ward = estimated(["ward"], gap, noise=FakeNoise(seed=0)).schema["ward"]
    assert 5 < ward.size < 40
    assert ward.values[-1] == ward.other == "other"
    lost = estimated(["ward"], gap, noise=FakeNoise(seed=0), loss=1e-7).schema["ward"]
    assert lost.size == 2


def test_whole_numbers_may_be_a_wide_list():
    gap = ALL["columns"][2]
    code = estimated(["code"], gap).schema["code"]
    assert (code.values, code.other) == ((1, 2, 3, 0), 0)
    encoder = Encoder(Schema((code,)))
    rows, _ = encoder.encode(pa.table({"code": [1, 3, 4, 399, 7000]}))
    assert rows.codes.ravel().tolist() == [0, 2, 3, 3, 3]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize(
    ("name", "kind", "cells", "span"),
    [
        ("born", Date, DAYS, dt.timedelta(600)),
        ("seen", Datetime, SECONDS.astype("datetime64[us]"), dt.timedelta(450)),
    ],
)
def test_bounds_of_dates(as_text, name, kind, cells, span):
    account = Account()
    array = TABLE[name].cast(pa.string()) if as_text else TABLE[name]
    gap = {"name": name, "type": kind.type_name}
    made = estimated([], gap, table=pa.table({name: array}), account=account)
    column = made.schema[name]
    assert type(column) is kind
    assert column.min <= cells.min().item() < cells.max().item() <= column.max
    assert column.min > cells.min().item() - span
    assert column.max < cells.max().item() + span
    assert made.schema.fields_estimated == (f"{name}.min", f"{name}.max")
    assert spends(account) == ["bounds, powers of two", "bounds, bins"]


def test_dates_that_are_stored_as_such_need_no_declaration():
    schema = estimated(["born", "seen", "fed"], noise=FakeNoise(seed=0)).schema
    assert [type(column) for column in schema.columns] == [Date, Datetime, Time]
    fed = schema["fed"]
    assert dt.time(6) < fed.min <= dt.time(8, 0, 30)
    assert dt.time(17, 59) <= fed.max < dt.time(20, 30)
    Encoder(schema).encode(pa.table({name: TABLE[name] for name in schema.names}))


def test_declared_bounds_of_dates_stay_and_the_other_is_on_their_grid():
    gaps = [
        {"name": "seen", "type": "datetime", "resolution": "hour", "min": "2019-01-01T00:30"},
        {"name": "fed", "type": "time", "max": "18:00:00", "resolution": "minute", "open": True},
    ]
    schema = estimated(["seen", "fed"], *gaps).schema
    assert schema.fields_estimated == ("seen.max", "fed.min")
    assert schema["seen"].min == dt.datetime(2019, 1, 1, 0, 30)
    assert schema["seen"].max.minute == 30
    assert schema["fed"].max == dt.time(18)


@pytest.mark.parametrize("resolution", ["day", "hour", "second"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/New_York"])
def test_bounds_in_a_zone_begin_where_its_clocks_do(zone, resolution):
    moments = TABLE["seen"].cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
    gap = {"name": "seen", "type": "datetime", "timezone": zone, "resolution": resolution}
    schema = estimated([], gap, table=pa.table({"seen": moments})).schema
    first = schema["seen"].min
    assert (first.second, first.microsecond) == (0, 0) or resolution == "second"
    assert first.hour == 0 or resolution != "day"
    assert Schema.from_dict(schema.to_dict()) == schema


def test_old_and_future_dates_stay_within_what_a_calendar_can_write():
    days = [dt.date(1, 1, 1)] * 300 + [dt.date(9999, 12, 31)] * 300
    born = estimated([], {"name": "born"}, table=pa.table({"born": days})).schema["born"]
    assert born.min < dt.date(100, 1, 1)
    assert born.max > dt.date(9900, 1, 1)


def test_too_few_dates_are_refused_with_what_to_declare():
    table = pa.table({"born": [dt.date(2000, 1, 1)] * 4})
    with pytest.raises(SchemaError, match=r"column 'born': too few rows.*declare its type"):
        estimated([], table=table)
    with pytest.raises(SchemaError, match=r"column 'born': too few rows.*declare min and max"):
        estimated([], {"name": "born", "type": "date"}, table=table)


def test_dates_on_the_wrong_side_of_a_declared_bound_are_refused():
    gap = {"name": "born", "type": "date", "min": "2200-01-01"}
    with pytest.raises(SchemaError, match=r"'born'.*below the declared min"):
        estimated(["born"], gap)


NEIGHBOURS = [
    ROW_LEVEL,
    NeighboringRelation(Adjacency.REPLACE_ONE),
    NeighboringRelation(max_rows=2),
    NeighboringRelation(Adjacency.REPLACE_ONE, max_rows=2),
]


@pytest.mark.parametrize("neighbours", NEIGHBOURS, ids=["rows", "replace", "users", "both"])
def test_the_price_is_kept_whatever_is_estimated(neighbours):
    account, users = Account(), None
    if neighbours.is_user_level:
        ids = pa.table({"id": np.arange(ROWS_IN_ALL)})
        users = limit_contributions([ids], column="id", max_rows=2, seed=0, scale=neighbours.scale)
    options = {"account": account, "neighbours": neighbours, "users": users}
    made = estimated(list(TABLE), *ALL["columns"], **options)
    outline = PartialSchema.from_schema(ALL).complete_columns(list(TABLE), estimate=None)
    planned = plan_spend(outline, neighbours=neighbours, **PAID)
    for items in (account.spent, (planned,)):
        loss = sum(neighbours.squared_distance * item.loss for item in items)
        assert 0.99 * PAID["loss"] < loss <= PAID["loss"]
        assert compute_release_delta(items, neighbours) <= PAID["delta_share"]
    assert sorted(spends(account)) == sorted(
        [
            *("categories", "most common values", "bounds, powers of two", "bounds, bins"),
            *("quantiles", "kinds of columns"),
        ]
    )
    assert made.schema["ward"].size == 6


def test_a_user_counts_once_however_many_rows_they_have():
    """Half of the rows are of one user, whose value is declared and must not be common by it."""
    half = ROWS_IN_ALL // 2
    ids = [*range(half), *[-1] * half]
    table = pa.table({"ward": ["eye"] * half + ["rare"] * half})
    gap = {"name": "ward", "type": "categorical", "values": ["eye", "rare", "none"], "top": 1}
    users = limit_contributions(
        [pa.table({"id": ids})],
        column="id",
        max_rows=9,
        seed=0,
        scale=NeighboringRelation(max_rows=9).scale,
    )
    options = {"table": table, "users": users, "neighbours": NeighboringRelation(max_rows=9)}
    assert estimated([], gap, **options).schema["ward"].values == ("eye", "other")


def test_an_estimated_schema_is_a_file_like_any_other(tmp_path):
    schema = estimated(list(TABLE), *ALL["columns"]).schema
    for ending in ("yaml", "json"):
        schema.save(tmp_path / f"schema.{ending}")
        assert Schema.load(tmp_path / f"schema.{ending}") == schema
        assert PartialSchema.from_schema(tmp_path / f"schema.{ending}").missing == ()


def test_the_order_of_rows_changes_nothing():
    order = RNG.permutation(ROWS_IN_ALL)
    shuffled = pa.table(TABLE).take(order)
    assert estimated(list(TABLE), *ALL["columns"]) == estimated([], *ALL["columns"], table=shuffled)


def test_values_of_a_list_are_counted_as_they_are_encoded():
    gap = {"name": "x", "type": "categorical", "values": ["1", "2"], "top": 1}
    made = estimated([], gap, table=pa.table({"x": [1.0, 2.0, 2.0] * 200}))
    assert isinstance(made.schema["x"], Categorical)
    assert made.schema["x"].values == ("2", "other")

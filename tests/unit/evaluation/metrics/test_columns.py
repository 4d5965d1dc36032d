"""Each column by itself: shares, nulls, moments and what differs."""

import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest

from tabpe.evaluation.metrics.columns import BINS, MOST_BARS, compare_columns
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.schema import Boolean, Categorical, Date, Float, Integer, Schema

AGE = Integer("x", 0, 100)
SHARE = Float("x", 0, 1)
WARD = Categorical("x", ("a", "b", "c"))


def seen(column, *tables, kind=None):
    """The view of one column; the last table is the synthetic one."""
    schema = Schema((column,))
    both = build_table_arrays(schema, [pa.table({"x": pa.array(cells, kind)}) for cells in tables])
    (found,) = compare_columns(*both) if len(both) > 1 else compare_columns(None, *both)
    return found


def test_numbers_are_counted_into_bins():
    cells = np.random.default_rng(0).random(1000)
    found = seen(SHARE, cells, [0.0, 0.5, 1.0])
    expected, _ = np.histogram(cells, np.array(found.edges))
    assert found.kind == "number"
    assert len(found.edges) == BINS + 1
    assert found.real.shares == pytest.approx(expected / 1000)
    assert found.synthetic.shares[-1] == pytest.approx(1 / 3)
    assert found.bars == ()
    assert found.open_ends == (False, False)


def test_moments_are_of_the_cells_that_are_not_null():
    found = seen(AGE, [10, None, 30], [50], kind=pa.int64())
    real = found.real
    assert (real.mean, real.deviation, real.least, real.most) == (20, 10, 10, 30)
    assert real.nulls == pytest.approx(1 / 3)
    assert sum(real.shares) == pytest.approx(1)
    assert (found.synthetic.mean, found.synthetic.deviation) == (50, 0)


def test_what_lies_beyond_the_edges_is_in_the_end_bins_and_said():
    cells = [*np.linspace(0, 1, 500), 900.0]
    found = seen(Float("x", -1000, 1000), cells, cells)
    assert found.open_ends == (False, True)
    assert found.edges[-1] < 2
    assert found.real.shares[-1] > 1 / 501
    assert sum(found.real.shares) == pytest.approx(1)
    assert found.real.most == 900


def test_categories_are_in_the_order_of_the_real_table():
    found = seen(WARD, ["c", "c", "a"], ["b", "b", "b"])
    assert found.kind == "category"
    assert found.edges == ()
    assert found.bars == ("c", "a", "b")
    assert found.real.shares == pytest.approx((2 / 3, 1 / 3, 0))
    assert found.synthetic.shares == (0, 0, 1)
    assert found.real.mean is None


def test_without_a_real_table_the_synthetic_one_gives_the_order():
    found = seen(WARD, ["b", "b", "c"])
    assert found.bars == ("b", "c", "a")
    assert found.real is None
    assert found.difference is None


def test_without_a_real_table_edges_follow_from_schema_and_synthetic_rows():
    schema = Schema((SHARE,))
    tables = [pa.table({"x": cells}) for cells in ([-50.0, 70.0], [0.2, 0.8])]
    _, synthetic = build_table_arrays(schema, tables)
    (found,) = compare_columns(None, synthetic)
    assert (found.edges[0], found.edges[-1]) == (0, 1)


def test_many_categories_end_in_the_number_of_others():
    column = Categorical("x", tuple(f"v{place}" for place in range(50)))
    rng = np.random.default_rng(1)
    real = [f"v{place}" for place in range(50) for _ in range(100 - place)]
    found = seen(column, real, rng.permutation(real))
    assert len(found.bars) == len(found.real.shares) == MOST_BARS
    assert found.bars[0] == "v0"
    assert found.bars[-1] == f"{50 - MOST_BARS + 1} others"
    assert found.real.shares[-1] == pytest.approx(sum(range(51, 101 - MOST_BARS + 1)) / len(real))
    assert found.difference == pytest.approx(0)


def test_as_many_categories_as_bars_need_no_others():
    column = Categorical("x", tuple(f"v{place}" for place in range(MOST_BARS)))
    assert seen(column, ["v3"], ["v3"]).bars[-1] == f"v{MOST_BARS - 1}"


def test_a_category_of_the_synthetic_table_alone_is_a_bar():
    found = seen(WARD, ["a"], ["elsewhere"])
    assert found.synthetic.shares[found.bars.index("elsewhere")] == 1
    assert found.difference == 1


@pytest.mark.parametrize(
    ("real", "synthetic", "difference"),
    [
        (["a", "b"], ["b", "a"], 0.0),
        (["a", "b"], ["a", "a"], 0.5),
        (["a", "a"], ["a", None], 0.5),
        ([None, None], ["a", "b"], 1.0),
        ([None], [None], 0.0),
        (["a", "b", None, None], ["a", "a", None, "a"], 0.5),
    ],
)
def test_the_difference_is_the_total_variation_with_nulls(real, synthetic, difference):
    assert seen(WARD, real, synthetic, kind=pa.string()).difference == pytest.approx(difference)


@pytest.mark.parametrize("column", [AGE, SHARE, WARD, Boolean("x")])
@pytest.mark.parametrize("cells", [[], [None], [None, None, 1], [1]])
def test_few_cells_or_none_are_a_view_that_json_can_hold(column, cells):
    kind = pa.string() if column is WARD else pa.float64()
    values = [None if cell is None else "a" if column is WARD else 1.0 for cell in cells]
    found = seen(column, values, values, kind=kind)
    json.dumps(asdict(found), allow_nan=False)
    assert sum(found.real.shares) == (1.0 if any(cells) else 0.0)
    assert found.difference == (0.0 if cells else None)


def test_plain_values_alone():
    def plain(value):
        if isinstance(value, (tuple, list)):
            return all(map(plain, value))
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        return type(value) in {float, int, str, bool, type(None)}

    assert plain(asdict(seen(SHARE, [0.1, 0.2], [0.3, 0.4])))
    assert plain(asdict(seen(WARD, ["a", "b"], ["a", "a"])))


def test_numbers_of_any_size_have_finite_moments():
    found = seen(SHARE, [-1.7e308, 1.7e308], [1e-310, 2e-310])
    assert found.real.deviation == pytest.approx(1.7e308)
    assert found.synthetic.mean == pytest.approx(1.5e-310)


def test_the_mean_of_dates_is_a_date():
    day = Date("x", "2024-01-01", "2024-12-31")
    found = seen(day, ["2024-01-01", "2024-01-31"], ["2024-03-01", "2024-03-01"])
    assert (found.real.mean, found.real.mean_date) == (15.0, "2024-01-16")
    assert found.synthetic.mean_date == "2024-03-01"
    assert seen(SHARE, [0.1], [0.2]).real.mean_date == ""


def test_a_log_scaled_number_has_a_log_axis():
    found = seen(Float("x", 1, 10_000, scale="log"), [1.0, 11.0, 110.0], [1000.0, 9000.0])
    assert found.axis == "log"
    assert found.positions == pytest.approx(np.linspace(0, 1, BINS + 1).tolist())
    assert found.marks == ("1", "100", "10,000")
    # Bins are as wide as ratios: each power of ten has a quarter of them.
    assert [place for place, share in enumerate(found.real.shares) if share] == [0, 6, 12]


def test_a_log_axis_reaches_over_zero_and_what_lies_beyond_is_in_the_last_bin():
    found = seen(Integer("x", -100, 100, scale="log"), [-100, 0, 100], [0, 0, 500])
    assert found.positions[0] == 0.0
    assert found.positions[-1] == 1.0
    assert list(found.positions) == sorted(found.positions)
    assert sum(found.real.shares) == sum(found.synthetic.shares) == pytest.approx(1)
    assert found.open_ends == (False, True)


def test_columns_are_in_the_order_of_the_schema():
    schema = Schema((Boolean("b"), Integer("a", 0, 1)))
    tables = [pa.table({"a": [1], "b": [True]})] * 2
    assert [column.name for column in compare_columns(*build_table_arrays(schema, tables))] == [
        "b",
        "a",
    ]


def test_values_are_counted_in_as_many_cells():
    found = seen(SHARE, [at / 100 for at in range(100)], [0.1, 0.1, 0.3, 0.5])
    assert (found.real.values, found.synthetic.values) == (4, 3)

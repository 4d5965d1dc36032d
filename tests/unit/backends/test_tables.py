"""Exact counts of rows in the cells of marginals."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe import measurement
from tabpe.accounting import Account, FakeNoise, Spend
from tabpe.backends import LocalEngine, MarginalCounter
from tabpe.backends.users import limit_contributions
from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.marginals import build_axis
from tabpe.errors import DataError
from tabpe.schema import Boolean, Integer, Schema

ENCODER = Encoder(Schema((Integer("age", 0, 3), Boolean("ill")), label="ill"))
AGE, ILL = (Marginal((build_axis(ENCODER, name),)) for name in ENCODER.schema.names)
BOTH = Marginal((*AGE.axes, *ILL.axes))
TABLE = pa.table({"age": [0, 0, 3, 3, 3], "ill": [True, False, True, True, True]})
IDS = ["a", "b", "a", "a", "c"]


def batches(size):
    return [ENCODER.encode(TABLE.slice(first, size)) for first in range(0, TABLE.num_rows, size)]


def users(ids=IDS, scale=100):
    return limit_contributions(
        [pa.table({"id": ids})], column="id", max_rows=3, seed=0, scale=scale
    )


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_row_counts_once_in_every_marginal_whatever_the_batches(size):
    found = MarginalCounter(batches(size)).counts([AGE, ILL, BOTH, Marginal(())])
    assert [counts.tolist() for counts in found] == [
        [2, 0, 0, 3],
        [1, 4],
        [1, 1, 0, 0, 0, 0, 0, 3],
        [5],
    ]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_user_counts_with_one_vector_in_every_marginal(size):
    tables = MarginalCounter(batches(size), users())
    found = tables.counts([AGE, Marginal(())])
    assert tables.scale == 100
    # a: one row of 0 and two of 3, so 1/sqrt(5) and 2/sqrt(5); b: one of 0; c: one of 3.
    assert [counts.tolist() for counts in found] == [[44 + 100, 0, 0, 89 + 100], [300]]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("ids", [None, IDS, ["a"] * 5, list("abcde")])
def test_rows_and_classes_are_counted_as_an_engine_counts_them(size, ids):
    whose = None if ids is None else users(ids)
    kept = [True] * 5 if whose is None else whose.kept.tolist()
    parts = []
    for rows, classes in batches(size):
        here, kept = np.array(kept[: len(rows)]), kept[len(rows) :]
        parts.append((rows.take(here), classes[here]))
    tables = MarginalCounter(parts, whose, classes=2)
    engine = LocalEngine(classes=2, category_weight=1 / 3, users=whose)
    engine.prepare(parts)
    for found, expected in (
        (tables.row_count(), engine.row_count()),
        (tables.class_counts(), engine.class_counts()),
    ):
        assert found.dtype == np.int64
        assert found.tolist() == expected.tolist()


def test_a_class_without_rows_is_counted_too():
    assert MarginalCounter(batches(2), classes=4).class_counts().tolist() == [1, 4, 0, 0]
    assert (
        MarginalCounter([]).row_count().tolist()
        == MarginalCounter([]).class_counts().tolist()
        == [0]
    )


@pytest.mark.parametrize("whose", [None, users()])
def test_its_counts_can_be_bought(whose):
    account, noise, tables = (
        Account(),
        FakeNoise(strength=0),
        MarginalCounter(batches(2), whose, classes=2),
    )
    for name in ("row count", "class counts"):
        account.authorize(Spend(name, 2.5, 1))
    rows = measurement.measure_row_count(tables, account, noise)
    classes = measurement.measure_class_counts(tables, 2, account, noise)
    assert account.spent == (rows.item, classes.item)
    assert {rows.scale, classes.scale} == {tables.scale}
    assert rows.values[0].tolist() == ([5] if whose is None else [300])
    assert classes.values[0].tolist() == ([1, 4] if whose is None else [100, 200])


def test_all_marginals_are_counted_in_one_pass():
    class Once:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(batches(2))

    once = Once()
    MarginalCounter(once).counts([AGE, ILL, BOTH])
    assert once.passes == 1


@pytest.mark.parametrize("ids", [IDS[:-1], IDS[:2], [*IDS, "d"]])
def test_a_table_that_changed_since_its_users_were_counted_is_refused(ids):
    with pytest.raises(DataError, match="changed"):
        MarginalCounter(batches(2), users(ids)).counts([AGE])


def test_many_cells_are_told_apart_with_users():
    """The cell of each row is remembered in the smallest type that holds it."""
    encoder = Encoder(Schema((Integer("id", 0, 999),)))
    wide = Marginal((build_axis(encoder, "id", max_bins=1000),))
    rows = encoder.encode(pa.table({"id": [999, 256]}))
    (found,) = MarginalCounter([rows], users(["a", "b"])).counts([wide])
    assert np.flatnonzero(found).tolist() == [256, 999]

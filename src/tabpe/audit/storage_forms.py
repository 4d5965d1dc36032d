"""Storage: neighbouring tables in many forms, and how far apart lies what is measured of them.

How a table happens to be stored depends on single rows: one null makes floats of whole numbers, one
text makes text of all numbers. So two tables that differ by a row, or by a user, are stored in a
form each, and measured without noise. The row must move each histogram by a length of one at most,
as the accounting assumes, whatever the two forms are.

The tests of tabpe do the same with random schemas and more forms, thousands of times
(`tests/properties/test_neighbours.py`). This is a quick form of it with fixed tables.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe import measurement
from tabpe._utils.arrays import attempt
from tabpe._utils.resources import Resources
from tabpe.accounting import ROWS, Account, BillItem, FakeNoise, Neighbours
from tabpe.audit.report import Distance
from tabpe.audit.systems import System
from tabpe.backends import LoneKeeper, Unit
from tabpe.encoding import Encoder, Sight
from tabpe.encoding.marginals import Marginal, axis_of
from tabpe.evolution.variation import random_records
from tabpe.io import opened_source
from tabpe.io.canonical import text_of
from tabpe.measurement import Terms, histograms, raw_columns
from tabpe.measurement.marginals import MARGINALS
from tabpe.schema import Boolean, Categorical, Datetime, Float, Integer, Schema

Cells = Mapping[str, Sequence[Any]]
Counts = list[NDArray[np.int64]]
Form = Callable[[Cells, Path], Any]

FIRST, DAY = dt.datetime(2024, 1, 1), dt.timedelta(days=1)  # noqa: DTZ001 (what clocks show)
SCHEMA = Schema(
    (
        Integer("visits", 0, 9, nullable=True),
        Float("dose", 0.0, 10.0, decimals=2),
        Categorical("strength", ("0.5", "1.5", "2.5", "other"), other="other"),
        Datetime("seen", FIRST, FIRST + 365 * DAY, resolution="hour"),
        Boolean("ill"),
    ),
    label="ill",
)
USUAL: dict[str, Sequence[Any]] = {
    "visits": range(10),
    "dose": (0.25, 3, 7.5),
    "strength": (Decimal("0.5"), Decimal("1.5"), Decimal("2.5")),
    "seen": [FIRST + n * DAY / 3 for n in range(40)],
    "ill": (True, False),
}
# What one row can hold that changes how a column is stored.
ODD: tuple[tuple[str, Any], ...] = (
    ("visits", None),
    ("visits", 2.5),
    ("visits", "unknown"),
    ("visits", 10**6),
    ("dose", Decimal("1.125")),
    ("dose", None),
    ("strength", Decimal("1.25")),
    ("strength", 2.5),
    ("strength", "unknown"),
    ("seen", FIRST + dt.timedelta(microseconds=1)),
    ("seen", dt.date(2024, 5, 1)),
    ("seen", "unknown"),
    ("ill", None),
    ("ill", 2),
)
PEOPLE = 40
UNIT = Unit("person", most=2, seed=0, scale=2**14, names=("person", *SCHEMA.names))


@dataclass(frozen=True)
class Storage:
    """Pairs of neighbouring tables, each in forms of their own.

    Args:
        pairs: How many pairs of forms are tried for each odd cell.
        rows: How many rows the smaller table of a pair has.
    """

    pairs: int = 4
    rows: int = 120

    @property
    def samples(self) -> int:
        """How many pairs of tables are compared."""
        return self.pairs * len(ODD)

    def audit(self, system: System) -> list[Distance]:
        """Return how far one row, and one user, move histograms at most."""
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            found = [
                self._distances(system, rng, name, cell, Path(folder))
                for name, cell in ODD
                for _ in range(self.pairs)
            ]
        labels = ("storage: one row more", "storage: one user more")
        worst = (max(distances) for distances in zip(*found, strict=True))
        return [
            Distance(label, float(most), self.samples)
            for label, most in zip(labels, worst, strict=True)
        ]

    def _distances(
        self, system: System, rng: np.random.Generator, name: str, cell: Any, folder: Path
    ) -> tuple[float, float]:
        """Return how far one odd row, and one user with several, move a histogram at most."""
        forms, whole = _forms(), _table(rng, self.rows)
        one, other = (forms[number] for number in rng.integers(0, len(forms), 2))

        def counts(form: Form, table: Cells, unit: Unit | None) -> Counts:
            with opened_source(form(table, folder)) as source:
                return _counts(LoneKeeper(system.source(source), unit, Resources.of(n_jobs=1)))

        return (
            _distance(counts(one, whole, None), counts(other, _with(whole, 1, name, cell), None)),
            _distance(counts(one, whole, UNIT), counts(other, _with(whole, 5, name, cell), UNIT))
            / UNIT.scale,
        )


def _table(rng: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    table = {
        name: [cells[place] for place in rng.integers(0, len(cells), rows)]
        for name, cells in USUAL.items()
    }
    return {"person": rng.integers(0, PEOPLE, rows).tolist(), **table}


def _with(table: Cells, rows: int, name: str, cell: Any) -> dict[str, list[Any]]:
    """Return a table with rows of one user more, of which one cell is odd."""
    first = {key: cells[0] for key, cells in USUAL.items()} | {"person": PEOPLE}
    more = {key: [first[key]] * rows for key in table}
    more[name][-1] = cell
    return {key: [*cells, *more[key]] for key, cells in table.items()}


def _distance(one: Counts, other: Counts) -> float:
    """Return the largest length by which a histogram of one table differs from the other's."""
    pairs = zip(one, other, strict=True)
    return max(float(np.linalg.norm(first - second)) for first, second in pairs)


def _counts(keeper: LoneKeeper) -> Counts:
    """Return all histograms of a table, without noise."""
    neighbours = ROWS if keeper.users is None else Neighbours(max_rows=UNIT.most)
    terms = Terms(Account(), FakeNoise(strength=0), neighbours)
    asked = [Marginal((axis_of(ENCODER, name),)) for name in SCHEMA.names]
    for name, times in {
        raw_columns.KINDS: len(SCHEMA.names),
        MARGINALS: len(asked),
        histograms.CLASS_COUNTS: 1,
        histograms.VOTES: 1,
    }.items():
        terms.account.agree(BillItem(name, sigma=1.0, times=times))
    kinds = raw_columns.kinds(keeper.survey(), SCHEMA.names, terms)
    with closing(keeper.hold(ENCODER, 1.0)) as held:
        counted = measurement.measured_marginals(held.tables(), asked, terms)
        held.prepare(SIGHT)
        classes = measurement.class_counts(held, ENCODER.class_count, terms.account, terms.noise)
        votes = measurement.votes(held, CANDIDATES, terms.account, terms.noise)
    by_class = np.concatenate(votes.values)
    in_parts = [(neighbours.scale * counts).astype(np.int64) for counts in kinds.values()]
    return [*in_parts, *counted.values, *classes.values, by_class]


# Forms: for each of its types in turn a column is stored in, if it holds the cells as they are.


def _forms() -> list[Form]:
    """Return all forms, of the libraries that are installed."""
    forms: list[Form] = [_wide, _narrow, _floats, _texts, _files, _csv]
    if find_spec("pandas") is not None:
        forms += [_pandas, _pandas_nullable, _pandas_objects]
    return [*forms, _polars] if find_spec("polars") is not None else forms


def _wide(table: Cells, _: Path) -> pa.Table:
    kinds = (pa.bool_(), pa.int64(), pa.decimal128(30, 6), pa.float64(), pa.timestamp("us"))
    return _arrow(table, kinds)


def _narrow(table: Cells, _: Path) -> pa.Table:
    kinds = (pa.bool_(), pa.int8(), pa.int32(), pa.decimal128(9, 1), pa.timestamp("s"))
    return _arrow(table, (*kinds, pa.decimal128(9, 3), pa.float32(), pa.timestamp("ns")))


def _floats(table: Cells, _: Path) -> pa.Table:
    return _arrow(table, (pa.bool_(), pa.float64(), pa.decimal128(9, 3), pa.timestamp("ms")))


def _texts(table: Cells, _: Path) -> pa.Table:
    text = _arrow(table, ())
    return pa.table({name: text[name].dictionary_encode() for name in text.column_names})


def _files(table: Cells, folder: Path) -> Path:
    """Two files, of which each has the types that its own rows need."""
    import pyarrow.parquet as pq

    path = Path(tempfile.mkdtemp(dir=folder))
    half = len(table["person"]) // 2
    for number, (form, rows) in enumerate(
        ((_narrow, slice(None, half)), (_floats, slice(half, None)))
    ):
        part = {name: cells[rows] for name, cells in table.items()}
        pq.write_table(form(part, path), path / f"{number}.parquet")
    return path


def _csv(table: Cells, folder: Path) -> Path:
    from pyarrow import csv

    path = Path(tempfile.mkdtemp(dir=folder)) / "rows.csv"
    csv.write_csv(_arrow(table, ()), path)
    return path


def _pandas(table: Cells, _: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(table))


def _pandas_nullable(table: Cells, folder: Path) -> Any:
    return _pandas(table, folder).convert_dtypes()


def _pandas_objects(table: Cells, folder: Path) -> Any:
    return _pandas(table, folder).astype(object)


def _polars(table: Cells, folder: Path) -> Any:
    import polars as pl

    return pl.from_arrow(_wide(table, folder))


def _arrow(table: Cells, kinds: Sequence[pa.DataType]) -> pa.Table:
    return pa.table({name: _array(list(cells), kinds) for name, cells in table.items()})


def _array(cells: list[Any], kinds: Sequence[pa.DataType]) -> pa.Array:
    """Return cells in the first type that holds them as they are; as text if none does."""
    for kind in kinds:
        if pa.types.is_boolean(kind) != any(isinstance(cell, bool) for cell in cells):
            continue
        found = attempt(partial(pa.array, cells, kind), TypeError, ValueError, OverflowError)
        if found is not None and found.to_pylist() == cells:
            return found
    return pa.array([text_of(cell) for cell in cells], pa.string())


ENCODER = Encoder(SCHEMA)
SIGHT = Sight(ENCODER.space.can_miss)
_RNG = np.random.default_rng(0)
CANDIDATES = [SIGHT.of(random_records(space, 16, _RNG)) for space in ENCODER.spaces]

"""Neighboring tables in many storage forms, and how far apart their histograms lie.

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
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.arrays import try_call
from tabpe._utils.resources import Resources
from tabpe.accounting import ROW_LEVEL, Account, FakeNoise, NeighboringRelation, Spend
from tabpe.audit.report import NeighborDistance
from tabpe.audit.systems import AuditedSystem
from tabpe.backends import EncodedReading, LocalBackend, PrivacyUnit
from tabpe.backends.queries import KindQuery
from tabpe.encoding import Encoder, VotingSpace
from tabpe.encoding.marginals import Marginal, build_axis
from tabpe.encoding.records import draw_uniform_records
from tabpe.io import use_source
from tabpe.io.canonical import format_cell
from tabpe.measurement import PrivateSession
from tabpe.schema import Boolean, Categorical, Datetime, Float, Integer, Schema

TableCells = Mapping[str, Sequence[Any]]
Counts = list[NDArray[np.int64]]
StorageForm = Callable[[TableCells, Path], Any]

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
UNIT = PrivacyUnit("person", max_rows=2, seed=0, scale=2**14, names=("person", *SCHEMA.names))


@dataclass(frozen=True)
class StorageAudit:
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

    def audit(self, system: AuditedSystem) -> list[NeighborDistance]:
        """Return how far one row, and one user, move histograms at most."""
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            found = [
                self._compute_distances(system, rng, name, cell, Path(folder))
                for name, cell in ODD
                for _ in range(self.pairs)
            ]
        labels = ("storage: one row more", "storage: one user more")
        worst = (max(distances) for distances in zip(*found, strict=True))
        return [
            NeighborDistance(label, float(most), self.samples)
            for label, most in zip(labels, worst, strict=True)
        ]

    def _compute_distances(
        self, system: AuditedSystem, rng: np.random.Generator, name: str, cell: Any, folder: Path
    ) -> tuple[float, float]:
        """Return how far one odd row, and one user with several, move a histogram at most."""
        forms, whole = _list_forms(), _draw_table(rng, self.rows)
        one, other = (forms[number] for number in rng.integers(0, len(forms), 2))

        def counts(form: StorageForm, table: TableCells, unit: PrivacyUnit | None) -> Counts:
            with use_source(form(table, folder)) as source:
                return _count_histograms(
                    LocalBackend(system.source(source), unit, Resources.from_options(n_jobs=1))
                )

        return (
            _compute_distance(
                counts(one, whole, None), counts(other, _add_user_rows(whole, 1, name, cell), None)
            ),
            _compute_distance(
                counts(one, whole, UNIT), counts(other, _add_user_rows(whole, 5, name, cell), UNIT)
            )
            / UNIT.scale,
        )


def _draw_table(rng: np.random.Generator, rows: int) -> dict[str, list[Any]]:
    table = {
        name: [cells[place] for place in rng.integers(0, len(cells), rows)]
        for name, cells in USUAL.items()
    }
    return {"person": rng.integers(0, PEOPLE, rows).tolist(), **table}


def _add_user_rows(table: TableCells, rows: int, name: str, cell: Any) -> dict[str, list[Any]]:
    """Return a table with rows of one user more, of which one cell is odd."""
    first = {key: cells[0] for key, cells in USUAL.items()} | {"person": PEOPLE}
    more = {key: [first[key]] * rows for key in table}
    more[name][-1] = cell
    return {key: [*cells, *more[key]] for key, cells in table.items()}


def _compute_distance(one: Counts, other: Counts) -> float:
    """Return the largest length by which a histogram of one table differs from the other's."""
    pairs = zip(one, other, strict=True)
    return max(float(np.linalg.norm(first - second)) for first, second in pairs)


def _count_histograms(backend: LocalBackend) -> Counts:
    """Return all histograms of a table, without noise."""
    neighbours = ROW_LEVEL if backend.users is None else NeighboringRelation(max_rows=UNIT.max_rows)
    asked = [Marginal((build_axis(ENCODER, name),)) for name in SCHEMA.names]
    account, times = Account(), len(asked)
    kind_spend, marginal_spend, class_spend, vote_spend = (
        account.authorize(Spend(name, sigma=1.0, times=times))
        for name, times in (("kinds", times), ("marginals", times), ("classes", 1), ("votes", 1))
    )
    reading = EncodedReading(ENCODER, 1.0, "votes")
    with closing(backend):
        session = PrivateSession(
            backend, account, FakeNoise(strength=0), neighbours, reading=reading
        )
        kinds = session.count_raw_columns(kind_spend, KindQuery(SCHEMA.names))
        counted = session.count_marginals(marginal_spend, asked)
        session = replace(session, voting_space=VOTING_SPACE)
        classes = session.count_classes(class_spend, ENCODER.class_count)
        votes = session.count_votes(vote_spend, CANDIDATES)
    by_class = np.concatenate(votes.values)
    in_parts = [(neighbours.scale * counts).astype(np.int64) for counts in kinds.values()]
    return [*in_parts, *counted.values, *classes.values, by_class]


# Forms: for each of its types in turn a column is stored in, if it holds the cells as they are.


def _list_forms() -> list[StorageForm]:
    """Return all forms, of the libraries that are installed."""
    forms: list[StorageForm] = [
        _store_wide,
        _store_narrow,
        _store_floats,
        _store_texts,
        _store_files,
        _store_csv,
    ]
    if find_spec("pandas") is not None:
        forms += [_store_pandas, _store_pandas_nullable, _store_pandas_objects]
    return [*forms, _store_polars] if find_spec("polars") is not None else forms


def _store_wide(table: TableCells, _: Path) -> pa.Table:
    kinds = (pa.bool_(), pa.int64(), pa.decimal128(30, 6), pa.float64(), pa.timestamp("us"))
    return _make_arrow_table(table, kinds)


def _store_narrow(table: TableCells, _: Path) -> pa.Table:
    kinds = (pa.bool_(), pa.int8(), pa.int32(), pa.decimal128(9, 1), pa.timestamp("s"))
    return _make_arrow_table(table, (*kinds, pa.decimal128(9, 3), pa.float32(), pa.timestamp("ns")))


def _store_floats(table: TableCells, _: Path) -> pa.Table:
    return _make_arrow_table(
        table, (pa.bool_(), pa.float64(), pa.decimal128(9, 3), pa.timestamp("ms"))
    )


def _store_texts(table: TableCells, _: Path) -> pa.Table:
    text = _make_arrow_table(table, ())
    return pa.table({name: text[name].dictionary_encode() for name in text.column_names})


def _store_files(table: TableCells, folder: Path) -> Path:
    """Two files, of which each has the types that its own rows need."""
    import pyarrow.parquet as pq

    path = Path(tempfile.mkdtemp(dir=folder))
    half = len(table["person"]) // 2
    for number, (form, rows) in enumerate(
        ((_store_narrow, slice(None, half)), (_store_floats, slice(half, None)))
    ):
        part = {name: cells[rows] for name, cells in table.items()}
        pq.write_table(form(part, path), path / f"{number}.parquet")
    return path


def _store_csv(table: TableCells, folder: Path) -> Path:
    from pyarrow import csv

    path = Path(tempfile.mkdtemp(dir=folder)) / "rows.csv"
    csv.write_csv(_make_arrow_table(table, ()), path)
    return path


def _store_pandas(table: TableCells, _: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(table))


def _store_pandas_nullable(table: TableCells, folder: Path) -> Any:
    return _store_pandas(table, folder).convert_dtypes()


def _store_pandas_objects(table: TableCells, folder: Path) -> Any:
    return _store_pandas(table, folder).astype(object)


def _store_polars(table: TableCells, folder: Path) -> Any:
    import polars as pl

    return pl.from_arrow(_store_wide(table, folder))


def _make_arrow_table(table: TableCells, kinds: Sequence[pa.DataType]) -> pa.Table:
    return pa.table({name: _make_array(list(cells), kinds) for name, cells in table.items()})


def _make_array(cells: list[Any], kinds: Sequence[pa.DataType]) -> pa.Array:
    """Return cells in the first type that holds them as they are; as text if none does."""
    for kind in kinds:
        if pa.types.is_boolean(kind) != any(isinstance(cell, bool) for cell in cells):
            continue
        found = try_call(partial(pa.array, cells, kind), TypeError, ValueError, OverflowError)
        if found is not None and found.to_pylist() == cells:
            return found
    return pa.array([format_cell(cell) for cell in cells], pa.string())


ENCODER = Encoder(SCHEMA)
VOTING_SPACE = VotingSpace(ENCODER.space.can_miss)
_RNG = np.random.default_rng(0)
CANDIDATES = [
    VOTING_SPACE.transform_rows(draw_uniform_records(space, 16, _RNG)) for space in ENCODER.spaces
]

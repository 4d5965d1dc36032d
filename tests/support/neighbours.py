"""The neighbour tester: what one row, or one user, may change, however tables are stored.

A `Scene` is a schema, some rows, and one row or user more. `assert_rows`, `assert_users`,
`assert_release` and `assert_purchase` store the tables of a scene in forms of their own
(`storage`) and compare what is measured of them, through `tabpe.measurement` without noise, and
what is released.
"""

import contextlib
import dataclasses
import datetime as dt
import functools
import io
import itertools
import json
import re
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hostile import MORE
from storage import (
    DATABASES,
    LIBRARIES,
    OUTPUT,
    UNREADABLE,
    Form,
    Habits,
    is_missing,
    number_of,
    shuffled,
    store,
)
from tabpe import (
    Boolean,
    Categorical,
    Date,
    Datetime,
    Evolution,
    Float,
    Integer,
    Schema,
    TabPE,
    Time,
)
from tabpe._utils.resources import Resources
from tabpe.accounting import Account, FakeNoise, NeighboringRelation, Spend
from tabpe.backends import EncodedReading, LocalBackend, PrivacyUnit, queries
from tabpe.backends.cluster import (
    LocalShardPool,
    ShardedBackend,
    assign_shards,
    build_shards,
    partition_source,
)
from tabpe.encoding import Encoder, VotingSpace
from tabpe.encoding.marginals import Marginal, build_axis, build_class_axis
from tabpe.encoding.raw_cells import EqualWidthBins
from tabpe.encoding.records import draw_uniform_records
from tabpe.errors import TabpeError
from tabpe.evolution.marginal_prior import choose_bins
from tabpe.io import draft_schema, use_source
from tabpe.io.writers import make_table_writer
from tabpe.measurement import PrivateSession, histograms
from tabpe.measurement.checkpoint import compute_fingerprint
from tabpe.measurement.histograms import MARGINALS
from tabpe.schema import Temporal
from tabpe.schema.table_format import TableReading

# How many examples each property takes; together they are the CI's.
SHARES = {
    "rows": 800,
    "users": 400,
    "same": 550,
    "release": 150,
    "users' release": 50,
    "estimated": 50,
}
ENGINES = st.sampled_from(["local"] * 5 + ["stream", "shards"])


def tried(name, **changes):
    """The same examples in every run, so that none fails by chance; others if there are more."""
    share = SHARES[name] / sum(SHARES.values())
    usual = {
        "derandomize": not MORE,
        "max_examples": round(MORE * share) or SHARES[name],
        "database": None,
        "deadline": None,
        "suppress_health_check": list(HealthCheck),
    }
    return settings(**(usual | changes))


BERLIN = dt.timezone(dt.timedelta(hours=1))
# Cells that fit few columns, or none.
AWKWARD = (
    *(None, float("nan"), "", "  ", "x", "007", "1.50", "12E4", "+5", "NA", "nan", "yes", "TRUE"),
    *(0, 1, -3, 7, 35, 2.5, -0.0, 0.1, 1e-7, 1e16, 1e300, float("inf"), float("-inf")),
    *(Decimal("1.50"), Decimal("0.07"), Decimal(12345678901234567), True, False),
    *("e\u0301", "\u00e9", "\u212b", "2024-02-30", "31.12.2024", "25:00", "\x1f1"),
    *(dt.date(2024, 3, 31), dt.date(1, 1, 1), dt.datetime(2024, 3, 31, 18, 30, 0, 250)),
    *(dt.datetime(2024, 3, 31), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
    *(dt.datetime(2024, 3, 31, 2, 30, tzinfo=BERLIN), dt.datetime(2024, 7, 1, tzinfo=dt.UTC)),
    *(dt.time(12, 30), dt.time(0, 0, 1, 5), [1, 2], UNREADABLE),
)
# Integers that no double holds: forms that round all of them are another table.
LARGE = (2**53 + 1, -(2**53) - 3, 2**60 + 1, 2**60 + 3, 2**63 - 1)


@dataclass(frozen=True)
class Kind:
    """A column, cells that are likely in it, and what storage may do to them."""

    column: object
    cells: tuple
    habits: Habits = dataclasses.field(default_factory=Habits)


def number_kinds(name, **common):
    age = tuple(range(10))
    yield Kind(Integer(name, 0, 9, **common), age)
    yield Kind(Integer(name, -5, 120, scale="log", **common), (-5, 0, 1, 35, 66, 120))
    yield Kind(Integer(name, 2**60, 2**60 + 9, **common), (2**60, 2**60 + 1, 2**60 + 9))
    yield Kind(Float(name, 0.0, 10.0, 1, **common), (0.0, 0.1, 2.5, 9.9, 10.0, 3))
    yield Kind(Float(name, -1.0, 1.0, **common), (-1.0, 1 / 3, 0.5, 0, 1))
    halves = (0.0, 0.5, 1.0, 4.0, 8.0)
    column = Float(name, 0.0, 8.0, scale="quantile", quantiles=halves, **common)
    yield Kind(column, (*halves, 2.25))
    piled = (0.0, -0.0, 0.25, 1e-300, -1e-300, 0.1 + 0.2, 0.3)
    yield Kind(Float(name, -1.0, 1.0, special=(0.0, 0.3), **common), piled)
    yield Kind(Float(name, 0.0, 1e6, scale="log", special=(0,), **common), (0, 1e-9, 5, 1e6))
    yield Kind(Integer(name, 0, 400, special=(0, 365), **common), (0, 1, 364.6, 365, 366, 400))
    yield Kind(Integer(name, 2**60, 2**60 + 9, special=(2**60 + 1,), **common), (2**60 + 1, 2**60))


def ruled_kinds(name, **common):
    """Yield columns whose schema says what text means, which files and frames alone obey."""
    fees = (0, 0.5, 2.125, 999, 1234, 1234.5, 2815.25)
    commas = Habits(commas=True)
    column = Float(name, 0, 5000, 3, format="1.234,56 EUR", **common)
    yield Kind(column, fees, Habits(commas=True, unit="EUR"))
    yield Kind(Integer(name, 0, 5000, format="1.234", **common), (0, 1, 1234, 4999), commas)
    nulls = ("unknown", 999)
    known = Habits(nulls=nulls)
    yield Kind(Integer(name, 0, 120, nulls=nulls, **common), (0, 35, *nulls), known)
    column = Float(name, 0, 2000, 1, format="1.234,5", nulls=nulls, **common)
    yield Kind(column, (0.5, 1234.5, *nulls), Habits(commas=True, nulls=nulls))
    values = ("a", "b", "other")
    column = Categorical(name, values, other="other", nulls=("unknown",), **common)
    yield Kind(column, ("a", "b", "unknown", "c"), Habits(nulls=("unknown",)))


def moment_kinds(name, **common):
    days = tuple(dt.date(2024, 1, 1) + dt.timedelta(days=d) for d in (0, 1, 58, 59, 90, 365))
    yield Kind(Date(name, "2024-01-01", "2024-12-31", **common), days)
    yield Kind(Date(name, "2024-01-01", "2024-12-31", special=("2024-03-01",), **common), days)
    column = Date(name, "2024-01-01", "2024-12-31", format="%d.%m.%Y", **common)
    yield Kind(column, days, Habits(pattern="%d.%m.%Y", plain=True))
    column = Date(name, "2024-01-01", "2024-12-31", format="%Y%m%d", **common)
    yield Kind(column, (20240331, 20241231, 20240229), Habits(plain=True))
    # Few days, so that hours tell.
    moments = tuple(dt.datetime(2024, 1, 1) + dt.timedelta(hours=h) for h in (0, 1, 18, 36, 1000))
    late = dt.datetime(2024, 1, 3, 1, 2, 3, 4)
    column = Datetime(name, "2024-01-01", "2024-01-04", **common)
    yield Kind(column, (*moments, late, *days[:3]))
    column = Datetime(name, "2024-01-01", "2024-01-04", "hour", "Pacific/Auckland", **common)
    zoned = tuple(one.replace(tzinfo=dt.UTC) for one in moments)
    yield Kind(column, (*moments[:3], *zoned[:3]))
    yield Kind(Time(name, "08:00", "18:00", "minute", **common), (dt.time(8), dt.time(12, 30)))


def listed_kinds(name, **common):
    bools, flags = (True, False), Habits(flags=True)
    yield Kind(Boolean(name, **common), (*bools, "yes", "no"), flags)
    for values, cells in (
        (("0.5", "1.5", "2.5", "other"), (Decimal("0.5"), 1.5, Decimal("2.50"), Decimal("1.25"))),
        (("a", "b", "\u00e9", "other"), ("a", "b", "e\u0301", "c")),
        (
            ("2024-01-01", "2024-03-31T18:30:00", "other"),
            (dt.date(2024, 1, 1), dt.datetime(2024, 3, 31, 18, 30)),
        ),
        (("007", "7", "other"), ("007", 7, 7.0)),
        (("true", "false", "2", "other"), (True, False, 2)),
        (("1", "0", "other"), (True, False, 1, 0)),
        (("9007199254740993", "9007199254740992", "other"), (2**53, 2**53 + 1)),
    ):
        yield Kind(Categorical(name, values, other="other", **common), cells, flags)
    yield Kind(Categorical(name, (1, 2, 3), **common), (1, 2, 3, 4), flags)
    yield Kind(Categorical(name, (0.5, 1.5), **common), (0.5, 1.5, 2.0), flags)
    yield Kind(Categorical(name, ("low", "mid", "high"), ordered=True, **common), ("low", "high"))
    plain = Habits(plain=True, flags=False)
    yield Kind(Categorical(name, ("1.1", "1.10", "x"), **common), (1.1, 2.5), plain)


@functools.cache
def kinds(name):
    """Return a strategy of columns."""
    families = [*number_kinds(name), *moment_kinds(name), *listed_kinds(name)]
    nullable = [
        *number_kinds(name, nullable=True),
        *moment_kinds(name, nullable=True),
        *listed_kinds(name, nullable=True),
    ]
    ruled = [
        *number_kinds(name, nullable=True, invalid="null"),
        *moment_kinds(name, nullable=True, invalid="null"),
        *listed_kinds(name, nullable=True, invalid="null"),
    ]
    return st.sampled_from([*families, *nullable, *ruled])


@functools.cache
def moment_columns(name):
    """Return a strategy of columns of dates and times."""
    return st.sampled_from([*moment_kinds(name), *moment_kinds(name, nullable=True)])


@functools.cache
def large_columns(name):
    """Return a strategy of columns of integers that no double holds, with nulls among them."""
    numbers = Integer(name, 2**60, 2**60 + 9, nullable=True)
    values = ("9007199254740993", "9007199254740992", "other")
    listed = Categorical(name, values, other="other", nullable=True)
    return st.sampled_from(
        [
            Kind(numbers, (2**60, 2**60 + 1, 2**60 + 9, None)),
            Kind(listed, (2**53, 2**53 + 1, None), Habits(flags=True)),
        ]
    )


@functools.cache
def ruled_columns(name):
    """Return a strategy of columns whose schema says what text means."""
    return st.sampled_from([*ruled_kinds(name), *ruled_kinds(name, nullable=True)])


@functools.cache
def labels():
    """Return a strategy of columns whose values are classes, each with the cuts of a number."""
    listed = [*listed_kinds("label"), *listed_kinds("label", nullable=True)]
    number = Kind(Integer("label", 0, 9), tuple(range(10)))
    return st.sampled_from([*((one, None) for one in listed), (number, (3, 7)), None])


@dataclass(frozen=True)
class Scene:
    """A table, and one row or user more.

    Args:
        schema: Its schema.
        habits: What storage may do to the cells of each column.
        rows: The rows, as tuples in the order of `names`.
        more: The rows of one more, of which there is one if rows are protected.
        forms: How the table, the larger one, and what is more alone are stored.
        names: The columns; with users the last is that of their ids.
    """

    schema: Schema
    habits: dict
    rows: tuple
    more: tuple
    forms: tuple
    names: tuple

    @property
    def with_more(self):
        """All rows."""
        return (*self.rows, *self.more)


# More of pandas, which has the most types.
forms = st.builds(Form, st.sampled_from([*LIBRARIES, "pandas", "pandas"]), st.integers(0, 999))
# Of pandas and of others in turn: types of what comes out are compared within a library.
frame_forms = st.builds(
    Form, st.sampled_from([*LIBRARIES, *["pandas"] * len(LIBRARIES)]), st.integers(0, 999)
)
# What is rare otherwise: moments as objects of pandas, which mix most easily, and long integers.
THEMES = [
    (moment_columns, st.builds(Form, st.just("pandas"), st.integers(0, 999))),
    (large_columns, forms),
    (ruled_columns, forms.filter(lambda form: form.library not in DATABASES)),
]
IDS = (1, 2, 3, 40, "a", "007", 2.5, dt.date(2024, 1, 1), True, None, float("nan"))


@st.composite
def scenes(draw, *, users=False, forms=forms, most=8):
    """Draw a scene."""
    label = draw(labels())
    columns, forms = draw(st.sampled_from([(kinds, forms)] * 4 + THEMES))
    found = [draw(columns(f"c{number}")) for number in range(draw(st.integers(1, 3)))]
    cuts = None
    if label is not None:
        found.append(label[0])
        cuts = label[1]
    columns = tuple(one.column for one in found)
    schema = Schema(columns, label=None if label is None else "label", label_cuts=cuts)
    # In most columns all cells are of a kind, up to the one that is more.
    pure = [draw(st.sampled_from([True, True, False])) for _ in found]
    cells = [_cells(one, draw(st.booleans())) for one in found]
    own = [
        one.cells if is_pure else some
        for one, some, is_pure in zip(found, cells, pure, strict=True)
    ]
    rows = draw(st.lists(_row(own), max_size=most))
    more = draw(st.lists(_row(cells), min_size=1, max_size=4 if users else 1))
    names, habits = schema.names, {one.column.name: one.habits for one in found}
    if users:
        ids = draw(st.lists(st.sampled_from(IDS), min_size=len(rows), max_size=len(rows)))
        new = draw(st.sampled_from([9, "b", Decimal("0.5"), dt.datetime(2024, 5, 1, 2)]))
        rows = [(*row, one) for row, one in zip(rows, ids, strict=True)]
        more = [(*row, new) for row in more]
        names, habits = (*names, "person"), {**habits, "person": Habits(flags=False)}
    stored = draw(st.tuples(forms, forms, forms))
    return Scene(schema, habits, tuple(rows), tuple(more), stored, names)


def _row(cells):
    return st.tuples(*(st.sampled_from(one) for one in cells))


def _cells(kind, large):
    """Return cells to draw from: those of the kind as often as all others together."""
    others = [*AWKWARD, *[None] * (len(AWKWARD) // 3), *(LARGE if large else ())]
    if kind.habits.plain:
        others = [cell for cell in others if not isinstance(cell, float) or abs(cell) < 1e9]
    own = list(kind.cells)
    return own * (len(others) // len(own) + 1) + others


# What is measured.


def measured(data, schema, unit=None, engine="local"):
    """Return histograms of a table by name, each a `Counter` of its cells; and what it is."""
    reading = TableReading.from_schema(schema, None if unit is None else unit.column)
    with use_source(data, reading=reading) as opened, contextlib.ExitStack() as stack:
        source = opened if engine == "shards" else Remembered(opened)
        backend = _open_backend(source, unit, engine)
        stack.callback(backend.close)
        neighbours = (
            NeighboringRelation() if unit is None else NeighboringRelation(max_rows=unit.max_rows)
        )
        session = PrivateSession(backend, Account(), FakeNoise(strength=0), neighbours)
        found = dict(_histograms(session, schema))
        names = sorted({*schema.names, *(() if unit is None else [unit.column])})
        sums = backend.answer(queries.RowHashQuery(tuple(names), b"key")).value
    return found, [int(one) for one in sums]


class Remembered:
    """A source that is read once, with the batches that it has."""

    def __init__(self, source):
        self._source, self._batches = source, None
        self.names, self.nested, self.library = source.names, source.nested, source.library
        self.most_rows = source.most_rows

    def batches(self, names=None):
        """Yield some columns of the batches."""
        if self._batches is None:
            self._batches = list(self._source.batches())
        for batch in self._batches:
            table = batch.table if names is None else batch.table.select(list(names))
            yield dataclasses.replace(batch, table=table)


def _open_backend(source, unit, engine):
    resources = Resources.from_options(engine="stream" if engine == "stream" else "local", n_jobs=1)
    if engine != "shards":
        return LocalBackend(source, unit, resources)
    parts = partition_source(source, unit, 3)
    pool = LocalShardPool(build_shards(parts, unit, resources))
    return ShardedBackend(pool, 1 if unit is None else unit.scale)


def _histograms(session, schema):
    yield from _raw_columns(session, schema)
    encoder = Encoder(schema)
    session = dataclasses.replace(session, reading=EncodedReading(encoder, 1 / 3, "votes"))
    yield from _marginals(session, encoder)
    space = VotingSpace(encoder.space.can_miss, atoms=encoder.space.atoms)
    session = dataclasses.replace(session, voting_space=space)
    yield from _votes_for_candidates(session, encoder, space)


def _raw_columns(session, schema):
    moments = {c.name: c for c in schema.columns if isinstance(c, Temporal)}
    names, scale = list(schema.names), session.neighbours.scale
    counted = session.count_rows(_agree(session, histograms.ROW_COUNT, 1))
    yield "rows", Counter({0: int(counted.values[0][0])})
    bins = dict.fromkeys(names, EqualWidthBins(-2.0, 3.0, 16))
    listed = {c.name: c for c in schema.columns if isinstance(c, Categorical)}
    for name, query in {
        "kinds": queries.KindQuery(names),
        "magnitudes": queries.MagnitudeQuery(names, moments),
        "bins": queries.BinQuery(bins, moments),
        "listed": queries.DeclaredValueQuery(listed),
    }.items():
        if query.count:
            spend = _agree(session, name, query.count)
            for column, counts in session.count_raw_columns(spend, query).items():
                yield f"{name} of {column}", _counter(counts * scale)
    # Without a threshold: no noise is added here, so nothing may be left out.
    kinds = {n: (int, float) if _has_flags(schema[n]) else (str, int, float) for n in names}
    asked = {name: kind[place % len(kind)] for place, (name, kind) in enumerate(kinds.items())}
    for name, counts in session.backend.answer(queries.ValueQuery(asked)).value.items():
        yield f"values of {name}", Counter(counts)


def _has_flags(column):
    """Whether true and 1 are the same in a column, and may have either text."""
    return isinstance(column, (Boolean, Categorical))


def _marginals(session, encoder):
    axes = [build_axis(encoder, name) for name in encoder.names]
    asked = [Marginal((axis,)) for axis in axes]
    asked += [Marginal((build_class_axis(encoder), axes[0])), Marginal(tuple(axes[:2]))]
    found = session.count_marginals(_agree(session, MARGINALS, len(asked)), asked)
    for marginal, counts in zip(asked, found.values, strict=True):
        yield f"table of {'+'.join(marginal.names)}", _counter(counts)
    has_classes = encoder.class_count > 1
    bins = choose_bins(encoder, rows=1e6, sigma=1.0, by_class=has_classes, spikes=True)
    piles = [*bins.overall, *bins.by_class]
    found = session.count_marginals(_agree(session, "piles", len(piles)), piles)
    for place, (marginal, counts) in enumerate(zip(piles, found.values, strict=True)):
        yield f"pile {place} of {'+'.join(marginal.names)}", _counter(counts)


def _votes_for_candidates(session, encoder, space):
    spend = _agree(session, histograms.CLASS_COUNTS, 1)
    yield "classes", _counter(session.count_classes(spend, encoder.class_count).values[0])
    rng = np.random.default_rng(0)
    candidates = [space.transform_rows(draw_uniform_records(one, 5, rng)) for one in encoder.spaces]
    spend = _agree(session, histograms.VOTES, 4)
    for each in (1, 3):
        votes = session.count_votes(spend, candidates, votes_per_row=each)
        yield f"{each} votes", _counter(np.concatenate(votes.values))


def _agree(session, name, times):
    return session.account.authorize(Spend(name, sigma=1.0, times=times))


def _counter(counts):
    return Counter({int(place): int(counts[place]) for place in np.flatnonzero(counts)})


def moved(larger, smaller):
    """Return by how much each cell of one histogram exceeds that of the other."""
    by = {cell: larger[cell] - smaller[cell] for cell in {*larger, *smaller}}
    return {cell: one for cell, one in by.items() if one}


def stored(scene, rows, form, folder):
    """Return rows in a form, and in which order they stand there."""
    order = shuffled(len(rows), form)
    columns = [[rows[place][number] for place in order] for number in range(len(scene.names))]
    table = dict(zip(scene.names, columns, strict=True))
    return store(table, form, folder, scene.habits), order


# What must hold.


def assert_rows(scene, folder, engine="local"):
    """One row more moves every histogram by what that row is alone: one cell by one."""
    smaller, larger, alone = (
        measured(stored(scene, rows, form, folder)[0], scene.schema, engine=engine)
        for rows, form in zip(_tables(scene), scene.forms, strict=True)
    )
    assert_adds_up(smaller, larger, alone)
    for name, counts in alone[0].items():
        total, most = sum(counts.values()), max(counts.values(), default=0)
        assert total <= _votes(name), name
        assert most <= 1, name
        if name.startswith(("rows", "kinds", "table", "classes", "1 votes")):
            assert total == 1, name


def assert_users(scene, folder, engine="local", most=2):
    """One user more moves every histogram by a vector of bounded length, and no row of others."""
    unit = PrivacyUnit("person", most, 3, 2**14, tuple(scene.names))
    tables = [stored(scene, r, f, folder) for r, f in zip(_tables(scene), scene.forms, strict=True)]
    smaller, larger, alone = (
        measured(data, scene.schema, unit, engine=engine) for data, _ in tables
    )
    assert_adds_up(smaller, larger, alone)
    for name, counts in alone[0].items():
        squares = sum(count**2 for count in counts.values())
        assert squares <= _votes(name) * unit.scale**2, name
        assert min(counts.values(), default=0) >= 0, name
    (kept, where), (kept_of_all, where_of_all), _ = (
        lots(scene, data, order, unit) for data, order in tables
    )
    old = len(scene.rows)
    assert _contents(scene, kept) == _contents(scene, [r for r in kept_of_all if r < old])
    assert where == {row: shard for row, shard in where_of_all.items() if row < old}


def lots(scene, data, order, unit):
    """Return which rows count, and the shard of each, by their places before they were stored."""
    with use_source(data, reading=TableReading.from_schema(scene.schema, unit.column)) as source:
        kept = LocalBackend(source, unit, Resources.from_options()).users.kept
        shards = [
            int(shard)
            for batch in source.batches([unit.column])
            for shard in assign_shards(batch.table, unit, 7)
        ]
    places = [order[place] for place in np.flatnonzero(kept)]
    return places, dict(zip(order, shards, strict=True))


def _contents(scene, places):
    """Return rows as a multiset: of equal ones any may count."""
    habits = [scene.habits[name] for name in scene.names]
    return Counter(
        repr([_key(cell, one) for cell, one in zip(scene.with_more[place], habits, strict=True)])
        for place in places
    )


def _key(cell, habits):
    """Return what a cell is, whether it is an object or its text: true is 1."""
    if cell in habits.nulls or is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
        return None
    if isinstance(cell, str) and cell.strip().lower() in ("true", "false"):
        cell = cell.strip().lower() == "true"
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, str):
        with contextlib.suppress(ValueError):
            return number_of(float(cell))
    number = number_of(cell)
    return cell if number is None else number


def _tables(scene):
    return scene.rows, scene.with_more, scene.more


def _votes(name):
    return 3 if name == "3 votes" else 1


def assert_adds_up(smaller, larger, alone):
    (few, few_sums), (many, many_sums), (own, own_sums) = smaller, larger, alone
    assert few.keys() == many.keys() == own.keys()
    for name in many:
        assert moved(many[name], few[name]) == moved(own[name], Counter()), name
    assert many_sums == [(one + two) % 2**64 for one, two in zip(few_sums, own_sums, strict=True)]


def assert_same(scene, folder):
    """The same cells have the same fingerprint and the same draft, however they are stored."""
    plain = {
        name: dataclasses.replace(one, flags=False, pattern=None, commas=False)
        for name, one in scene.habits.items()
    }
    scene = dataclasses.replace(scene, habits=plain)
    found = [_identity(stored(scene, scene.rows, f, folder)[0], scene) for f in scene.forms[:2]]
    assert found[0] == found[1]


def _identity(data, scene):
    with use_source(data, reading=TableReading(names=scene.names)) as source:
        backend = LocalBackend(source, None, Resources.from_options())
        print_ = compute_fingerprint(
            scene.names, backend.sum_row_hashes(scene.names, b"key"), b"key"
        )
    drafts = []
    for name in scene.names if scene.rows else ():  # JSON lines without rows name no columns
        try:
            others = [other for other in scene.names if other != name]
            drafts.append(draft_schema(data, drop=others).to_dict())
        except TabpeError as error:
            drafts.append(type(error).__name__)
    return print_, drafts


# Releases.

QUICK = Evolution(rounds=2, sampling_rounds=1)
SETTINGS = {
    "epsilon": 50.0,
    "delta": 1e-6,
    "n_samples": 30,
    "preset": QUICK,
    "random_state": 0,
    "n_jobs": 1,
    "verbose": 0,
}


@dataclass(frozen=True)
class Outcome:
    """What a run gives away beside the noise: whether there is a release, its types, warnings."""

    refusal: str | None
    told: tuple
    types: tuple = ()
    model: str = ""
    arrays: dict = dataclasses.field(default_factory=dict)
    rows: bytes = b""


def outcome(data, declared, folder, **changes):
    """Return what comes out of a run under fake noise."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = TabPE(**(SETTINGS | {"noise": FakeNoise(1)} | changes)).fit(data, declared)
            frame = model.sample()
        except TabpeError as error:
            return Outcome(type(error).__name__, _told(caught))
    saved = _saved(model, folder)
    return Outcome(None, _told(caught), _types(frame), *saved, csv_bytes(model))


def _told(caught):
    return tuple((one.category.__name__, str(one.message)) for one in caught)


def _without_figures(told):
    return [(kind, re.sub(r"[0-9][0-9,.]*", "#", message)) for kind, message in told]


def _types(frame):
    """Return the library of a frame, and the types of its columns."""
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        return (kind, *zip(frame.columns, map(repr, frame.dtypes), strict=True))
    if kind == "polars":
        return (kind, *((name, str(one)) for name, one in frame.schema.items()))
    return (kind, *((field.name, str(field.type)) for field in frame.schema))


def _saved(model, folder):
    """Return what a saved model holds beside the time, and rows as noise has made them."""
    path = folder / "model.tabpe"
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        text = json.loads(archive.read("model.json"))
        with np.load(io.BytesIO(archive.read("rows.npz"))) as arrays:
            kinds = {name: (str(one.dtype), one.ndim) for name, one in arrays.items()}
    text["certificate"].pop("created")
    text.pop("library")  # which `_types` has
    return json.dumps(text, sort_keys=True), kinds


def csv_bytes(model):
    """Return the bytes of the CSV file that the rows of a model are written to."""
    file = io.BytesIO()
    table = dataclasses.replace(model.release_, library="pyarrow").sample(None)
    make_table_writer(table, Path("made.csv"))(file)
    return file.getvalue()


def assert_release(scene, folder, **changes):
    """The same cells give the same release; one row more or less changes no type and no warning."""
    first, second, larger = (
        outcome(stored(scene, rows, form, folder)[0], scene.schema, folder, **changes)
        for rows, form in zip((scene.rows, scene.rows, scene.with_more), scene.forms, strict=True)
    )
    assert first.refusal == second.refusal == larger.refusal
    assert first.told == second.told
    assert _without_figures(first.told) == _without_figures(larger.told)  # which noise decides
    assert first.refusal is None  # no cell stops a release
    assert first.rows == second.rows
    kinds = [OUTPUT[form.library] for form in scene.forms]
    assert [one.types[0] for one in (first, second, larger)] == kinds
    for one, other in itertools.combinations((first, second, larger), 2):
        if one.types[0] == other.types[0]:
            assert one.types == other.types
    assert first.model == second.model
    assert first.arrays == second.arrays == larger.arrays


# Users; and with `schema="private"`: enough rows of one kind, so that nothing hangs on one row.

USERS = {"unit": "person", "max_rows_per_user": 2, "epsilon": 8.0}
ESTIMATED = {
    "schema": "private",
    "estimate_columns": "all",
    "schema_budget": 0.5,
    "label": "label",
    "epsilon": 20.0,
}
MANY = 60
COMMON = (
    (1, 2, 3, 40),
    (0.5, 2.25, 9.75),
    ("a", "b", "\u00e9"),
    (True, False),
    (dt.date(2024, 1, 1), dt.date(2024, 5, 31)),
    (dt.datetime(2024, 1, 1, 8, 30), dt.datetime(2024, 5, 31, 23)),
    (dt.time(8), dt.time(12, 30)),
)


@st.composite
def estimated_scenes(draw):
    """Draw a table with many rows of plain cells, some others, and one row more."""
    families = [draw(st.sampled_from(COMMON)) for _ in range(draw(st.integers(1, 2)))]
    families.append(COMMON[3])
    plain = [tuple(one[row % len(one)] for one in families) for row in range(MANY)]
    row = st.tuples(*(st.sampled_from([*one, *AWKWARD]) for one in families[:-1]), st.booleans())
    rows = (*plain, *draw(st.lists(row, max_size=3)))
    names = (*(f"c{place}" for place in range(len(families) - 1)), "label")
    # All columns of JSON lines can not be estimated: rows name them.
    some = forms.filter(lambda form: form.library != "json lines")
    stored_as = draw(st.tuples(some, some, some))
    return Scene(None, {}, rows, (draw(row),), stored_as, names)

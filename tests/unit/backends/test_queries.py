"""Every kind of query has one answer, whichever backend is asked, and may be sent to workers."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import ASKED, DAYS, ENCODER, SCHEMA, SIGHT, UNIT, plain, population, table
from shard_pools import cut_at_random, frames, sharded_backend
from tabpe._utils.resources import Resources
from tabpe.backends import EncodedReading, LocalBackend, Query, queries
from tabpe.backends.queries import (
    BinQuery,
    ClassCountQuery,
    ColumnQuery,
    DeclaredValueQuery,
    HalfspaceQuery,
    KindQuery,
    MagnitudeQuery,
    MarginalQuery,
    RawRowCountQuery,
    RowCountQuery,
    RowHashQuery,
    ValueQuery,
    VoteQuery,
)
from tabpe.encoding import RankTransform, Records, VotingSpace
from tabpe.encoding.halfspaces import Halfspaces
from tabpe.encoding.marginals import build_axis
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.errors import TabpeError

KEEPS = ("none", "votes", "marginals")
SPACES = {"as encoded": None, "in a voting space": SIGHT}
NO_NULLS = VotingSpace(np.array([False, False]))


def candidates(seed, space):
    """Candidates of both classes, in a space."""
    rng = np.random.default_rng(seed)
    sight = NO_NULLS if space is None else space
    return [
        sight.transform_rows(
            Records(rng.random((size, 2)), rng.integers(0, 2, (size, 1)).astype(np.uint8))
        )
        for size in (4, 7)
    ]


def halfspaces(axis):
    return Halfspaces.draw_halfspaces(axis, 20, 2, np.random.default_rng(1))


RAW = {
    RowHashQuery: lambda: [RowHashQuery(("age", "ward", "bmi", "ill", "day"), b"key")],
    RawRowCountQuery: lambda: [RawRowCountQuery()],
    KindQuery: lambda: [KindQuery(["age", "bmi", "ward", "ill", "day"])],
    MagnitudeQuery: lambda: [
        MagnitudeQuery(["age", "bmi", "ward"]),
        MagnitudeQuery(["day", "age"], DAYS),
    ],
    BinQuery: lambda: [
        BinQuery({"age": EqualWidthBins(0.0, 2.0, 5), "bmi": ClampedBins((0.2, 0.5, 0.9))}),
        BinQuery({"day": EqualWidthBins(0.0, 10_000.0, 3)}, DAYS),
    ],
    DeclaredValueQuery: lambda: [DeclaredValueQuery({"ward": SCHEMA["ward"]})],
    ValueQuery: lambda: [ValueQuery({"age": int, "ward": str, "bmi": float, "day": str})],
}
ENCODED = {
    RowCountQuery: lambda reading, space, _: [RowCountQuery(reading, voting_space=space)],
    ClassCountQuery: lambda reading, space, _: [ClassCountQuery(reading, voting_space=space)],
    MarginalQuery: lambda reading, space, _: [MarginalQuery(reading, ASKED, voting_space=space)],
    HalfspaceQuery: lambda reading, space, _: [
        HalfspaceQuery(reading, halfspaces(axis), voting_space=space)
        for axis in (None, build_axis(ENCODER, "ward"), build_axis(ENCODER, "ill"))
    ],
    VoteQuery: lambda reading, space, seed: [
        VoteQuery(reading, candidates(seed, space), votes, voting_space=space) for votes in (1, 3)
    ],
}


def concrete(kind):
    """All kinds of queries of the package that can be asked."""
    for child in kind.__subclasses__():
        yield from concrete(child)
        if not inspect.isabstract(child) and child.__module__ == queries.__name__:
            yield child


KINDS = sorted(set(concrete(Query)), key=lambda kind: kind.__name__)


def examples(kind, keep, space, seed):
    """Queries of a kind."""
    if kind in RAW:
        return RAW[kind]()
    return ENCODED[kind](EncodedReading(ENCODER, 1 / 3, keep), space, seed)


def test_each_kind_of_query_is_tried():
    assert set(KINDS) == {*RAW, *ENCODED}


def sent(query):
    """A query as it arrives at a worker."""
    return pickle.loads(pickle.dumps(query))


def outcome(backend, query):
    """The answer in plain values, or what is said instead."""
    try:
        return plain(backend.answer(query).value)
    except TabpeError as error:
        return type(error).__name__, str(error)


RESOURCES = {
    "memory": Resources.from_options(engine="local", n_jobs=1),
    "spill": Resources.from_options(engine="stream", n_jobs=1),
    "without spill": Resources.from_options(engine="stream", spill=False, n_jobs=1),
}


def opened(rows, unit, shards, seed):
    """The same table in every kind of backend, with its rows in another order in each."""
    (source,) = frames(rows)
    for number, resources in enumerate(RESOURCES.values()):
        (shuffled,) = cut_at_random(source, unit, 1, seed + number)
        yield LocalBackend(shuffled, unit, resources)
        yield sharded_backend(cut_at_random(source, unit, shards, seed + number), unit, resources)


@pytest.mark.parametrize("unit", [None, UNIT], ids=["rows", "users"])
@pytest.mark.parametrize("kind", KINDS)
@given(
    keep=st.sampled_from(KEEPS),
    space=st.sampled_from([*SPACES]),
    size=st.integers(1, 30),
    shards=st.integers(2, 6),
    seed=st.integers(0, 999),
)
@settings(deadline=None, max_examples=12)
def test_every_backend_gives_the_same_answer(kind, unit, keep, space, size, shards, seed):
    rows = table(size, seed)
    asked = examples(kind, keep, SPACES[space], seed)
    alone = LocalBackend(frames(rows)[0], unit, RESOURCES["memory"])
    expected = [outcome(alone, query) for query in asked]
    alone.close()
    for backend in opened(rows, unit, shards, seed):
        assert [outcome(backend, query) for query in asked] == expected
        assert [outcome(backend, sent(query)) for query in asked] == expected
        backend.close()


REFUSED = {
    "rows": {
        ("HalfspaceQuery", "none"): {*SPACES},
        ("HalfspaceQuery", "votes"): {*SPACES},
        ("VoteQuery", "marginals"): {*SPACES},
        ("ClassCountQuery", "marginals"): {"in a voting space"},
        ("RowCountQuery", "marginals"): {"in a voting space"},
    },
    "users": {("HalfspaceQuery", keep): {*SPACES} for keep in KEEPS},
}


@pytest.mark.parametrize("whose", ["rows", "users"])
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_counted_is_refused_and_all_else_is_answered(kind, space, keep, whose):
    """Halfspaces are counted in cached rows, votes in rows that are kept for them or read."""
    backend = LocalBackend(
        frames(table(20, 0))[0], UNIT if whose == "users" else None, RESOURCES["memory"]
    )
    for query in examples(kind, keep, SPACES[space], 0):
        if space in REFUSED[whose].get((kind.__name__, keep), ()):
            with pytest.raises(TabpeError, match=r"^(halfspaces|votes): "):
                backend.answer(query)
        else:
            backend.answer(query)


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_is_a_frozen_value_that_shows_no_key(kind):
    for query in examples(kind, "votes", SIGHT, 0):
        for field in dataclasses.fields(query):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(query, field.name, None)
        assert "key" not in repr(query)


def test_a_query_about_columns_says_how_many_histograms_it_asks_for():
    for kind in KINDS:
        if issubclass(kind, ColumnQuery):
            for query in RAW[kind]():
                assert query.count == len(query.columns)


def test_votes_are_those_of_the_rows_one_after_the_other():
    """So that equal answers are not equally wrong: each kind against plain Python."""
    rows = table(25, 3)
    backend = LocalBackend(frames(rows)[0], None, RESOURCES["memory"])
    records, labels = ENCODER.encode(rows)
    seen, few = SIGHT.transform_rows(records), population(3)
    expected = [[0] * len(part) for part in few]
    for place, label in enumerate(labels):
        part = few[label]
        gaps = np.nan_to_num(part.numbers.astype(np.float32)) - np.nan_to_num(seen.numbers[place])
        far = (part.codes != seen.codes[place]).sum(axis=1) / 3
        nullness = np.isnan(part.numbers) | np.isnan(seen.numbers[place])
        far = far + np.where(nullness, 0, gaps**2).sum(axis=1)
        expected[label][int(np.argmin(far))] += 1
    reading = EncodedReading(ENCODER, 1 / 3, "votes")
    found = backend.answer(VoteQuery(reading, few, voting_space=SIGHT)).value
    assert [counts.tolist() for counts in found] == expected
    by_class = backend.answer(ClassCountQuery(reading, voting_space=SIGHT)).value
    assert by_class.tolist() == np.bincount(labels, minlength=2).tolist()
    (pairs, total) = backend.answer(MarginalQuery(reading, ASKED)).value
    cells = [(row["ward"], row["ill"]) for row in rows.to_pylist()]
    assert pairs.tolist() == [
        cells.count((ward, ill)) for ward in ("eye", "lung") for ill in (False, True)
    ]
    assert total.tolist() == [25]


SQUARED = RankTransform(*((np.array([0.0, middle, 1.0]),) * 2 for middle in (0.5, 0.25)))
OTHERS = {
    "without one first": (None, SIGHT),
    "with one first": (SIGHT, None),
    "nulls apart": (SIGHT, VotingSpace(np.array([True, True]))),
    "other ranks": (SIGHT, VotingSpace(SIGHT.can_miss, SQUARED)),
}


@pytest.mark.parametrize(
    ("kind", "spaces"),
    [
        (kind, spaces)
        for kind in (VoteQuery, ClassCountQuery)
        for spaces in OTHERS.values()
        if kind is VoteQuery or spaces[1] is not None  # counts without one are of rows as encoded
    ],
)
@pytest.mark.parametrize("unit", [None, UNIT], ids=["rows", "users"])
def test_a_reading_that_is_kept_has_one_voting_space(unit, kind, spaces):
    """Rows are kept in the space that they were first asked in: votes in another would be wrong."""
    first, second = spaces
    for backend in opened(table(30, 2), unit, 3, 1):
        reading = EncodedReading(ENCODER, 1 / 3, "votes")
        backend.answer(VoteQuery(reading, candidates(1, first), voting_space=first))
        backend.answer(sent(VoteQuery(reading, candidates(2, first), voting_space=sent(first))))
        (query, *_) = ENCODED[kind](reading, second, 1)
        with pytest.raises(TabpeError, match="voting_space"):
            backend.answer(query)
        afresh = dataclasses.replace(query, reading=EncodedReading(ENCODER, 1 / 3, "votes"))
        backend.answer(afresh)
        backend.close()


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_counts_of_encoded_rows_may_come_before_and_after_votes(space):
    for backend in opened(table(30, 2), None, 3, 1):
        reading = EncodedReading(ENCODER, 1 / 3, "votes")
        before = backend.answer(ClassCountQuery(reading)).value
        backend.answer(VoteQuery(reading, candidates(1, space), voting_space=space))
        assert backend.answer(ClassCountQuery(reading)).value.tolist() == before.tolist()
        backend.close()

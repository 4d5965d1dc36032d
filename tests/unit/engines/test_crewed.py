"""A crew says what one process says, to every question, for rows and for users, cut at random."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crews import cut_at_random, frames, near_keeper
from tabpe import Boolean, Categorical, Date, Float, Integer, Schema
from tabpe.domain.bounds import Bins
from tabpe.encode import Encoder, Records, Sight
from tabpe.encode.axes import Marginal, axis_of
from tabpe.engines import LoneKeeper, Unit
from tabpe.errors import DataError, TabpeError
from tabpe.resources import Resources

SCHEMA = Schema(
    (
        Integer("age", 0, 9),
        Float("bmi", 0.0, 1.0, nullable=True),
        Categorical("ward", ("eye", "lung")),
        Boolean("ill"),
    ),
    label="ill",
)
ENCODER = Encoder(SCHEMA)
UNIT = Unit("person", most=2, seed=3, scale=1000, names=(*SCHEMA.names, "day", "person"))
ASKED = [Marginal((axis_of(ENCODER, "ward"), axis_of(ENCODER, "ill"))), Marginal(())]
DAYS = {"day": Date("day", "2000-01-01", "2000-01-01")}
SIGHT = Sight(np.array([False, True]))


def table(size, seed):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(0, 10, size),
            "bmi": pa.array(rng.random(size).round(1), mask=rng.random(size) < 0.2),
            "ward": rng.choice(["eye", "lung"], size).tolist(),
            "ill": rng.random(size) < 0.4,
            "day": rng.choice(["2020-02-03", "1999-01-01", "x"], size).tolist(),
            "person": rng.integers(0, max(size // 3, 1), size),
        }
    )


def population(seed):
    rng = np.random.default_rng(seed)
    return [
        SIGHT.of(Records(rng.random((size, 2)), rng.integers(0, 2, (size, 1)).astype(np.uint8)))
        for size in (5, 8)
    ]


def answers(keeper, seed):
    """Whatever can be asked, in the order of a run."""
    survey = keeper.survey(DAYS)
    yield keeper.contents(["age", "ward", "bmi"], b"key").tolist()
    yield survey.row_count()
    yield survey.kinds(["age", "ward", "day"])
    yield survey.magnitudes(["age", "bmi", "day"])
    yield survey.bins({"age": Bins(0.0, 10.0, 5)})
    yield survey.listed({"ward": SCHEMA["ward"]})
    values = survey.values({"age": int, "ward": str, "bmi": float})
    yield {name: list(counts.items()) for name, counts in values.items()}
    apart = keeper.tables(Encoder(Schema((SCHEMA["ill"],), label="ill")))
    yield apart.class_counts()
    held = keeper.hold(ENCODER, 1 / 3)
    tables = held.tables()
    yield tables.row_count()
    yield tables.class_counts()
    yield tables.counts(ASKED)
    held.prepare(SIGHT)
    yield held.row_count()
    yield held.class_counts()
    yield held.votes(population(seed))
    yield held.votes(population(seed + 1), 3)
    yield held.tables().counts(ASKED)
    held.close()
    keeper.close()


def plain(answer):
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    if isinstance(answer, dict):
        return {name: plain(one) for name, one in answer.items()}
    return [plain(one) for one in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("engine", ["auto", "stream"])
@pytest.mark.parametrize("unit", [None, UNIT], ids=["rows", "users"])
@given(size=st.integers(1, 40), shards=st.integers(1, 6), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=25)
def test_every_question_has_the_answer_of_one_process(engine, unit, size, shards, seed):
    (source,) = frames(table(size, seed))
    resources = Resources.of(engine=engine, n_jobs=1)
    alone = LoneKeeper(source, unit, resources)
    crew = near_keeper(cut_at_random(source, unit, shards, seed), unit, resources)
    assert alone.survey().scale == crew.survey().scale == crew.tables(ENCODER).scale
    for expected, found in zip(answers(alone, seed), answers(crew, seed), strict=True):
        assert plain(found) == plain(expected)


def test_votes_before_rows_were_taken_in_are_refused():
    held = near_keeper(frames(table(9, 0))).hold(ENCODER, 1 / 3)
    with pytest.raises(TabpeError, match="not taken in"):
        held.votes(population(0))


def test_no_rows_at_all_are_refused():
    nothing = table(3, 0).slice(3)
    with pytest.raises(DataError, match="the table has no rows"):
        near_keeper(frames(nothing, nothing)).hold(ENCODER, 1 / 3).prepare(SIGHT)


def test_rows_are_read_once_for_tables_and_votes():
    (source,) = frames(table(20, 0))
    reads, batches = [], type(source).batches

    class Watched(type(source)):
        def batches(self, names=None):
            reads.append(names)
            return batches(self, names)

    keeper = near_keeper([Watched(source.table, source.form)])
    held = keeper.hold(ENCODER, 1 / 3)
    held.tables().counts(ASKED)
    held.tables().class_counts()
    held.prepare(SIGHT)
    held.votes(population(0))
    assert len(reads) == 1

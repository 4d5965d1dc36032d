"""Shards: together they answer as one process, and a user is in one of them; how they fail."""

import dataclasses
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import ASKED, ENCODER, SIGHT, answers, plain, population, queries, table
from asking import UNIT as PEOPLE
from shard_pools import cut_at_random, frames, sharded_backend
from tabpe import Boolean, Integer, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import Answer, EncodedReading, LocalBackend, PrivacyUnit, Query
from tabpe.backends.base import EncodedQuery, sum_answers
from tabpe.backends.cluster import (
    Shard,
    ShardDigests,
    ShardFailure,
    ShardIndex,
    answer_from_segments,
    assign_shards,
    encode_segments,
    partition_source,
    prepare_segments,
    redact_error,
)
from tabpe.backends.queries import (
    ClassCountQuery,
    MarginalQuery,
    RawRowCountQuery,
    RowCountQuery,
    RowHashQuery,
    ValueQuery,
    VoteQuery,
)
from tabpe.encoding import Encoder
from tabpe.errors import CellError, DataError, TabpeError
from tabpe.io import open_source

UNIT = PrivacyUnit("person", max_rows=2, seed=0, scale=100, names=("age", "person"))
AGES = Encoder(Schema((Integer("age", 0, 99),)))
STRICT_AGES = Encoder(AGES.schema, strict=True)
SECRET = "31 years and two months"


def kept(encoder):
    """Rows that are encoded and kept for votes."""
    return EncodedReading(encoder, 1 / 3, "votes")


def count_rows(backend):
    return backend.answer(RawRowCountQuery()).value.tolist()


def shard(table, unit=None, place=ShardIndex(0, 1)):  # noqa: B008
    return Shard(place, frames(table)[0], unit, Resources.from_options(n_jobs=1))


@dataclasses.dataclass(frozen=True, eq=False)
class FailingQuery(Query):
    """A query that fails as it is told to."""

    error: Exception

    def evaluate(self, rows):
        """Fail."""
        raise self.error


@pytest.mark.parametrize("error", [ValueError(SECRET), pa.ArrowInvalid(SECRET), KeyError(SECRET)])
def test_a_failure_tells_its_kind_and_nothing_of_its_words(error):
    failed = shard(pa.table({"age": [1]})).try_answer(FailingQuery(error))
    assert isinstance(failed, ShardFailure)
    assert str(failed.error).startswith(f"a worker failed: {type(error).__name__} in backends/")
    assert failed.error.__cause__ is failed.error.__context__ is failed.error.__traceback__ is None
    assert SECRET.encode() not in pickle.dumps(failed)


def test_a_failure_tells_where_it_was():
    failed = shard(pa.table({"age": [1]})).try_answer(ValueQuery(31))
    assert str(failed.error).startswith("a worker failed: ")
    assert " in backends/raw_columns.py:" in str(failed.error)


def test_memory_that_does_not_suffice_is_said_without_sizes():
    error = redact_error(MemoryError("Unable to allocate 8 bytes for 31 rows"))
    assert "ran out of memory" in str(error)
    assert "31" not in str(error)


def test_our_own_errors_arrive_as_they_are_with_file_and_row(tmp_path):
    (tmp_path / "t.csv").write_text("age\n1\nx\n")
    part = open_source(tmp_path / "t.csv")
    failed = Shard(ShardIndex(0, 1), part, None, Resources.from_options()).try_answer(
        RowCountQuery(kept(STRICT_AGES))
    )
    arrived = pickle.loads(pickle.dumps(failed)).error
    assert type(arrived) is CellError
    assert str(arrived) == str(failed.error)
    assert "t.csv: column 'age'" in str(arrived)
    assert "row 2" in str(arrived)


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_rows_of_some_users_are_found_again_in_the_file(tmp_path, shards):
    """Whatever shard the row is in, the error is that of one process."""
    people = [f"p{place % 7}" for place in range(40)]
    ages = ["1"] * 33 + ["x"] + ["1"] * 6
    pa.csv.write_csv(pa.table({"age": ages, "person": people}), tmp_path / "t.csv")
    source = open_source(tmp_path / "t.csv")
    backend = sharded_backend(partition_source(source, UNIT, shards), UNIT)
    reading = EncodedReading(STRICT_AGES)
    assert backend.answer(RowCountQuery(reading)).value.tolist() == [7 * UNIT.scale]
    with pytest.raises(CellError, match=r"t\.csv: column 'age'.*row 34"):
        backend.answer(ClassCountQuery(reading))


def test_a_row_without_an_id_counts_for_nobody_or_is_found_again_in_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("age,person\n1,a\n2,b\n3,\n")
    backend = sharded_backend(partition_source(open_source(tmp_path / "t.csv"), UNIT, 3), UNIT)
    assert count_rows(backend) == [2 * UNIT.scale]
    strict = dataclasses.replace(UNIT, strict=True)
    backend = sharded_backend(partition_source(open_source(tmp_path / "t.csv"), strict, 3), strict)
    with pytest.raises(CellError, match=r"t\.csv: column 'person' has no value in row 3"):
        count_rows(backend)


IDS = {
    "text": st.sampled_from("abcdefg"),
    "whole": st.integers(-3, 3),
    "numbers": st.sampled_from([0.0, -0.0, 1.5, -2.0]),
}


@pytest.mark.parametrize("kind", IDS)
@given(data=st.data(), shards=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None)
def test_all_rows_of_a_user_are_in_one_shard_and_each_row_in_one(kind, data, shards, seed):
    ids = data.draw(st.lists(IDS[kind], min_size=1, max_size=30))
    table = pa.table({"person": ids, "age": list(range(len(ids)))})
    unit = dataclasses.replace(UNIT, seed=seed)
    parts = [
        [row for batch in part.batches(["age", "person"]) for row in batch.table.to_pylist()]
        for part in partition_source(frames(table)[0], unit, shards)
    ]
    assert sorted(row["age"] for part in parts for row in part) == list(range(len(ids)))
    for user in set(ids):
        assert sum(any(row["person"] == user for row in part) for part in parts) == 1


def test_a_user_in_two_shards_is_refused():
    """It would add a vector of full length in each of them."""
    table = pa.table({"person": ["a", "b", "a", "c"] * 3, "age": list(range(12))})
    halves = frames(table.slice(0, 6), table.slice(6))
    with pytest.raises(TabpeError, match="rows of a user are not all in the same"):
        count_rows(sharded_backend(halves, UNIT))


def test_users_are_counted_once_over_all_shards():
    table = pa.table({"person": [f"p{place % 11}" for place in range(50)], "age": [1] * 50})
    where = assign_shards(table, UNIT, 3)
    parts = frames(*(table.filter(pa.array(where == number)) for number in range(3)))
    assert count_rows(sharded_backend(parts, UNIT)) == [11 * UNIT.scale]


def test_the_error_is_that_of_the_first_shard_that_failed():
    parts = frames(
        pa.table({"age": ["1"]}), pa.table({"age": ["x"]}), pa.table({"age": ["1", "y"]})
    )
    with pytest.raises(CellError, match="row 1"):
        sharded_backend(parts).answer(RowCountQuery(EncodedReading(STRICT_AGES)))


def test_a_table_that_changes_between_queries_is_refused():
    class Growing:
        """One row more each time it is read."""

        def __init__(self):
            self.rows = 3
            self.first = frames(pa.table({"age": [1], "ill": [True]}))[0]
            self.library, self.names, self.most_rows = "pyarrow", self.first.names, None
            self.nested = frozenset()

        def batches(self, names=None):
            self.rows += 1
            table = pa.table({"age": [1] * self.rows, "ill": [True] * self.rows})
            return frames(table)[0].batches(names)

    encoder = Encoder(Schema((Integer("age", 0, 9), Boolean("ill")), label="ill"))
    backend, query = sharded_backend([Growing(), Growing()]), ClassCountQuery(kept(encoder))
    backend.answer(query)
    with pytest.raises(DataError, match="the table changed"):
        backend.answer(query)


def test_a_shard_made_anew_from_other_rows_is_refused():
    """As after the loss of a worker whose file was written over meanwhile."""
    one, two = (pa.table({"age": [1] * size}) for size in (3, 4))
    backend, query = sharded_backend(frames(one, one)), RowCountQuery(kept(AGES))
    backend.answer(query)
    backend._pool._shards[1] = shard(one, place=ShardIndex(1, 2))
    assert backend.answer(query).value.tolist() == [6]
    backend._pool._shards[1] = shard(two, place=ShardIndex(1, 2))
    with pytest.raises(DataError, match="the table changed"):
        backend.answer(query)


def test_fingerprints_add_up():
    table = pa.table({"age": np.arange(20), "ward": ["eye", None] * 10})

    def hashed(*parts):
        query = RowHashQuery(("age", "ward"), b"key")
        return sharded_backend(frames(*parts)).answer(query).value.tolist()

    whole = hashed(table)
    assert hashed(table.slice(7, 13), table.slice(0, 7)) == whole
    assert hashed(table.slice(0, 19)) != whole


KEPT = RowCountQuery(kept(ENCODER))


def answer(number, *counts, digest=b""):
    return Answer(np.array(counts), {number: digest})


@pytest.mark.parametrize("shards", [[0, 1], [0, 1, 2, 3], [0, 1, 3]])
def test_an_answer_in_which_not_every_shard_is_counted_is_refused(shards):
    found = sum_answers(answer(shard, 1) for shard in shards)
    with pytest.raises(TabpeError, match="not each of them was counted once"):
        ShardDigests(3).check_answer(RawRowCountQuery(), found)


def test_a_shard_that_has_other_rows_than_before_is_refused():
    digests = ShardDigests(2)
    digests.check_answer(KEPT, answer(0, 5, digest=b"5") + answer(1, 7, digest=b"7"))
    digests.check_answer(RawRowCountQuery(), answer(0, 5) + answer(1, 7))
    digests.check_answer(KEPT, answer(1, 7, digest=b"7") + answer(0, 5, digest=b"5"))
    with pytest.raises(DataError, match="the table changed") as caught:
        digests.check_answer(KEPT, answer(0, 5, digest=b"5") + answer(1, 8, digest=b"8"))
    assert not any(digit in str(caught.value) for digit in "578")


@pytest.mark.parametrize("engine", ["auto", "stream"])
@pytest.mark.parametrize("unit", [None, PEOPLE], ids=["rows", "users"])
@given(size=st.integers(1, 40), shards=st.integers(1, 6), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=25)
def test_every_query_has_the_answer_of_one_process(engine, unit, size, shards, seed):
    (source,) = frames(table(size, seed))
    resources = Resources.from_options(engine=engine, n_jobs=1)
    alone = LocalBackend(source, unit, resources)
    sharded = sharded_backend(cut_at_random(source, unit, shards, seed), unit, resources)
    assert alone.scale == sharded.scale
    for expected, found in zip(answers(alone, seed), answers(sharded, seed), strict=True):
        assert plain(found) == plain(expected)


def test_votes_of_rows_nobody_said_how_to_encode_are_refused():
    backend = sharded_backend(frames(table(9, 0)))
    with pytest.raises(TabpeError, match="how the rows of a table are encoded"):
        backend.answer(VoteQuery(None, population(0)))


def test_no_rows_at_all_are_none_of_every_class():
    nothing = table(3, 0).slice(3)
    backend, reading = sharded_backend(frames(nothing, nothing)), kept(ENCODER)
    assert not backend.answer(ClassCountQuery(reading, voting_space=SIGHT)).value.any()
    votes = backend.answer(VoteQuery(reading, population(0), voting_space=SIGHT)).value
    assert not any(counts.any() for counts in votes)


def test_rows_are_read_once_for_marginals_and_votes():
    (source,) = frames(table(20, 0))
    reads, batches = [], type(source).batches

    class Watched(type(source)):
        def batches(self, names=None):
            reads.append(names)
            return batches(self, names)

    backend, reading = sharded_backend([Watched(source.table, source.library)]), kept(ENCODER)
    backend.answer(MarginalQuery(reading, ASKED))
    backend.answer(ClassCountQuery(reading))
    backend.answer(RowCountQuery(reading, voting_space=SIGHT))
    backend.answer(VoteQuery(reading, population(0), voting_space=SIGHT))
    assert len(reads) == 1


@pytest.mark.parametrize("unit", [None, PEOPLE], ids=["rows", "users"])
@given(size=st.integers(0, 40), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=25)
def test_segments_that_are_brought_to_a_worker_answer_as_the_rows_do(unit, size, seed):
    """As in Spark, which keeps them between queries."""
    (source,) = frames(table(max(size, 1), seed).slice(0, size))
    resources = Resources.from_options(n_jobs=1)
    one, digests = Shard(ShardIndex(0, 1), source, unit, resources), ShardDigests(1)
    for query in queries(seed):
        if not isinstance(query, EncodedQuery):
            continue
        segments = encode_segments(one, query.reading)
        if query.voting_space is not None:
            segments = prepare_segments(segments, query.voting_space, query.reading.category_weight)
        found = answer_from_segments(segments, query, query.reading, unit, 3)
        digests.check_answer(query, dataclasses.replace(found, digests={0: found.digests[3]}))
        assert plain(found.value) == plain(one.answer(query).value)


def test_segments_that_fail_are_an_answer_without_words():
    def failing():
        raise ValueError(SECRET)
        yield

    query = RowCountQuery(kept(ENCODER))
    failed = answer_from_segments(failing(), query, query.reading, None, 3)
    assert failed.shard == 3
    assert str(failed.error).startswith("a worker failed: ValueError")
    assert SECRET not in str(failed.error)

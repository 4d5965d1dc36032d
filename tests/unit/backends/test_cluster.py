"""Shards: what they say when they fail, and that a user is in one of them."""

import dataclasses
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crews import frames, near_keeper
from tabpe import Boolean, Integer, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import PrivacyUnit
from tabpe.backends.cluster import (
    Shard,
    ShardFailure,
    ShardIndex,
    assign_shards,
    partition_source,
    redact_error,
)
from tabpe.backends.queries import EncodedReading, MarginalQuery, RawColumnQuery
from tabpe.encoding import Encoder
from tabpe.errors import CellError, DataError, TabpeError
from tabpe.io import open_source

UNIT = PrivacyUnit("person", max_rows=2, seed=0, scale=100, names=("age", "person"))
AGES = EncodedReading(0, Encoder(Schema((Integer("age", 0, 99),))), 1 / 3)
STRICT = dataclasses.replace(AGES, encoder=Encoder(AGES.encoder.schema, strict=True))
SECRET = "31 years and two months"


def shard(table, unit=None, place=ShardIndex(0, 1)):  # noqa: B008
    return Shard(place, frames(table)[0], unit, Resources.from_options(n_jobs=1))


@dataclasses.dataclass(frozen=True)
class Failing:
    """A question that fails as it is told to."""

    error: Exception
    reading_key: str = ""

    def run_on_shard(self, session):
        """Fail."""
        raise self.error


@pytest.mark.parametrize("error", [ValueError(SECRET), pa.ArrowInvalid(SECRET), KeyError(SECRET)])
def test_a_failure_tells_its_kind_and_nothing_of_its_words(error):
    failed = shard(pa.table({"age": [1]})).answer(Failing(error))
    assert isinstance(failed, ShardFailure)
    assert str(failed.error).startswith(f"a worker failed: {type(error).__name__} in backends/")
    assert failed.error.__cause__ is failed.error.__context__ is failed.error.__traceback__ is None
    assert SECRET.encode() not in pickle.dumps(failed)


def test_a_failure_tells_where_it_was():
    failed = shard(pa.table({"age": [1]})).answer(RawColumnQuery("values", 31))
    assert str(failed.error).startswith("a worker failed: ")
    assert " in backends/raw_columns.py:" in str(failed.error)


def test_memory_that_does_not_suffice_is_said_without_sizes():
    error = redact_error(MemoryError("Unable to allocate 8 bytes for 31 rows"))
    assert "ran out of memory" in str(error)
    assert "31" not in str(error)


def test_our_own_errors_arrive_as_they_are_with_file_and_row(tmp_path):
    (tmp_path / "t.csv").write_text("age\n1\nx\n")
    part = open_source(tmp_path / "t.csv")
    failed = Shard(ShardIndex(0, 1), part, None, Resources.from_options()).answer(
        MarginalQuery(STRICT, None, True)
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
    keeper = near_keeper(partition_source(source, UNIT, shards), UNIT)
    with pytest.raises(CellError, match=r"t\.csv: column 'age'.*row 34"):
        (
            keeper.build_marginal_counter(STRICT.encoder).row_count(),
            keeper.build_marginal_counter(STRICT.encoder).class_counts(),
        )


def test_a_row_without_an_id_counts_for_nobody_or_is_found_again_in_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("age,person\n1,a\n2,b\n3,\n")
    keeper = near_keeper(partition_source(open_source(tmp_path / "t.csv"), UNIT, 3), UNIT)
    assert keeper.build_raw_counter().row_count().tolist() == [2 * UNIT.scale]
    strict = dataclasses.replace(UNIT, strict=True)
    keeper = near_keeper(partition_source(open_source(tmp_path / "t.csv"), strict, 3), strict)
    with pytest.raises(CellError, match=r"t\.csv: column 'person' has no value in row 3"):
        keeper.build_raw_counter().row_count()


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
        near_keeper(halves, UNIT).build_raw_counter().row_count()


def test_users_are_counted_once_over_all_shards():
    table = pa.table({"person": [f"p{place % 11}" for place in range(50)], "age": [1] * 50})
    where = assign_shards(table, UNIT, 3)
    parts = frames(*(table.filter(pa.array(where == number)) for number in range(3)))
    assert near_keeper(parts, UNIT).build_raw_counter().row_count().tolist() == [11 * UNIT.scale]


def test_the_error_is_that_of_the_first_shard_that_failed():
    parts = frames(
        pa.table({"age": ["1"]}), pa.table({"age": ["x"]}), pa.table({"age": ["1", "y"]})
    )
    with pytest.raises(CellError, match="row 1"):
        near_keeper(parts).build_marginal_counter(STRICT.encoder).row_count()


def test_a_table_that_changes_between_questions_is_refused():
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
    held = near_keeper([Growing(), Growing()]).encode_table(encoder, 1 / 3)
    held.build_marginal_counter().class_counts()
    with pytest.raises(DataError, match="the table changed"):
        held.build_marginal_counter().class_counts()


def test_a_shard_made_anew_from_other_rows_is_refused():
    """As after the loss of a worker whose file was written over meanwhile."""
    one, two = (pa.table({"age": [1] * size}) for size in (3, 4))
    keeper = near_keeper(frames(one, one))
    held = keeper.encode_table(AGES.encoder, 1 / 3)
    held.build_marginal_counter().row_count()
    keeper._pool._shards[1] = shard(one, place=ShardIndex(1, 2))
    assert held.build_marginal_counter().row_count().tolist() == [6]
    keeper._pool._shards[1] = shard(two, place=ShardIndex(1, 2))
    with pytest.raises(DataError, match="the table changed"):
        held.build_marginal_counter().row_count()


def test_fingerprints_add_up():
    table = pa.table({"age": np.arange(20), "ward": ["eye", None] * 10})
    whole = near_keeper(frames(table)).sum_row_hashes(["age", "ward"], b"key")
    cut = frames(table.slice(7, 13), table.slice(0, 7))
    assert near_keeper(cut).sum_row_hashes(["age", "ward"], b"key").tolist() == whole.tolist()
    other = frames(table.slice(0, 19))
    assert near_keeper(other).sum_row_hashes(["age", "ward"], b"key").tolist() != whole.tolist()

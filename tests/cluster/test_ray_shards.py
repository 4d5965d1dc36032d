"""Shards on the workers of Ray: the answers of one process, whoever is lost on the way."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from asking import ENCODER, SIGHT, UNIT, answers, plain, population, table
from hanging import BrokenQuery, DeadlyQuery
from tabpe import Integer, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import EncodedReading, LocalBackend
from tabpe.backends import ray as ray_backend
from tabpe.backends.cluster import ShardedBackend, partition_source
from tabpe.backends.queries import (
    ClassCountQuery,
    RawRowCountQuery,
    RowCountQuery,
    ValueQuery,
    VoteQuery,
)
from tabpe.backends.ray import RayShardPool
from tabpe.encoding import Encoder
from tabpe.errors import CellError, DataError, TabpeError
from tabpe.io import open_source

ALONE = Resources.from_options(n_jobs=1)
TABLE = table(300, 5)


@pytest.fixture
def tables(tmp_path):
    """The same rows in memory and in files, some of several groups of rows, one without any."""
    for kind in ("parquet", "csv"):
        (tmp_path / kind).mkdir()
        for number, (start, size) in enumerate([(0, 200), (200, 0), (200, 100)]):
            part, path = TABLE.slice(start, size), tmp_path / kind / f"{number}.{kind}"
            if kind == "parquet":
                pq.write_table(part, path, row_group_size=30)
            else:
                pa.csv.write_csv(part, path)
    parquet = tmp_path / "parquet"
    return {
        "frame": TABLE,
        "parquet": parquet,
        "csv": tmp_path / "csv",
        "dataset": pa.dataset.dataset(parquet),
    }


def opened(data, unit=None, shards=2, **options):
    source = data if hasattr(data, "batches") else open_source(data)
    pool = RayShardPool(
        partition_source(source, unit, shards), unit, ALONE.divide_by_shards(shards), **options
    )
    return ShardedBackend(pool, 1 if unit is None else unit.scale)


@pytest.fixture
def on_workers(ray):
    """Open tables on workers, and let them go in the end."""
    backends = []

    def opening(*given, **options):
        backends.append(opened(*given, **options))
        return backends[-1]

    yield opening
    for backend in backends:
        backend.close()


@pytest.fixture(scope="module")
def shared(ray):
    """A table in three shards, for tests that leave them as they are."""
    backend = opened(TABLE, shards=3)
    yield backend
    backend.close()


def alone(data, unit=None):
    """The same in this process."""
    source = data if hasattr(data, "batches") else open_source(data)
    return LocalBackend(source, unit, ALONE)


def kept():
    """Rows that are encoded and kept for votes."""
    return EncodedReading(ENCODER, 1 / 3, "votes")


@pytest.mark.parametrize(("kind", "unit"), [("csv", UNIT), ("dataset", None)])
def test_every_query_has_the_answer_of_one_process(kind, unit, tables, on_workers):
    near, far = alone(tables[kind], unit), on_workers(tables[kind], unit)
    for expected, found in zip(answers(near, 1), answers(far, 1), strict=True):
        assert plain(found) == plain(expected)


@pytest.mark.parametrize("group", [2, 3, 8])
def test_sums_are_made_in_as_many_steps_as_it_takes(group, shared, monkeypatch):
    monkeypatch.setattr(ray_backend, "GROUP_SIZE", group)
    query = ValueQuery({"ward": str, "age": int})
    assert shared.answer(query).value == alone(TABLE).answer(query).value


def test_a_dataset_of_ray_is_read_where_it_is(ray, on_workers):
    import ray.data

    dataset = ray.data.from_arrow([TABLE.slice(0, 120), TABLE.slice(120, 0), TABLE.slice(120)])
    source = open_source(dataset)
    assert source.lives_on == "ray"
    assert source.names == TABLE.schema.names
    for expected, found in zip(
        answers(alone(TABLE), 1), answers(on_workers(source), 1), strict=True
    ):
        assert plain(found) == plain(expected)
    wards = ValueQuery({"ward": str})
    assert alone(source).answer(wards).value == alone(TABLE).answer(wards).value


def test_rows_of_a_dataset_of_ray_are_counted_through(ray):
    import ray.data

    blocks = [pa.table({"age": ["1"] * 5}), pa.table({"age": ["1", "x", "1"]})]
    parts = open_source(ray.data.from_arrow(blocks)).divide_into(2)
    assert [batch.first_row for part in parts for batch in part.batches()] == [0, 5]


class KillsOnVotes:
    """A pool whose every query for votes kills a worker in the middle, for so many times."""

    def __init__(self, pool, folder, shard, times):
        self._pool, self._deadly = pool, (folder, shard, times)
        self.shards, self.close = pool.shards, pool.close

    def answer(self, query):
        """Ask, and have one killed."""
        if isinstance(query, VoteQuery):
            query = DeadlyQuery(query, *self._deadly)
        return self._pool.answer(query)


def disturbed(on_workers, data, folder, unit=None, times=1):
    backend = on_workers(data, unit)
    folder.mkdir()
    backend._pool = KillsOnVotes(backend._pool, folder, 1, times)
    return backend


def test_a_worker_killed_in_the_middle_changes_no_vote_of_users(tables, on_workers, tmp_path):
    """It is made anew, prepared again, and it alone is asked once more."""
    near = alone(tables["parquet"], UNIT)
    far = disturbed(on_workers, tables["parquet"], tmp_path / "killed", UNIT)
    for expected, found in zip(answers(near, 1), answers(far, 1), strict=True):
        assert plain(found) == plain(expected)
    assert len(list((tmp_path / "killed").iterdir())) == 1


def test_a_worker_that_is_lost_again_and_again_is_an_error(on_workers, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_backend, "MAX_LOSSES", 1)
    backend, reading = disturbed(on_workers, TABLE, tmp_path / "killed", times=99), kept()
    backend.answer(ClassCountQuery(reading, voting_space=SIGHT))
    with pytest.raises(TabpeError, match="shard 2 of 2 was lost 2 times"):
        backend.answer(VoteQuery(reading, population(1), voting_space=SIGHT))
    assert len(list((tmp_path / "killed").iterdir())) == 2


def test_a_lost_worker_whose_rows_changed_is_refused(tables, on_workers, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=50)
    backend, reading = disturbed(on_workers, path, tmp_path / "killed"), kept()
    backend.answer(ClassCountQuery(reading, voting_space=SIGHT))
    pq.write_table(TABLE.take(list(range(299, -1, -1))), path, row_group_size=50)
    with pytest.raises(DataError, match="the table changed"):
        backend.answer(VoteQuery(reading, population(1), voting_space=SIGHT))


def test_those_who_add_up_may_be_lost_too(ray, on_workers, monkeypatch):
    """Then all are asked again: an answer is the same each time."""
    backend = on_workers(TABLE)
    pool, summed, calls = backend._pool, RayShardPool._sum_answers, []

    def losing(self, found):
        calls.append(len(found))
        if len(calls) == 1:
            ray.kill(self._actors[0])
        return summed(self, found)

    monkeypatch.setattr(RayShardPool, "_sum_answers", losing)
    expected = alone(TABLE).answer(RawRowCountQuery()).value
    assert backend.answer(RawRowCountQuery()).value.tolist() == expected.tolist()
    assert calls == [2, 2]
    assert pool._losses == {0: 1}


def test_answers_come_with_the_number_of_shards_that_are_ready(shared, monkeypatch):
    seen = []
    monkeypatch.setattr(shared._pool, "_on_ready", lambda done, of: seen.append((done, of)))
    shared.answer(RawRowCountQuery())
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_errors_of_workers_arrive_without_private_words(shared, ray):
    secret = "31 years and two months"
    with pytest.raises(TabpeError, match=r"a worker failed: ValueError in backends/") as caught:
        shared.answer(BrokenQuery(secret))
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    files = (ray.session_folder / "logs").rglob("*")
    logs = [path.read_bytes() for path in files if path.is_file()]
    assert logs
    assert not any(secret.encode() in log for log in logs)


def test_in_strict_mode_a_cell_that_can_not_be_read_is_named_by_file_and_row(on_workers, tmp_path):
    ages = pa.table({"age": ["1"] * 90 + ["x"] + ["1"] * 9})
    pq.write_table(ages, tmp_path / "t.parquet", row_group_size=10)
    schema = Schema((Integer("age", 0, 9),))
    backend = on_workers(tmp_path / "t.parquet")
    strict, lenient = (
        RowCountQuery(EncodedReading(Encoder(schema, strict=strict))) for strict in (True, False)
    )
    with pytest.raises(CellError, match=r"t\.parquet: column 'age'.* in row 91"):
        backend.answer(strict)
    assert backend.answer(lenient).value.tolist() == [100]


def test_what_workers_print_is_nothing(shared, ray):
    shared.answer(RawRowCountQuery())
    for path in (ray.session_folder / "logs").glob("worker-*"):
        said = [line for line in path.read_text().splitlines() if not line.startswith(":")]
        assert said == [], path.name

"""Shards on the workers of Ray: the answers of one process, whoever is lost on the way."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from asking import ENCODER, SIGHT, UNIT, answers, plain, population, table
from hanging import Broken, Deadly
from tabpe import Integer, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import LocalBackend
from tabpe.backends import ray as ray_crew
from tabpe.backends.cluster import ShardedBackend, partition_source
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
    crew = RayShardPool(
        partition_source(source, unit, shards), unit, ALONE.divide_by_shards(shards), **options
    )
    return ShardedBackend(crew, 1 if unit is None else unit.scale)


@pytest.fixture
def crewed(ray):
    """Open tables on workers, and let them go in the end."""
    keepers = []

    def keeping(*given, **options):
        keepers.append(opened(*given, **options))
        return keepers[-1]

    yield keeping
    for keeper in keepers:
        keeper.close()


@pytest.fixture(scope="module")
def shared(ray):
    """A table in three shards, for tests that leave them as they are."""
    keeper = opened(TABLE, shards=3)
    yield keeper
    keeper.close()


@pytest.mark.parametrize(("kind", "unit"), [("csv", UNIT), ("dataset", None)])
def test_every_question_has_the_answer_of_one_process(kind, unit, tables, crewed):
    alone = LocalBackend(open_source(tables[kind]), unit, ALONE)
    asked = zip(answers(alone, 1), answers(crewed(tables[kind], unit), 1), strict=True)
    for expected, found in asked:
        assert plain(found) == plain(expected)


@pytest.mark.parametrize("group", [2, 3, 8])
def test_sums_are_made_in_as_many_steps_as_it_takes(group, shared, monkeypatch):
    monkeypatch.setattr(ray_crew, "GROUP_SIZE", group)
    found = shared.build_raw_counter().values({"ward": str, "age": int})
    assert found == LocalBackend(open_source(TABLE), None, ALONE).build_raw_counter().values(
        {"ward": str, "age": int}
    )


def test_a_dataset_of_ray_is_read_where_it_is(ray, crewed):
    import ray.data

    dataset = ray.data.from_arrow([TABLE.slice(0, 120), TABLE.slice(120, 0), TABLE.slice(120)])
    source = open_source(dataset)
    assert source.lives_on == "ray"
    assert source.names == TABLE.schema.names
    keeper, alone = crewed(source), LocalBackend(open_source(TABLE), None, ALONE)
    for expected, found in zip(answers(alone, 1), answers(keeper, 1), strict=True):
        assert plain(found) == plain(expected)
    near = LocalBackend(source, None, ALONE).build_raw_counter().values({"ward": str})
    assert near == alone.build_raw_counter().values({"ward": str})


def test_rows_of_a_dataset_of_ray_are_counted_through(ray):
    import ray.data

    blocks = [pa.table({"age": ["1"] * 5}), pa.table({"age": ["1", "x", "1"]})]
    parts = open_source(ray.data.from_arrow(blocks)).divide_into(2)
    assert [batch.first_row for part in parts for batch in part.batches()] == [0, 5]


class KillsOnVotes:
    """A crew whose every question about votes kills a worker in the middle, for so many times."""

    def __init__(self, crew, folder, shard, times):
        self._pool, self._deadly = crew, (folder, shard, times)
        self.shards, self.close = crew.shards, crew.close

    def run_query(self, question):
        """Ask, and have one killed."""
        if getattr(question, "name", "") == "votes":
            question = Deadly(question, *self._deadly)
        return self._pool.run_query(question)


def disturbed(crewed, data, folder, unit=None, times=1):
    keeper = crewed(data, unit)
    folder.mkdir()
    keeper._pool = KillsOnVotes(keeper._pool, folder, 1, times)
    return keeper


def test_a_worker_killed_in_the_middle_changes_no_vote_of_users(tables, crewed, tmp_path):
    """It is made anew, prepared again, and it alone is asked once more."""
    unit = UNIT
    alone = LocalBackend(open_source(tables["parquet"]), unit, ALONE)
    keeper = disturbed(crewed, tables["parquet"], tmp_path / "killed", unit)
    for expected, found in zip(answers(alone, 1), answers(keeper, 1), strict=True):
        assert plain(found) == plain(expected)
    assert len(list((tmp_path / "killed").iterdir())) == 1


def test_a_worker_that_is_lost_again_and_again_is_an_error(crewed, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_crew, "MAX_LOSSES", 1)
    held = disturbed(crewed, TABLE, tmp_path / "killed", times=99).encode_table(ENCODER, 1 / 3)
    held.prepare(SIGHT)
    with pytest.raises(TabpeError, match="shard 2 of 2 was lost 2 times"):
        held.votes(population(1))
    assert len(list((tmp_path / "killed").iterdir())) == 2


def test_a_lost_worker_whose_rows_changed_is_refused(tables, crewed, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=50)
    held = disturbed(crewed, path, tmp_path / "killed").encode_table(ENCODER, 1 / 3)
    held.prepare(SIGHT)
    pq.write_table(TABLE.take(list(range(299, -1, -1))), path, row_group_size=50)
    with pytest.raises(DataError, match="the table changed"):
        held.votes(population(1))


def test_those_who_add_up_may_be_lost_too(ray, crewed, monkeypatch):
    """Then all are asked again: an answer is the same each time."""
    keeper = crewed(TABLE)
    crew, summed, calls = keeper._pool, RayShardPool._sum_answers, []

    def losing(self, found):
        calls.append(len(found))
        if len(calls) == 1:
            ray.kill(self._actors[0])
        return summed(self, found)

    monkeypatch.setattr(RayShardPool, "_sum_answers", losing)
    expected = LocalBackend(open_source(TABLE), None, ALONE).build_raw_counter().row_count()
    assert keeper.build_raw_counter().row_count().tolist() == expected.tolist()
    assert calls == [2, 2]
    assert crew._losses == {0: 1}


def test_answers_come_with_the_number_of_shards_that_are_ready(shared, monkeypatch):
    seen = []
    monkeypatch.setattr(shared._pool, "_on_ready", lambda done, of: seen.append((done, of)))
    shared.build_raw_counter().row_count()
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_errors_of_workers_arrive_without_private_words(shared, ray):
    secret = "31 years and two months"
    with pytest.raises(TabpeError, match=r"a worker failed: ValueError in backends/") as caught:
        shared.run_query(Broken(secret))
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    files = (ray.session_folder / "logs").rglob("*")
    logs = [path.read_bytes() for path in files if path.is_file()]
    assert logs
    assert not any(secret.encode() in log for log in logs)


def test_in_strict_mode_a_cell_that_can_not_be_read_is_named_by_file_and_row(crewed, tmp_path):
    ages = pa.table({"age": ["1"] * 90 + ["x"] + ["1"] * 9})
    pq.write_table(ages, tmp_path / "t.parquet", row_group_size=10)
    schema = Schema((Integer("age", 0, 9),))
    keeper = crewed(tmp_path / "t.parquet")
    with pytest.raises(CellError, match=r"t\.parquet: column 'age'.* in row 91"):
        keeper.build_marginal_counter(Encoder(schema, strict=True)).row_count()
    assert keeper.build_marginal_counter(Encoder(schema)).row_count().tolist() == [100]


def test_what_workers_print_is_nothing(shared, ray):
    shared.build_raw_counter().row_count()
    for path in (ray.session_folder / "logs").glob("worker-*"):
        said = [line for line in path.read_text().splitlines() if not line.startswith(":")]
        assert said == [], path.name

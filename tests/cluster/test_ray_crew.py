"""Shards on the workers of Ray: the answers of one process, whoever is lost on the way."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from asking import ENCODER, SIGHT, UNIT, answers, plain, population, table
from hanging import Broken, Deadly
from tabpe.engines import LoneKeeper, ray_crew
from tabpe.engines.crewed import CrewKeeper
from tabpe.engines.questions import Cells
from tabpe.engines.ray_crew import MOST_LOSSES, RayCrew
from tabpe.engines.shard import spread
from tabpe.errors import CellError, DataError, TabpeError
from tabpe.io import open_source
from tabpe.resources import Resources

ALONE = Resources.of(n_jobs=1)
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


@pytest.fixture
def crewed(ray):
    """Open tables on workers, and let them go in the end."""
    keepers = []

    def opened(data, unit=None, shards=3, **options):
        source = data if hasattr(data, "batches") else open_source(data)
        crew = RayCrew(spread(source, unit, shards), unit, ALONE.of_a_shard(shards), **options)
        keepers.append(CrewKeeper(crew, 1 if unit is None else unit.scale))
        return keepers[-1]

    yield opened
    for keeper in keepers:
        keeper.close()


@pytest.mark.parametrize(
    ("kind", "unit"),
    [("frame", None), ("frame", UNIT), ("parquet", None), ("csv", UNIT), ("dataset", None)],
)
def test_every_question_has_the_answer_of_one_process(kind, unit, tables, crewed, monkeypatch):
    monkeypatch.setattr(ray_crew, "GROUP", 2)
    alone = LoneKeeper(open_source(tables[kind]), unit, ALONE)
    asked = zip(answers(alone, 1), answers(crewed(tables[kind], unit), 1), strict=True)
    for expected, found in asked:
        assert plain(found) == plain(expected)


def test_a_dataset_of_ray_is_read_where_it_is(ray, crewed):
    import ray.data

    dataset = ray.data.from_arrow([TABLE.slice(0, 120), TABLE.slice(120, 0), TABLE.slice(120)])
    source = open_source(dataset)
    assert source.lives_on == "ray"
    assert source.names == TABLE.schema.names
    alone = LoneKeeper(open_source(TABLE), None, ALONE)
    for expected, found in zip(answers(alone, 1), answers(crewed(source), 1), strict=True):
        assert plain(found) == plain(expected)
    near = LoneKeeper(source, None, ALONE).survey().values({"ward": str})
    assert near == alone.survey().values({"ward": str})


def test_rows_of_a_dataset_of_ray_are_counted_through(ray, crewed):
    import ray.data

    ages = pa.table({"age": ["1"] * 5}), pa.table({"age": ["1", "x", "1"]})
    keeper = crewed(open_source(ray.data.from_arrow(list(ages))), shards=2)
    from tabpe import Integer, Schema
    from tabpe.encode import Encoder

    with pytest.raises(CellError, match="row 7"):
        keeper.tables(Encoder(Schema((Integer("age", 0, 9),)))).row_count()


class KillsOnVotes:
    """A crew whose every question about votes kills a worker in the middle, for so many times."""

    def __init__(self, crew, folder, shard, times):
        self._crew, self._deadly = crew, (folder, shard, times)
        self.shards, self.close = crew.shards, crew.close

    def ask(self, question):
        """Ask, and have one killed."""
        if getattr(question, "name", "") == "votes":
            question = Deadly(question, *self._deadly)
        return self._crew.ask(question)


def disturbed(crewed, data, folder, unit=None, times=1):
    keeper = crewed(data, unit)
    folder.mkdir()
    keeper._crew = KillsOnVotes(keeper._crew, folder, 1, times)
    return keeper


@pytest.mark.parametrize("unit", [None, UNIT], ids=["rows", "users"])
def test_a_worker_killed_in_the_middle_changes_no_vote(unit, tables, crewed, tmp_path):
    """It is made anew, prepared again, and it alone is asked once more."""
    alone = LoneKeeper(open_source(tables["parquet"]), unit, ALONE)
    keeper = disturbed(crewed, tables["parquet"], tmp_path / "killed", unit)
    for expected, found in zip(answers(alone, 1), answers(keeper, 1), strict=True):
        assert plain(found) == plain(expected)
    assert len(list((tmp_path / "killed").iterdir())) == 1


def test_a_worker_that_is_lost_again_and_again_is_an_error(crewed, tmp_path):
    held = disturbed(crewed, TABLE, tmp_path / "killed", times=99).hold(ENCODER, 1 / 3)
    held.prepare(SIGHT)
    with pytest.raises(TabpeError, match="shard 2 of 3 was lost 4 times"):
        held.votes(population(1))
    assert len(list((tmp_path / "killed").iterdir())) == MOST_LOSSES + 1


def test_a_lost_worker_whose_rows_changed_is_refused(tables, crewed, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=50)
    held = disturbed(crewed, path, tmp_path / "killed").hold(ENCODER, 1 / 3)
    held.prepare(SIGHT)
    pq.write_table(TABLE.slice(0, 299), tmp_path / "new", row_group_size=50)
    (tmp_path / "new").rename(path)
    pq.write_table(pa.concat_tables([TABLE, TABLE]).slice(0, 300).take(
        [*range(150, 300), *range(150)]), path, row_group_size=50)  # fmt: skip
    with pytest.raises(DataError, match="the table changed"):
        held.votes(population(1))


def test_those_who_add_up_may_be_lost_too(ray, crewed, monkeypatch):
    """Then all are asked again: an answer is the same each time."""
    keeper = crewed(TABLE)
    crew, summed, calls = keeper._crew, RayCrew._summed, []

    def losing(self, found):
        calls.append(len(found))
        if len(calls) == 1:
            ray.kill(self._actors[0])
        return summed(self, found)

    monkeypatch.setattr(RayCrew, "_summed", losing)
    expected = LoneKeeper(open_source(TABLE), None, ALONE).survey().row_count()
    assert keeper.survey().row_count().tolist() == expected.tolist()
    assert calls == [3, 3]
    assert crew._losses == {0: 1}


def test_answers_come_with_the_number_of_shards_that_are_ready(crewed):
    seen = []
    keeper = crewed(TABLE, on_ready=lambda done, of: seen.append((done, of)))
    keeper.survey().row_count()
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_errors_of_workers_arrive_without_private_words(crewed, ray):
    keeper = crewed(TABLE)
    secret = "31 years and two months"
    with pytest.raises(TabpeError, match=r"a worker failed: ValueError in engines/") as caught:
        keeper.ask(Broken(secret))
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    logs = [
        path.read_bytes() for path in (ray.session_folder / "logs").rglob("*") if path.is_file()
    ]
    assert logs
    assert not any(secret.encode() in log for log in logs)


def test_a_cell_that_can_not_be_read_is_named_by_file_and_row(crewed, tmp_path):
    ages = pa.table({"age": ["1"] * 90 + ["x"] + ["1"] * 9})
    pq.write_table(ages, tmp_path / "t.parquet", row_group_size=10)
    from tabpe import Integer, Schema
    from tabpe.encode import Encoder

    with pytest.raises(CellError, match=r"t\.parquet: column 'age'.* in row 91"):
        crewed(tmp_path / "t.parquet").tables(Encoder(Schema((Integer("age", 0, 9),)))).row_count()


def test_what_workers_print_is_nothing(crewed, ray):
    list(answers(crewed(TABLE), 2))
    for path in (ray.session_folder / "logs").glob("worker-*"):
        said = [line for line in path.read_text().splitlines() if not line.startswith(":")]
        assert said == [], path.name


def test_raw_cells_are_counted_alike(crewed):
    found = crewed(TABLE).ask(Cells("values", {"ward": str}))
    assert sum(found["ward"].values()) == len(TABLE)

"""Partitions of Spark as shards: the answers of one process, however rows lie in them."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from asking import ENCODER, SIGHT, UNIT, answers, plain, population, table
from hanging import BrokenQuery
from tabpe import Integer, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import EncodedReading, LocalBackend
from tabpe.backends import spark as spark_backend
from tabpe.backends.queries import ClassCountQuery, RawRowCountQuery, RowCountQuery, VoteQuery
from tabpe.backends.spark import open_spark_backend
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.errors import CellError, DataError, ParameterError, TabpeError
from tabpe.io import open_source
from tabpe.io.clusters import is_spark_frame

ALONE = Resources.from_options(n_jobs=1)
TABLE = table(300, 5)
AGES = Encoder(Schema((Integer("age", 0, 9),)))
STRICT_AGES = Encoder(Schema((Integer("age", 0, 9),)), strict=True)


def kept(encoder=ENCODER):
    """Rows that are encoded and kept for votes."""
    return EncodedReading(encoder, 1 / 3, "votes")


def count_rows(backend):
    return backend.answer(RawRowCountQuery()).value.tolist()


@pytest.fixture
def on_spark(spark):
    """Open tables on Spark, and let them go in the end."""
    backends = []

    def opened(data, unit=None, **given):
        seen = given.pop("seen", [])
        resources = Resources.from_options(engine="spark", **({"n_jobs": 2} | given))
        source = data if hasattr(data, "batches") else open_source(data)
        backends.append(
            open_spark_backend(source, unit, resources, lambda *ready: seen.append(ready))
        )
        return backends[-1]

    yield opened
    for backend in backends:
        backend.close()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


@pytest.fixture
def tables(spark, tmp_path):
    """The same rows in memory, in files and in Spark, in partitions of any size."""
    (tmp_path / "parquet").mkdir()
    for number, (start, size) in enumerate([(0, 200), (200, 0), (200, 100)]):
        path = tmp_path / "parquet" / f"{number}.parquet"
        pq.write_table(TABLE.slice(start, size), path, row_group_size=30)
    pa.csv.write_csv(TABLE, tmp_path / "t.csv")
    return {
        "frame": lambda: TABLE,
        "parquet": lambda: tmp_path / "parquet",
        "csv": lambda: tmp_path / "t.csv",
        "spark": lambda: cut(spark, TABLE, 3),
        "spark, in crumbs": lambda: cut(spark, TABLE, 9),
        "spark, from files": lambda: spark.read.parquet(str(tmp_path / "parquet")),
    }


def cut(spark, rows, parts, seed=0):
    """Return rows as a frame of Spark, in so many partitions, drawn at random; some are empty."""
    where = np.random.default_rng(seed).integers(0, parts - 1, len(rows))
    pieces = [rows.filter(pa.array(where == number)) for number in range(parts)]
    frames = [spark.createDataFrame(piece).coalesce(1) for piece in pieces[:-1]]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    return whole.unionAll(spark.createDataFrame(rows.slice(0, 1)).coalesce(1).where("age < 0"))


CASES = [
    ("frame", None),
    ("parquet", UNIT),
    ("csv", None),
    ("spark", None),
    ("spark", UNIT),
    ("spark, in crumbs", None),
    ("spark, from files", None),
]


@pytest.mark.parametrize(("kind", "unit"), CASES)
def test_every_query_has_the_answer_of_one_process(kind, unit, tables, on_spark, monkeypatch):
    monkeypatch.setattr(spark_backend, "DIRECT", 1)
    data = tables[kind]()
    alone = TABLE if is_spark_frame(data) else data
    asked = zip(
        answers(LocalBackend(open_source(alone), unit, ALONE), 1),
        answers(on_spark(data, unit), 1),
        strict=True,
    )
    # Hashes tell kinds of numbers and text apart, as Spark does.
    for expected, found in asked:
        assert plain(found) == plain(expected)


def test_many_partitions_are_added_up_in_a_tree(on_spark, spark, monkeypatch):
    monkeypatch.setattr(spark_backend, "PARTS_A_CORE", 20)
    frame = spark.createDataFrame(TABLE).repartition(24)
    backend = on_spark(frame)
    assert backend._pool.shards == 24 > spark_backend.DIRECT
    assert count_rows(backend) == [300]


def test_a_shard_that_is_counted_twice_is_noticed(on_spark, monkeypatch):
    backend = on_spark(TABLE)
    select_rows = type(backend._pool)._select_rows

    def doubled(pool, query):
        rows, answering = select_rows(pool, query)
        return rows.union(rows), lambda sent, common, number, part: answering(
            sent, common, number % common.shards, part
        )

    monkeypatch.setattr(type(backend._pool), "_select_rows", doubled)
    with pytest.raises(TabpeError, match="counted twice"):
        count_rows(backend)


def test_a_shard_that_is_left_out_is_noticed(on_spark, monkeypatch):
    backend = on_spark(TABLE)
    summed = type(backend._pool)._reduce_answers

    def without_one(pool, answers):
        return summed(pool, answers.filter(lambda answer: 0 not in answer.digests))

    monkeypatch.setattr(type(backend._pool), "_reduce_answers", without_one)
    with pytest.raises(TabpeError, match="not each of them was counted once"):
        count_rows(backend)


def test_a_user_in_two_partitions_is_refused(on_spark, monkeypatch):
    monkeypatch.setattr(spark_backend, "_group_by_user", lambda sources, *_: sources)
    with pytest.raises(TabpeError, match="the rows of a user are not all in the same one"):
        count_rows(on_spark(TABLE, UNIT))


def test_rows_are_read_and_encoded_once_for_all_votes(on_spark, tmp_path, spark):
    """Afterwards the file may be gone: Spark has the rows."""
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=50)
    backend, reading = on_spark(tmp_path / "t.parquet"), kept()
    backend.answer(RowCountQuery(reading))
    backend.answer(ClassCountQuery(reading, voting_space=SIGHT))
    (tmp_path / "t.parquet").unlink()
    votes = VoteQuery(reading, population(1), voting_space=SIGHT)
    alone = LocalBackend(open_source(TABLE), None, ALONE)
    assert plain(backend.answer(votes).value) == plain(alone.answer(votes).value)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 1


def test_votes_in_another_voting_space_than_the_first_are_refused(on_spark):
    for first, second in ((None, SIGHT), (SIGHT, None)):
        backend, reading = on_spark(TABLE), kept()
        plain_rows = [Records(part.numbers, part.codes[:, :1]) for part in population(1)]
        few = {None: plain_rows, SIGHT: population(1)}
        backend.answer(VoteQuery(reading, few[first], voting_space=first))
        with pytest.raises(TabpeError, match="voting_space"):
            backend.answer(VoteQuery(reading, few[second], voting_space=second))
        backend.answer(ClassCountQuery(reading))


def test_rows_that_are_not_the_same_when_they_are_made_anew_are_refused(on_spark, spark, tmp_path):
    """A frame may follow from what changes. Its rows are kept, and if they are lost, looked at."""
    (tmp_path / "rows").write_text("40")

    def made(batches):
        for batch in batches:
            yield batch.slice(0, int((tmp_path / "rows").read_text()))

    frame = spark.createDataFrame(TABLE).coalesce(1)
    backend, reading = on_spark(frame.mapInArrow(made, frame.schema)), kept()
    backend.answer(ClassCountQuery(reading, voting_space=SIGHT))
    (tmp_path / "rows").write_text("41")
    votes = VoteQuery(reading, population(1), voting_space=SIGHT)
    assert sum(counts.sum() for counts in backend.answer(votes).value) == 40
    backend._pool._prepared.unpersist(blocking=True)
    with pytest.raises(DataError, match="the table changed"):
        backend.answer(votes)


def test_errors_of_workers_arrive_without_private_words(on_spark, capfd):
    secret = "31 years and two months"
    with pytest.raises(TabpeError, match=r"a worker failed: ValueError in backends/") as caught:
        on_spark(TABLE).answer(BrokenQuery(secret))
    error = caught.value
    assert error.__cause__ is error.__context__ is None
    assert secret not in "".join(capfd.readouterr())


def test_in_strict_mode_a_cell_that_can_not_be_read_is_named_by_file_and_row(on_spark, tmp_path):
    ages = pa.table({"age": ["1"] * 90 + ["x"] + ["1"] * 9})
    pq.write_table(ages, tmp_path / "t.parquet", row_group_size=10)
    backend = on_spark(tmp_path / "t.parquet")
    for query in (
        RowCountQuery(EncodedReading(STRICT_AGES)),
        RowCountQuery(kept(STRICT_AGES)),
        ClassCountQuery(kept(STRICT_AGES), voting_space=VotingSpace(np.array([False]))),
    ):
        with pytest.raises(CellError, match=r"t\.parquet: column 'age'.* in row 91"):
            backend.answer(query)
    assert backend.answer(RowCountQuery(EncodedReading(AGES))).value.tolist() == [100]


def test_in_strict_mode_a_cell_of_a_user_is_named_by_the_row_that_it_had(on_spark):
    ages = pa.table({"age": ["1"] * 90 + ["x"] + ["1"] * 9, "person": list(range(100))})
    unit = dataclasses.replace(UNIT, names=("age",))
    with pytest.raises(CellError, match="in row 91"):
        on_spark(ages, unit).answer(ClassCountQuery(EncodedReading(STRICT_AGES)))


def test_in_strict_mode_a_cell_of_a_frame_is_named_by_partition_and_row(on_spark, spark):
    frame = spark.createDataFrame(pa.table({"age": ["1", "x", "1"]})).coalesce(1)
    with pytest.raises(CellError, match=r"partition 0: column 'age'.* in row 2"):
        on_spark(frame).answer(RowCountQuery(EncodedReading(STRICT_AGES)))


def test_a_job_that_spark_itself_fails_in_loses_the_words_of_spark(on_spark, spark, capfd):
    frame = spark.createDataFrame(pa.table({"age": ["1", "zzsecret"]}))
    with pytest.raises(TabpeError, match=r"a job failed \(CAST_INVALID_INPUT\)") as caught:
        count_rows(on_spark(frame.selectExpr("cast(age as int) as age")))
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "zzsecret" not in str(caught.value)
    capfd.readouterr()  # Its session is the user's, and so is what that says.


@pytest.mark.parametrize("query", ["age < 0", None], ids=["no row", "no partition"])
def test_a_table_without_rows_has_none_of_every_class(on_spark, spark, query):
    rows = spark.createDataFrame(TABLE)
    none = rows.where(query) if query else spark.createDataFrame([], rows.schema)
    query = ClassCountQuery(kept(), voting_space=SIGHT)
    assert not on_spark(none).answer(query).value.any()


def test_it_is_told_when_all_have_answered(on_spark):
    seen = []
    count_rows(on_spark(TABLE, seen=seen))
    assert seen == [(4, 4)]


def test_another_address_than_that_of_the_session_is_refused(on_spark):
    with pytest.raises(ParameterError, match=r"is active already, at 'local\[2\]'"):
        on_spark(TABLE, address="spark://elsewhere:7077")
    count_rows(on_spark(TABLE, address="local[2]"))

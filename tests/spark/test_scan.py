"""What a run on Spark says and leaves behind is searched for markers in the private table.

Spark itself counts rows that it reads, in its pages and its event log: see `docs/how-to/scale.md`.
So numbers of rows are not searched for there; votes, cells and encoded rows are.
"""

import pyarrow as pa
import pytest

from planted import NOTE, RARE, table
from scene import Scene
from searching import files_of, leaks
from tabpe.errors import DataError

USERS = {"unit": "person", "max_rows_per_user": 2, "n_samples": 150}


@pytest.fixture
def scene(spark, tmp_path, monkeypatch, capfd):
    return Scene(tmp_path, monkeypatch, capfd, "paper")


def leaks_of_spark(scene, spark, *folders):
    """What Spark wrote down of the private table."""
    written = {}
    for folder in folders:
        written |= files_of(spark.folder / folder)
    assert written
    found = leaks(written, scene._pieces, scene.witness)
    return [leak for leak in found if not leak.startswith("the exact count")]


def test_a_command_on_spark_leaks_nothing(scene, spark):
    words = ("--engine", "spark", "--jobs", 2, "--ledger", "ledger.db", "--dataset", "patients")
    assert scene.synth(*words, data="table.parquet") == 0, scene.evidence()["stderr"]
    assert any(len(answer) > 100 for answer in scene.witness.exact)
    assert scene.leaks() == []
    assert leaks_of_spark(scene, spark, "events", "local") == []


@pytest.mark.parametrize("given", [{}, USERS], ids=["rows", "users"])
def test_a_frame_of_spark_leaks_nothing(scene, spark, given):
    frame = spark.read.parquet(str(scene.private / "table.parquet")).repartition(2)
    model = scene.fit(frame, verbose=1, engine="spark", **given)
    assert not isinstance(model, Exception), model
    assert scene.leaks() == []
    assert leaks_of_spark(scene, spark, "events") == []


def test_a_cell_outside_the_schema_is_not_shown_by_workers(scene, spark):
    private = table()
    spoilt = ["x31 years"] + [str(cell) for cell in private["age"].to_pylist()[1:]]
    scene.store(private.set_column(private.schema.names.index("age"), "age", pa.array(spoilt)))
    error = scene.fit(
        scene.private / "table.parquet", verbose=1, engine="spark", n_jobs=2, strict=True
    )
    assert isinstance(error, DataError)
    assert "table.parquet: column 'age'" in str(error)
    assert scene.leaks() == []
    seen = scene.evidence() | files_of(spark.folder / "events") | files_of(spark.folder / "local")
    assert not [name for name, content in seen.items() if b"x31 years" in content]


def test_the_search_would_find_what_spark_writes(scene, spark):
    """A plan holds the literals of its author, and so does the event log: from here on this one."""
    spark.range(3).selectExpr(f"'{RARE}' as a", f"concat('{NOTE}', id) as b").toArrow()
    assert leaks_of_spark(scene, spark, "events") != []

"""Databases from people one does not trust: views without end, and views of other files."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time

import duckdb
import pytest

from tabpe import SqlTable
from tabpe.errors import DataError
from tabpe.io import Limits, use_source

SECRET = "Secret-Cell-4711"
# Far more than it takes, on a machine that is busy with something else.
PATIENCE = 120
VIEWS = ["steps", "counted", "never"]

READING = """
import sys, threading
import pandas  # or else Arrow does, on the way, and hears no signal meanwhile
from tabpe import SqlTable
from tabpe.io import use_source

with use_source(SqlTable(sys.argv[1], sys.argv[2])) as source:
    # By then the database is at it.
    threading.Timer(1.0, lambda: print("reading", flush=True)).start()
    for batch in source.batches():
        pass
"""


@pytest.fixture
def sqlite(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "t.db")) as base:
        base.execute(
            "CREATE VIEW steps AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT x FROM c"
        )
        base.execute("CREATE VIEW counted AS SELECT count(*) AS x FROM steps")
        base.execute("CREATE VIEW never AS SELECT x FROM steps WHERE x < 0")
    return f"sqlite:///{tmp_path}/t.db"


@pytest.fixture
def duck(tmp_path):
    pairs = "range(10000000000) a, range(10000000000) b"
    with duckdb.connect(tmp_path / "t.duckdb") as base:
        base.execute("CREATE VIEW steps AS SELECT range AS x FROM range(1000000000000000)")
        base.execute(f"CREATE VIEW counted AS SELECT sum(a.range * b.range) AS x FROM {pairs}")
        base.execute(f"CREATE VIEW never AS SELECT a.range AS x FROM {pairs}")
    return f"duckdb:///{tmp_path}/t.duckdb"


@pytest.fixture
def server(postgres):
    postgres.run(
        "DROP VIEW IF EXISTS steps, counted, never",
        "CREATE VIEW steps AS WITH RECURSIVE c(x) AS (SELECT 1::int8 UNION ALL SELECT x + 1 FROM "
        "c) SELECT x FROM c",
        "CREATE VIEW counted AS SELECT count(*) AS x FROM generate_series(1, 100000) a, "
        "generate_series(1, 100000000) b",
        "CREATE VIEW never AS SELECT x FROM steps WHERE x < 0",
    )
    yield postgres.address
    postgres.run("DROP VIEW steps, counted, never")


@pytest.fixture(params=["sqlite", "duck", "server"])
def endless(request):
    """The address of a database whose views have no end."""
    return request.getfixturevalue(request.param)


def interrupted(process):
    """Press Ctrl-C, and again after a while: Python drops one that comes in a finalizer."""
    ends = time.monotonic() + PATIENCE
    while True:
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=PATIENCE / 4)[1]
        except subprocess.TimeoutExpired:
            if time.monotonic() > ends:
                raise


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("view", VIEWS)
def test_ctrl_c_ends_a_question_without_end(endless, view):
    process = subprocess.Popen(
        [sys.executable, "-c", READING, endless, view],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "reading\n"
        said = interrupted(process)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGINT, said
    assert "KeyboardInterrupt" in said


def test_rows_without_end_are_stopped_at_the_limit(endless):
    limits = Limits(rows=1000)
    with (
        use_source(SqlTable(endless, "steps"), limits=limits) as source,
        pytest.raises(DataError, match="more than 1,000 rows; TABPE_MAX_ROWS"),
    ):
        list(source.batches())


def read(data):
    """Return the number of rows of a table."""
    with use_source(data) as source:
        return sum(batch.table.num_rows for batch in source.batches())


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text(f"name,note\n{SECRET},1\n")
    return path


REACHING = {
    "csv": "SELECT * FROM read_csv('{path}')",
    "text": "SELECT content FROM read_text('{path}')",
    "blob": "SELECT size FROM read_blob('{path}')",
    "parquet": "SELECT * FROM read_parquet('{folder}/secret.parquet')",
    "glob": "SELECT * FROM glob('{folder}/*')",
    "name": "SELECT * FROM '{path}'",
}


@pytest.mark.parametrize("reaching", REACHING)
def test_a_file_of_duckdb_reads_no_other_file(tmp_path, secret, reaching):
    with duckdb.connect(tmp_path / "t.duckdb") as base:
        base.execute(f"COPY (SELECT '{SECRET}' AS name) TO '{tmp_path}/secret.parquet'")
        base.execute(f"CREATE VIEW v AS {REACHING[reaching].format(path=secret, folder=tmp_path)}")
    with pytest.raises(DataError, match="another file") as caught:
        read(SqlTable(f"duckdb:///{tmp_path}/t.duckdb", "v"))
    assert SECRET not in str(caught.value)
    assert str(secret) not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_nor_does_a_query_of_it(tmp_path, secret):
    duckdb.connect(tmp_path / "t.duckdb").close()
    query = f"SELECT * FROM read_csv('{secret}')"
    with pytest.raises(DataError, match="another file"):
        read(SqlTable(f"duckdb:///{tmp_path}/t.duckdb", query=query))


def test_a_file_of_duckdb_reads_no_variable(tmp_path, monkeypatch):
    """DuckDB would take a name that it does not know from the variables of whoever calls."""
    with duckdb.connect(tmp_path / "t.duckdb") as base:
        base.execute("CREATE TABLE relation AS SELECT 1 AS name")
        base.execute("CREATE VIEW v AS SELECT name FROM relation")
        base.execute("DROP TABLE relation")
    frame = duckdb.sql(f"SELECT '{SECRET}' AS name")
    monkeypatch.setattr(sys.modules["tabpe.io.sql.drivers"], "relation", frame, raising=False)
    with pytest.raises(DataError, match="no such table"):
        read(SqlTable(f"duckdb:///{tmp_path}/t.duckdb", "v"))


def test_a_connection_of_ones_own_reads_what_it_likes(secret):
    query = f"SELECT * FROM read_csv('{secret}')"
    with duckdb.connect() as base:
        for data in (SqlTable(base, query=query), base.sql(query)):
            assert read(data) == 1

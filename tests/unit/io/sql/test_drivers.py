"""SQLite, DuckDB, SQLAlchemy and ADBC: the same rows as in memory, and whatever a run needs."""

import datetime
import decimal
import sqlite3
import uuid
from pathlib import Path

import adbc_driver_sqlite.dbapi
import duckdb
import pyarrow as pa
import pytest
import sqlalchemy
from adbc_driver_duckdb import dbapi as duck_adbc

from facade import ESTIMATED, FAST, SCHEMA, columns, fake_fit
from tabpe import SqlTable, TabPE, draft_schema, evaluate
from tabpe.errors import DataError, ParameterError
from tabpe.io import Limits, open_source, use_source
from tabpe.io.canonical import format_cell

KINDS = ["sqlite", "duckdb"]


@pytest.fixture(scope="module")
def table():
    people = [f"p{number % 97}" for number in range(1500)]
    return pa.table(columns(1500) | {"person": people, "note": ["zznoteqx"] * 1500})


@pytest.fixture(scope="module")
def stored(table, tmp_path_factory):
    """The table in a file of each kind, with an index that has another order."""
    folder = tmp_path_factory.mktemp("stored")
    frame = table.to_pandas()
    with sqlite3.connect(folder / "ward.sqlite") as base:
        names = ", ".join(table.column_names)
        base.execute(f"CREATE TABLE visits ({names})")
        marks = ", ".join("?" * table.num_columns)
        base.executemany(f"INSERT INTO visits VALUES ({marks})", frame.itertuples(index=False))
        base.execute("CREATE INDEX by_person ON visits (person, age)")
    base.close()
    with duckdb.connect(folder / "ward.duckdb") as base:
        base.register("frame", table)
        base.execute("CREATE TABLE visits AS SELECT * FROM frame")
    return {kind: SqlTable(f"{kind}:///{folder}/ward.{kind}", "visits") for kind in KINDS}


@pytest.fixture(params=KINDS)
def visits(request, stored):
    return stored[request.param]


def read(table, names=None):
    with use_source(table) as source:
        return pa.concat_tables(batch.table for batch in source.batches(names))


def test_the_synthetic_rows_are_those_of_the_same_table_in_memory(visits, table):
    expected = fake_fit(table).sample().to_pylist()
    assert fake_fit(visits).sample().to_pylist() == expected
    assert fake_fit(visits, engine="stream", spill=False).sample().to_pylist() == expected


def test_users_count_the_same_as_in_memory(visits, table):
    """With all their rows: which of them are chosen follows from cells, and SQLite's are text."""
    users = {"unit": "person", "max_rows_per_user": 1000, "epsilon": 1.0}
    expected = fake_fit(table, **users).sample().to_pylist()
    assert fake_fit(visits, **users).sample().to_pylist() == expected


def test_the_same_rows_of_users_are_chosen_each_time(visits):
    users = {"unit": "person", "max_rows_per_user": 2, "epsilon": 1.0}
    first, again = (fake_fit(visits, **users).sample().to_pylist() for _ in range(2))
    assert first == again


def test_a_schema_is_estimated(visits, table):
    model = TabPE(**(FAST | ESTIMATED | {"drop": ["person", "note"]})).fit(visits)
    assert model.schema_.names == SCHEMA.names


def test_a_run_goes_on_with_the_same_table_alone(visits, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    folder = tmp_path / "run"
    first = TabPE(**FAST, run_dir=folder).fit(visits, SCHEMA).sample()
    assert TabPE(**FAST, run_dir=folder).fit(visits, SCHEMA).sample().equals(first)
    fewer = SqlTable(visits.database, query="SELECT * FROM visits LIMIT 1499")
    with pytest.raises(ParameterError, match="not the one"):
        TabPE(**FAST, run_dir=folder).fit(fewer, SCHEMA)


def test_a_draft_leaves_columns_out(visits):
    assert draft_schema(visits, label="ill", drop=["person", "note"]).names == SCHEMA.names


def test_a_report_reads_a_database(visits, table):
    query = "SELECT age, bmi, ward, ill FROM visits ORDER BY person, age, bmi"
    real = SqlTable(visits.database, query=query)
    report = evaluate(real, table.slice(0, 200), schema=SCHEMA, learners=(), verbose=0)
    assert "zznoteqx" not in report.to_html()


def test_rows_keep_their_order_whichever_columns_are_asked_for(visits, table):
    for names in (["person"], ["age", "person"]):
        found = read(visits, names).to_pydict()
        expected = {name: list(map(str, table[name].to_pylist())) for name in names}
        assert {name: list(map(str, cells)) for name, cells in found.items()} == expected


def test_a_file_is_opened_to_be_read_only(stored):
    with use_source(stored["sqlite"]) as source, pytest.raises(sqlite3.OperationalError):
        source._reader.execute("DROP TABLE visits")
    path = stored["duckdb"].database.removeprefix("duckdb:///")
    with use_source(stored["duckdb"]), pytest.raises(duckdb.Error):
        duckdb.connect(path, read_only=False)


def test_a_query_without_an_order_is_refused_when_it_comes_in_another(visits):
    with use_source(SqlTable(visits.database, query="SELECT * FROM visits ORDER BY random()")) as s:
        list(s.batches(["person"]))
        with pytest.raises(DataError, match="end a query with ORDER BY"):
            list(s.batches(["age"]))


def test_what_is_missing_is_said(visits, tmp_path):
    with pytest.raises(DataError, match="no such table"):
        open_source(SqlTable(visits.database, "nothing"))
    kind = visits.database.partition(":")[0]
    with pytest.raises(DataError, match="no such file"):
        open_source(SqlTable(f"{kind}:///{tmp_path}/nothing.db", "visits"))
    Path(tmp_path, "plain.db").write_text("no database\n" * 1000)
    with pytest.raises(DataError) as caught:
        open_source(SqlTable(f"{kind}:///{tmp_path}/plain.db", "visits"))
    assert caught.value.__context__ is None


def test_a_query_may_find_no_rows(visits):
    found = SqlTable(visits.database, query="SELECT * FROM visits WHERE 1 = 0")
    assert [batch.table.num_rows for batch in open_source(found).batches()] in ([], [0])


def test_limits_hold(visits):
    with pytest.raises(DataError, match="more than 2 columns"):
        open_source(visits, limits=Limits(columns=2))
    with pytest.raises(DataError, match="more than 1,000 rows"):
        list(open_source(visits, limits=Limits(rows=1000)).batches(["age"]))
    with pytest.raises(DataError, match="a cell of more than 3 bytes"):
        list(open_source(visits, limits=Limits(cell_bytes=3)).batches(["note"]))


def test_a_table_that_is_dropped_on_the_way_is_an_error():
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t AS SELECT 1 AS a")
    source = open_source(SqlTable(base, "t"))
    assert len(list(source.batches())) == 1
    base.execute("DROP TABLE t")
    with pytest.raises(DataError, match="no such table"):
        list(source.batches())
    base.close()


def test_a_table_that_changes_on_the_way_is_an_error():
    base = duckdb.connect()
    base.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b")
    source = open_source(base.table("t"))
    list(source.batches(["a"]))
    base.execute("UPDATE t SET b = 3")
    list(source.batches(["b"]))
    base.execute("UPDATE t SET a = 3")
    with pytest.raises(DataError, match="the rows changed"):
        list(source.batches(["b"]))


def test_a_relation_is_run_in_batches_and_again(table):
    relation = duckdb.connect().sql("SELECT range AS i, range * 2 AS j FROM range(600000)")
    source = open_source(relation)
    for _ in range(2):
        sizes = [batch.table.num_rows for batch in source.batches(["j"])]
        assert sum(sizes) == 600_000
        assert len(sizes) > 1


def test_types_of_duckdb():
    base = duckdb.connect()
    base.execute("CREATE TYPE mood AS ENUM ('well', 'ill')")
    relation = base.sql(
        "SELECT 1::HUGEINT AS h, 1.5::DECIMAL(9, 2) AS d, uuid() AS u, 'ill'::mood AS m, "
        "'2024-02-29'::DATE AS day, '{}'::JSON AS j, [1] AS l, '\\x00'::BLOB AS b, "
        "'12:00:00+02'::TIMETZ AS t"
    )
    plain = ["h", "d", "u", "m", "day"]
    row = read(relation, plain).to_pylist()[0]
    assert (row["h"], row["d"], row["m"]) == ("1", "1.5", "ill")
    for name in ("j", "l", "b", "t"):
        with pytest.raises(DataError, match=f"column '{name}' is of type"):
            read(relation, [name])


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, None),
        ("a", "a"),
        (False, "false"),
        (7, "7"),
        (0.1, "0.1"),
        (decimal.Decimal("1.10"), "1.1"),
        (datetime.date(2024, 2, 29), "2024-02-29T00:00:00"),
        (datetime.datetime(2024, 2, 29, 12), "2024-02-29T12:00:00"),
        (datetime.time(12, 30), "12:30:00"),
        (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"),
        (b"x", "x"),
        ([1], "\N{REPLACEMENT CHARACTER}"),
        ({}, "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_cells_as_text(cell, text):
    assert format_cell(cell) == text


def test_bytes_are_text():
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t AS SELECT 1 AS a, x'7a7a' AS b, x'ff' AS c")
    assert read(SqlTable(base, "t")).to_pydict() == {"a": ["1"], "b": ["zz"], "c": ["ff"]}
    base.close()


def test_sqlalchemy_in_both_forms(stored, table):
    path = stored["sqlite"].database.removeprefix("sqlite:///")
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    query = "SELECT age FROM visits WHERE ward LIKE 'h%' ORDER BY rowid"
    expected = read(SqlTable(stored["sqlite"].database, query=query))
    assert read(SqlTable(engine, query=query)).equals(expected)
    with engine.connect() as connection:
        assert read(SqlTable(connection, query=query)).equals(expected)
        assert read(SqlTable(connection, "visits"), ["age"]).num_rows == 1500
        assert not connection.closed
        with pytest.raises(DataError, match="no such table"):
            open_source(SqlTable(connection, "nothing"))
    engine.dispose()


def test_any_connection_of_adbc(tmp_path):
    with duck_adbc.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t AS SELECT range AS a FROM range(10)")
        assert read(SqlTable(connection, "t"))["a"].to_pylist() == list(range(10))
        with pytest.raises(DataError):
            open_source(SqlTable(connection, "nothing"))
    with (
        adbc_driver_sqlite.dbapi.connect() as connection,
        pytest.raises(DataError, match="types of SQLite from cells"),
    ):
        open_source(SqlTable(connection, "t"))


def test_a_source_that_nobody_closes_lets_go_by_itself(stored):
    source = open_source(stored["sqlite"])
    reader = source._reader
    del source
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        reader.execute("SELECT 1")

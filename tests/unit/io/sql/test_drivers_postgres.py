"""PostgreSQL, on a real server: types, one state of the table, one order, and nothing else read."""

import datetime

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from facade import SCHEMA, fake_fit
from tabpe import Date, Schema, SqlTable, TabPE, draft_schema
from tabpe.encoding import Encoder
from tabpe.errors import DataError
from tabpe.io import use_source
from tabpe.io.canonical import read_numbers

pytestmark = pytest.mark.xdist_group("postgres")
ROWS = 3_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "person": rng.integers(0, 500, ROWS),
            "age": rng.integers(0, 101, ROWS),
            "bmi": np.round(rng.uniform(10, 60, ROWS), 1),
            "ward": rng.choice(["heart", "lung", "skin"], ROWS).tolist(),
            "ill": rng.integers(0, 2, ROWS) > 0,
            "note": ["private" * 40] * ROWS,
        }
    )


@pytest.fixture(scope="module")
def visits(postgres, table):
    postgres.load("visits", table)
    postgres.run("CREATE INDEX by_person ON visits (person, age)", "VACUUM ANALYZE visits")
    postgres.run("DROP VIEW IF EXISTS ill_ones", "CREATE VIEW ill_ones AS SELECT * FROM visits")
    return SqlTable(postgres.address, "visits")


def read(table, names=None):
    with use_source(table) as source:
        return pa.concat_tables(batch.table for batch in source.batches(names))


def asked(postgres, query, names=None):
    return read(SqlTable(postgres.address, query=query), names)


def refused(postgres, query, names=None):
    with pytest.raises(DataError) as caught:
        asked(postgres, query, names)
    assert caught.value.__context__ is None
    return str(caught.value)


def test_a_table_a_view_and_a_query_give_the_rows(postgres, visits, table):
    places = ("visits", "public.visits", '"public"."visits"', "ill_ones", ["public", "ill_ones"])
    for place in places:
        assert read(SqlTable(postgres.address, place)).equals(table)
    query = "SELECT * FROM visits -- all of them"
    assert read(SqlTable(postgres.address, query=query)).equals(table)


def test_the_synthetic_rows_are_those_of_the_same_table_in_memory(visits, table):
    expected = fake_fit(table).sample().to_pylist()
    assert fake_fit(visits).sample().to_pylist() == expected
    assert fake_fit(visits, engine="stream", spill=False).sample().to_pylist() == expected


def test_users_count_the_same_as_in_memory(postgres, visits, table):
    users = {"unit": "person", "max_rows_per_user": 2, "epsilon": 1.0}
    expected = fake_fit(table, **users).sample().to_pylist()
    for one in (visits, SqlTable(postgres.address, "ill_ones")):
        assert fake_fit(one, **users).sample().to_pylist() == expected


def test_rows_keep_their_order_whichever_columns_are_asked_for(postgres, visits, table):
    with psycopg.connect(postgres.address) as other:
        first = other.execute("SELECT person FROM visits LIMIT 100").fetchall()
    # The server takes them from the index, if it is not told otherwise.
    assert [(one,) for one in table["person"].to_pylist()[:100]] != first
    for names in (["person"], ["age", "person"], ["note"]):
        assert read(visits, names).equals(table.select(names))


def test_a_table_of_many_pages_is_read_from_its_first_row_by_everyone(postgres):
    postgres.run("DROP TABLE IF EXISTS large")
    postgres.run("CREATE TABLE large AS SELECT i FROM generate_series(1, 300000) i")
    with psycopg.connect(postgres.address) as other, other.cursor("begun") as begun:
        begun.execute("SELECT i FROM large")
        begun.fetchmany(150_000)
        # The server lets another reader join where this one is, if it is not told otherwise.
        assert other.execute("SELECT i FROM large LIMIT 1").fetchone() != (1,)
        found = read(SqlTable(postgres.address, "large"))
    assert found["i"].to_pylist()[:3] == [1, 2, 3]


def test_types(postgres):
    postgres.run("DROP TYPE IF EXISTS mood CASCADE", "CREATE TYPE mood AS ENUM ('well', 'ill')")
    found = asked(
        postgres,
        "SELECT 1::int2 AS i2, 9007199254740993::int8 AS i8, 0.1::float4 AS f4, 0.1::float8 AS f8, "
        "1.10::numeric(9, 2) AS n2, 0.07::numeric AS n, true AS b, 'x'::varchar AS v, "
        "'ab'::char(4) AS c, '2024-02-29'::date AS d, '2024-02-29 12:00:00.5'::timestamp AS t, "
        "'2024-02-29 12:00+02'::timestamptz AS z, '12:30'::time AS clock, "
        "'123e4567-e89b-12d3-a456-426614174000'::uuid AS u, 'well'::mood AS m, NULL::text AS no",
    )
    (row,) = found.to_pylist()
    assert row.pop("f4") == pytest.approx(0.1)
    assert row == {
        "i2": 1,
        "i8": 9007199254740993,
        "f8": 0.1,
        "n2": "1.10",
        "n": "0.07",
        "b": True,
        "v": "x",
        "c": "ab",
        "d": datetime.date(2024, 2, 29),
        "t": datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000),
        "z": datetime.datetime(2024, 2, 29, 10, tzinfo=datetime.UTC),
        "clock": datetime.time(12, 30),
        "u": "123e4567-e89b-12d3-a456-426614174000",
        "m": "well",
        "no": None,
    }


@pytest.mark.parametrize(
    ("term", "kind"),
    [
        ("'{}'::json", "json"),
        ("'{}'::jsonb", "jsonb"),
        ("'x'::bytea", "bytea"),
        ("ARRAY[1]", "_int4"),
        ("'1 day'::interval", "interval"),
        ("1::money", "money"),
        ("'(1,2)'::point", "point"),
    ],
)
def test_what_is_no_plain_type_is_refused_only_if_it_is_asked_for(postgres, term, kind):
    query = f"SELECT {term} AS odd, 1 AS a"
    message = refused(postgres, query)
    assert f"column 'odd' is of type {kind}: leave it out, or cast it in a query" in message
    assert asked(postgres, query, ["a"]).to_pydict() == {"a": [1]}


def test_numbers_that_are_none_or_too_large(postgres):
    query = "SELECT x::numeric AS n, x::float8 AS f FROM (VALUES ('NaN'), ('Infinity')) v(x)"
    found = asked(postgres, query).to_pydict()
    assert found["n"][0] is None
    large = asked(postgres, "SELECT 1e400::numeric AS n")["n"]
    for cells in (found["n"][1:], found["f"][1:], large.to_pylist()):
        assert read_numbers(pa.array(cells)).tolist() == [float("inf")]
    assert asked(postgres, "SELECT 'NaN'::numeric(5,2) AS n").to_pydict() == {"n": [None]}


@pytest.mark.parametrize(
    "term",
    [
        *("'infinity'::date", "'-infinity'::date", "'infinity'::timestamp"),
        *("'-infinity'::timestamptz", "'294276-01-01'::timestamp"),
    ],
)
def test_a_moment_without_end_is_no_value(postgres, term):
    kind = term.partition("::")[2]
    query = f"SELECT '2024-01-01'::{kind} AS at UNION ALL SELECT {term}"
    known, endless = asked(postgres, query)["at"].to_pylist()
    assert (known.year, endless) == (2024, None)


def test_moments_beyond_the_years_of_python_are_clamped_to_their_bounds(postgres):
    schema = Schema((Date("at", datetime.date(2000, 1, 1), datetime.date(2010, 1, 1)),))
    query = "SELECT x::date AS at FROM (VALUES ('4713-01-01 BC'), ('20000-01-01')) v(x)"
    rows, _ = Encoder(schema).encode(asked(postgres, query))
    assert rows.numbers.ravel().tolist() == [0.0, 1.0]


def test_a_change_is_not_seen_and_a_table_in_use_is_not_dropped(postgres):
    postgres.run("DROP TABLE IF EXISTS moving", "CREATE TABLE moving AS SELECT 1 AS a")
    with use_source(SqlTable(postgres.address, "moving")) as source:
        postgres.run("INSERT INTO moving VALUES (2)")
        for _ in range(2):
            assert [batch.table.num_rows for batch in source.batches()] == [1]
        with psycopg.connect(postgres.address) as other:
            other.execute("SET lock_timeout = 50")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute("DROP TABLE moving")
    postgres.run("DROP TABLE moving")


def test_nothing_can_be_written(postgres):
    postgres.run("DROP SEQUENCE IF EXISTS counter", "CREATE SEQUENCE counter")
    assert "only allowed to read" in refused(postgres, "SELECT setval('counter', 7) AS a")
    assert "SQLSTATE 0A000" in refused(
        postgres, "WITH x AS (DELETE FROM visits RETURNING *) SELECT * FROM x"
    )


def test_only_the_columns_that_are_asked_for_leave_the_database(postgres, visits):
    postgres.run("DROP ROLE IF EXISTS bob", f"CREATE ROLE bob LOGIN PASSWORD '{postgres.password}'")
    postgres.run("GRANT SELECT ON visits TO bob")
    place = SqlTable(postgres.address.replace("//ann", "//bob"), "visits")
    with use_source(place) as source:
        postgres.run("REVOKE SELECT ON visits FROM bob", "GRANT SELECT (age) ON visits TO bob")
        assert next(source.batches(["age"])).table.num_rows == ROWS
        with pytest.raises(DataError, match="SQLSTATE 42501"):
            next(source.batches(["age", "note"]))
    postgres.run("REVOKE SELECT (age) ON visits FROM bob", "DROP ROLE bob")


def test_names_may_be_anything(postgres):
    odd = 'My "odd" Täble; --'
    name = odd.replace('"', '""')
    postgres.run(f'DROP TABLE IF EXISTS "{name}"')
    postgres.run(f'CREATE TABLE "{name}" AS SELECT 1 AS "A ""b""", 2 AS "a; drop", 3 AS "select"')
    found = read(SqlTable(postgres.address, [odd]))
    assert found.to_pydict() == {'A "b"': [1], "a; drop": [2], "select": [3]}


def test_as_many_columns_as_a_table_can_have(postgres):
    columns = ", ".join(f"{place} AS c{place}" for place in range(1600))
    postgres.run("DROP TABLE IF EXISTS wide", f"CREATE TABLE wide AS SELECT {columns}")
    found = read(SqlTable(postgres.address, "wide"))
    assert found.num_columns == 1600
    assert found["c1599"].to_pylist() == [1599]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM nothing", "no such table"),
        ("SELECT nothing FROM visits", "no such column"),
        ("SELECT 1 AS a, 2 AS a", "have the same name"),
        ("SELECT a FROM visits b LIMIT LIMIT", "SQLSTATE 42601"),
        ("SELECT (age / 0) AS a FROM visits", "can not be read as the query says"),
        ("SELECT (note)::int AS a FROM visits", "can not be read as the query says"),
        ("SELECT age FROM visits ORDER BY random()", None),
    ],
)
def test_what_is_wrong_is_said_without_the_words_of_the_server(postgres, visits, query, expected):
    if expected is not None:
        message = refused(postgres, query)
        assert expected in message
        assert "private" not in message
        assert "SELECT" not in message
        return
    with use_source(SqlTable(postgres.address, query=query)) as source:
        list(source.batches())
        with pytest.raises(DataError, match="end a query with ORDER BY"):
            list(source.batches())


def test_a_server_that_goes_away(postgres, visits):
    with use_source(visits) as source:
        list(source.batches(["age"]))
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE state = 'idle in transaction'"
        )
        with pytest.raises(DataError, match=r"was lost|shut down"):
            list(source.batches(["age"]))


def test_a_connection_of_yours_is_left_as_it_is(postgres, visits, table):
    with postgres.connected() as connection:
        assert read(SqlTable(connection, "visits")).equals(table)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('transaction_isolation')")
            assert cursor.fetchall() == [("read committed",)]
    with psycopg.connect(postgres.address) as connection:
        found = read(SqlTable(connection, "visits"), ["age", "bmi", "ill"])
        assert found["age"].to_pylist() == list(map(str, table["age"].to_pylist()))
        assert connection.closed is False


def test_a_draft_and_an_estimated_schema(visits, postgres):
    drafted = draft_schema(visits, label="ill", drop=["person", "note"])
    assert drafted.names == SCHEMA.names
    usual = {"epsilon": 50.0, "delta": 1e-6, "n_samples": 30, "random_state": 0, "verbose": 0}
    estimated = TabPE(
        schema="private",
        estimate_columns="all",
        label="ill",
        drop=["person", "note"],
        **usual,
    ).fit(visits)
    assert estimated.schema_.names == SCHEMA.names
    assert estimated.sample().num_rows == 30

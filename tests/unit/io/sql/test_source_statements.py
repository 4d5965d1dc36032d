"""Questions to a database: names are quoted, and a query is one SELECT."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.errors import ParameterError
from tabpe.io.sql.source import SqlSelection, check_query, parse_table_name, quote_name

NAMES = st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1)


@given(NAMES, NAMES)
def test_no_name_is_more_than_a_name(table, column):
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE {quote_name(table)} ({quote_name(column)} TEXT)")
        base.execute(f"INSERT INTO {quote_name(table)} VALUES ('x')")
        assert base.execute(SqlSelection((table,)).select_columns([column])).fetchall() == [("x",)]
    base.close()


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("visits", ("visits",)),
        ("ward.visits", ("ward", "visits")),
        ("a.b.c", ("a", "b", "c")),
        ('ward."visits.2024"', ("ward", "visits.2024")),
        ('"Say ""ah"""', ('Say "ah"',)),
        ("My Visits", ("My Visits",)),
        (("ward", "a.b"), ("ward", "a.b")),
    ],
)
def test_the_parts_of_a_name(given, parts):
    assert parse_table_name(given) == parts


@pytest.mark.parametrize("given", ["", "a..b", ".a", "a.", '"a', 'a"b', '"a"b', 3, [], [""], [1]])
def test_what_is_no_name_is_refused(given):
    with pytest.raises(ParameterError, match="expected a name such as"):
        parse_table_name(given)


def test_a_name_with_nul_is_refused():
    with pytest.raises(ParameterError, match="NUL"):
        quote_name("a\0b")


QUERIES = [
    "SELECT a FROM t",
    "  select a from t ;  ",
    "WITH x AS (SELECT 1 AS a) SELECT a FROM x",
    "(SELECT 1) UNION (SELECT 2)",
    "VALUES (1), (2)",
    "SELECT ';', \"a;b\" FROM t -- ; or so",
    "/* first ; */ SELECT $$;)$$ FROM t",
    "SELECT '(' FROM t WHERE a IN (1, 2)",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_select_is_taken(query):
    assert check_query(query) == query.strip().rstrip(";").strip()


NO_QUERIES = [
    "",
    "DELETE FROM t",
    "INSERT INTO t VALUES (1)",
    "DROP TABLE t",
    "COPY t TO '/tmp/x'",
    "EXPLAIN ANALYZE DELETE FROM t",
    "SELECT 1; DROP TABLE t",
    "SELECT 1) x; DROP TABLE t; --",
    "SELECT 1) x WHERE (1 = 1",
    "SELECT 1) UNION (SELECT 2",
    "SELECT 'open",
    'SELECT "open',
    "SELECT 1 /* open",
    "SELECT (1",
    "SELECT 1\0",
    3,
    None,
]


@pytest.mark.parametrize("query", NO_QUERIES)
def test_what_is_no_single_select_is_refused(query):
    with pytest.raises(ParameterError, match="query: "):
        check_query(query)


def test_a_comment_at_the_end_of_a_query_ends_there():
    with sqlite3.connect(":memory:") as base:
        asked = SqlSelection(query="SELECT 1 AS a -- the end").select_columns(["a"])
        assert base.execute(asked).fetchall() == [(1,)]
    base.close()

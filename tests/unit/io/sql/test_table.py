"""`SqlTable`: what it takes, what it refuses, and that it shows no password."""

import sqlite3
from contextlib import closing

import pytest

from tabpe import Integer, Schema, SqlTable, TabPE
from tabpe._utils.files import has_password, strip_secrets
from tabpe.errors import DataError, ParameterError
from tabpe.io import open_source

SECRET = "zzsecretqx"
ADDRESSES = [
    f"postgresql://ann:{SECRET}@db/ward",
    f"postgresql://ann:{SECRET}@db:5432,other:5432/ward?sslmode=require",
    f"postgresql://ann@db/ward?password={SECRET}",
    f"postgresql://ann@db/ward?sslpassword=a@{SECRET}",
    f"postgresql://ann:a/{SECRET}@db/ward",
    f"postgresql://ann:a?{SECRET}@db/ward",
    f"postgresql://ann:a#{SECRET}@db/ward",
    f"postgresql://ann:a@{SECRET}@db/ward",
    f"postgresql:/ann:{SECRET}@db/ward",
    f"s3://key:{SECRET}@bucket/folder",
    f"s3://key:a/{SECRET}@bucket/folder",
    f"s3://bucket/folder?secret_key={SECRET}",
    f"postgres;//ann:{SECRET}@db",
    f"ann:{SECRET}@db",
    f"postgresql://ann:\n{SECRET}@db/ward",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_shown_without_its_secrets(address):
    assert SECRET not in strip_secrets(address)


@pytest.mark.parametrize("address", [one for one in ADDRESSES if one.startswith("postgresql:/")])
def test_a_password_is_noticed(address):
    assert has_password(address)
    table = SqlTable(address, "visits")
    assert SECRET not in repr(table) + str(table) + table.where


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_error_about_an_address_shows_its_secrets(address):
    with pytest.raises((DataError, ParameterError)) as caught:
        open_source(address if "//" not in address[:13] else address.replace("s3:", "http:"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sqlite:///a.db",), "table, query: expected"),
        (("sqlite:///a.db", "t", "SELECT 1"), "table, query: expected"),
        (("sqlite:///a.db", ""), "expected a name such as"),
        (("sqlite:///a.db", None, "DROP TABLE t"), "expected a single SELECT"),
        (("mysql://db/a", "t"), "known: 'postgresql', 'postgres', 'duckdb', 'sqlite'"),
        (("postgresq://db/a", "t"), "did you mean 'postgresql'?"),
        (("a.db", "t"), "expected an address, such as postgresql://host/name"),
        (("sqlite:///a.db", "t", None, "NAME"), "password_env: only for an address postgresql"),
        ((3, "t", None, "NAME"), "password_env: only for an address postgresql"),
    ],
)
def test_what_is_no_table_is_refused_at_once(words, message):
    with pytest.raises(ParameterError) as caught:
        SqlTable(*words)
    assert message in str(caught.value)


@pytest.mark.parametrize("address", ["sqlite://a.db", "sqlite:///", "duckdb://host/a.db"])
def test_a_file_needs_three_slashes(address):
    with pytest.raises(ParameterError, match="three slashes"):
        open_source(SqlTable(address, "t"))


def test_the_password_of_the_environment_goes_into_the_address(monkeypatch):
    monkeypatch.setenv("WORD", "p@ss/w:rd?")
    table = SqlTable("postgresql://ann@db/ward", "visits", password_env="WORD")
    assert table.address == "postgresql://ann:p%40ss%2Fw%3Ard%3F@db/ward"
    monkeypatch.setenv("WORD", "")
    with pytest.raises(ParameterError, match="password_env='WORD': the environment has no such"):
        _ = table.address
    twice = SqlTable(f"postgresql://ann:{SECRET}@db/ward", "visits", password_env="PATH")
    with pytest.raises(ParameterError, match="a user and no password") as caught:
        _ = twice.address
    assert SECRET not in str(caught.value)


def test_what_is_no_connection_is_refused():
    with pytest.raises(DataError, match="int is not a connection"):
        open_source(SqlTable(3, "t"))


def test_a_database_alone_is_no_table():
    with pytest.raises(DataError, match="--table, --query, or tabpe"):
        open_source("sqlite:///ward.db")


def test_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql", None)
    with pytest.raises(ParameterError, match=r"pip install 'tabpe\[sql\]'"):
        open_source(SqlTable("postgresql://db/ward", "visits"))


def test_a_connection_shows_as_its_package():
    base = sqlite3.connect(":memory:")
    assert repr(SqlTable(base, "t")) == "SqlTable('a connection of sqlite3', table='t')"
    base.close()


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_workers_of_a_cluster_have_no_connection(tmp_path, engine):
    with closing(sqlite3.connect(tmp_path / "t.db")) as made:
        made.execute("CREATE TABLE people (age INTEGER)")
        made.execute("INSERT INTO people VALUES (31)")
        made.commit()
    table = SqlTable(f"sqlite:///{tmp_path / 't.db'}", "people")
    schema = Schema((Integer("age", 0, 100),))
    with pytest.raises(ParameterError, match=r"lives in a database.*engine='auto'"):
        TabPE(engine=engine, delta=1e-6, verbose=0).fit(table, schema)

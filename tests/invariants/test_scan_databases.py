"""Runs on tables in a database leave nothing behind of the rows, nor of the password."""

import pytest

from planted import SCHEMA, STRICT, table
from postgres import DATABASE
from tabpe import SqlTable
from tabpe.errors import DataError

pytestmark = pytest.mark.xdist_group("postgres")
WRONG = "zzwrongqx"
LEDGER = ("--ledger", "ledger.db", "--dataset", "patients")
USUAL = ("--delta", "1e-6", "--rows", 300, "-o", "out.csv", "--force")
QUOTING = "SELECT *, (CASE note WHEN 'fine' THEN '1' ELSE note END)::int AS bad FROM planted"
RUNS = {
    "table": ("--table", "planted", "--run-dir", "run", *LEDGER),
    "query, streamed": (
        *("--query", "SELECT * FROM planted", "--engine", "stream", "--no-spill"),
        *("--unit", "person"),
    ),
    "estimated": (
        "--table",
        "planted",
        "--private-schema",
        "--estimate-columns",
        "all",
        "--estimate-columns",
        "note",
        "--label",
        "ill",
        "--drop",
        "person",
    ),
}


@pytest.fixture
def database(scene, postgres, monkeypatch):
    """The scene with its table on the server, and the password among what must not be seen."""
    postgres.load("planted", table())
    secrets = {"the password": postgres.password.encode(), "the wrong password": WRONG.encode()}
    scene._pieces = scene._pieces | secrets
    monkeypatch.setenv("WORD", postgres.password)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    return postgres


def synth(scene, database, *words, schema="schema.yaml"):
    declared = () if schema is None else ("--schema", scene.private / schema)
    usual = ("--password-env", "WORD", "--preset", "best", *USUAL)
    return scene.tabpe("synth", database.open_address, *declared, *usual, *words)


@pytest.mark.parametrize("kind", RUNS)
def test_a_command_leaks_nothing(scene, database, kind):
    schema = None if "--private-schema" in RUNS[kind] else "schema.yaml"
    found = synth(scene, database, *RUNS[kind], schema=schema)
    assert found == 0, scene.evidence()["stderr"]
    assert scene.leaks() == []


def test_a_fit_with_the_password_in_its_address_leaks_nothing(scene, database):
    place = SqlTable(database.address, "planted")
    model = scene.fit(place, run_dir="run", ledger="ledger.db", dataset="patients", verbose=1)
    assert model.certificate.private
    scene.said.append(f"{place!s} {place!r} {place.where}")
    assert scene.leaks() == []


FAILURES = {
    "no such table": (0, "nothing", None),
    "no such column": (0, None, "SELECT age FROM planted"),
    "a query that quotes a cell": (0, None, QUOTING),
    "no server": (1, "planted", None),
    "no such database": (2, "planted", None),
    "wrong password": (3, "planted", None),
    "an option that is none": (4, "planted", None),
    "a host that is none": (5, "planted", None),
    "an encoding that is none": (6, "planted", None),
}


def spoilt(address, port, place):
    """An address with something wrong in it."""
    return [
        address,
        address.replace(f":{port}", ":1"),
        address.replace(f"/{DATABASE}", "/nothing"),
        address.replace(address.split(":")[2].partition("@")[0], WRONG),
        f"{address}?password={WRONG}&nothing={WRONG}",
        address.replace("127.0.0.1", "[127.0.0.1"),
        address.replace("//ann:", f"//ann:{WRONG}%zz"),
    ][place]


@pytest.mark.parametrize("kind", FAILURES)
def test_what_fails_shows_neither_password_nor_cell(scene, database, kind):
    place, name, query = FAILURES[kind]
    address = spoilt(database.address, database.port, place)
    error = scene.fit(SqlTable(address, name, query=query), run_dir="run")
    if kind == "a query that quotes a cell":
        error = scene.fit(
            SqlTable(address, query=query),
            schema="private",
            estimate_columns=["all", "note"],
            label="ill",
        )
    assert isinstance(error, DataError)
    assert scene.leaks() == []


def test_a_cell_outside_the_schema_is_not_shown(scene, database):
    error = scene.fit(SqlTable(database.address, "planted"), STRICT, strict=True)
    assert "column 'ward'" in str(error)
    assert "in row" in str(error)
    assert scene.leaks() == []


def test_the_search_finds_a_password(scene, database):
    scene.said.append(database.address)
    assert "the password in words" in scene.leaks()


def test_a_refused_command_shows_no_password(scene, database, monkeypatch):
    monkeypatch.setenv("WORD", WRONG)
    assert synth(scene, database, "--table", "planted") == 2
    words = ("--table", "planted", "--schema", scene.private / "schema.yaml", *USUAL)
    assert scene.tabpe("synth", database.address, *words) == 2
    assert (
        scene.tabpe("schema", "init", database.address, "-o", "s.yaml", "--table", "planted") == 2
    )
    assert b"password in a command" in scene.evidence()["stderr"]
    assert scene.leaks() == []


def test_only_declared_columns_are_asked_for(scene, database):
    before = len(database.log())
    assert scene.fit(SqlTable(database.address, "planted")).certificate.private
    asked = [line for line in database.log()[before:].splitlines() if 'FROM "planted"' in line]
    read = [line for line in asked if "1 = 0" not in line]
    assert read
    names = ", ".join(f'"{name}"' for name in SCHEMA.names)
    assert all(names in line for line in read)
    assert not any("person" in line or "note" in line for line in read)

"""Of a file without a header the first row is taken for names: it is shown nowhere."""

import traceback

import pyarrow as pa
import pytest

from facade import FAST
from tabpe import Categorical, Integer, Schema, TabPE, draft_schema, evaluate
from tabpe.errors import TabpeError
from tabpe.io import open_source

SECRETS = ("Annqx", "4711", "lungqx")
SCHEMA = Schema(
    (Integer("age", 0, 100), Categorical("ward", ("lungqx", "heartqx"))),
    label="ward",
)


@pytest.fixture
def headerless(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("Annqx,4711,lungqx\n" + "Bobqx,31,heartqx\n" * 50)
    return path


def refused(call):
    """Return the words of an error that shows no cell, nor do others behind it."""
    with pytest.raises(TabpeError) as caught:
        call()
    told = "".join(traceback.format_exception(caught.value))
    assert not any(secret in told for secret in SECRETS)
    return str(caught.value)


def test_a_declared_schema(headerless):
    message = refused(lambda: TabPE(**FAST).fit(headerless, SCHEMA))
    assert "no column 'age'" in message
    assert "does its first line hold the column names?" in message


@pytest.mark.parametrize(
    "options", [{}, {"label": "ward"}, {"unit": "person"}, {"drop": ["person"]}], ids=str
)
def test_an_estimated_schema(headerless, options):
    model = TabPE(**(FAST | {"schema": "private", "public_rows": 50} | options))
    assert "does its first line hold the column names" in refused(lambda: model.fit(headerless))


def test_the_column_of_users(headerless):
    model = TabPE(**(FAST | {"unit": "person", "epsilon": 1.0}))
    assert "does its first line" in refused(lambda: model.fit(headerless, SCHEMA))


def test_a_draft(headerless):
    for options in ({"label": "ward"}, {"drop": ["ward"]}):
        assert "does its first line" in refused(lambda o=options: draft_schema(headerless, **o))


def test_an_evaluation(headerless):
    made = pa.table({"age": [31, 42], "ward": ["lungqx", "heartqx"]})
    refused(lambda: evaluate(headerless, made, schema=SCHEMA))
    refused(lambda: evaluate(headerless, made, label="ward"))


@pytest.mark.parametrize("line", ["Annqx,4711,Annqx", "Annqx,,4711"])
def test_names_twice_or_missing(tmp_path, line):
    path = tmp_path / "people.csv"
    path.write_text(f"{line}\n1,2,3\n")
    message = refused(lambda: open_source(path))
    assert ("columns 1 and 3" if line.endswith("Annqx") else "column 2") in message


def test_names_are_shown_if_one_of_them_is_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("agee,ward\n31,lungqx\n")
    with pytest.raises(TabpeError, match="no column 'age': did you mean 'agee'"):
        TabPE(**FAST).fit(path, SCHEMA)


def test_names_that_are_years_are_fine_beside_one_that_is_declared(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("2019,2020,ward\n" + "1,2,lungqx\n3,4,heartqx\n" * 150)
    model = TabPE(
        **(
            FAST
            | {"schema": "private", "estimate_columns": "all", "public_rows": 300, "label": "ward"}
        )
    )
    assert model.fit(path).schema_.names == ("2019", "2020", "ward")

"""A certificate holds for the rows that it names: `evaluate` compares them, or says that not."""

import hashlib

import pyarrow as pa
import pytest

from certificates import SCHEMA, honest
from tabpe import evaluate, evaluate_public
from tabpe.accounting import WrittenTable
from tabpe.evaluation.report.guarantee import is_compared, list_doubts
from tabpe.io import make_table_writer
from tabpe.verification import FAILED, GIVEN, OK

ROWS = pa.table(
    {
        "age": list(range(20, 50)),
        "bmi": [20.5 + place / 10 for place in range(30)],
        "ward": ["heart", "lung", "else"] * 10,
    }
)
CAUTION = "The rows were not compared"


@pytest.fixture(params=["out.csv", "out.parquet"])
def released(tmp_path, request):
    """A table in a file, and a certificate that names it."""
    path = tmp_path / request.param
    with path.open("wb") as file:
        make_table_writer(ROWS, path)(file)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    named = WrittenTable(path.name, sha256, ROWS.num_rows, path.stat().st_size)
    return path, honest(release=named, schema=SCHEMA)


def outcome(report):
    checks = report.contents.verification.checks
    return next(check.outcome for check in checks if check.name == "table")


def show(synthetic, certificate):
    return evaluate_public(synthetic, certificate=certificate, verbose=0)


def test_a_file_is_compared(released):
    path, certificate = released
    assert outcome(show(path, certificate)) == OK
    path.write_bytes(path.read_bytes() + b"\n")
    assert outcome(show(str(path), certificate)) == FAILED if path.suffix == ".csv" else True


def test_rows_in_memory_are_compared_by_writing_them_anew(released):
    report = show(ROWS, released[1])
    assert outcome(report) == OK
    assert is_compared(report.contents)
    assert CAUTION not in report.to_html()


def test_rows_of_other_values_are_not_taken_for_those_of_the_certificate(released):
    other = ROWS.set_column(0, "age", pa.array(reversed(range(20, 50))))
    report = show(other, released[1])
    assert outcome(report) == GIVEN
    assert not is_compared(report.contents)
    assert any("not compared" in doubt for doubt in list_doubts(report.contents))
    assert CAUTION in report.to_html()


def test_another_number_of_rows_or_other_columns_fail(released):
    assert outcome(show(ROWS.slice(1), released[1])) == FAILED
    assert outcome(show(ROWS.select(["bmi", "age", "ward"]), released[1])) == FAILED


@pytest.mark.parametrize("as_file", [True, False])
def test_a_certificate_that_names_no_table_is_not_compared(released, as_file):
    rows = released[0] if as_file else ROWS
    report = show(rows, honest(schema=SCHEMA))
    assert outcome(report) == GIVEN
    assert report.contents.verification.holds
    assert CAUTION in report.to_html()


def test_the_report_of_the_custodian_compares_as_well(released):
    other = ROWS.set_column(0, "age", pa.array(reversed(range(20, 50))))
    for rows, expected in ((ROWS, OK), (other, GIVEN), (ROWS.slice(1), FAILED)):
        report = evaluate(ROWS, rows, certificate=released[1], verbose=0)
        assert outcome(report) == expected

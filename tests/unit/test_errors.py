"""The exception tree and its hints."""

import pytest

from tabpe import errors
from tabpe.errors import did_you_mean, missing_value

EXIT_CODES = {
    errors.TabpeError: 1,
    errors.NotFittedError: 1,
    errors.CapacityError: 1,
    errors.ParameterError: 2,
    errors.SchemaError: 2,
    errors.RuleError: 2,
    errors.DataError: 2,
    errors.OutputError: 2,
    errors.ArchiveError: 2,
    errors.FieldError: 2,
    errors.LedgerError: 2,
    errors.BudgetError: 3,
}


@pytest.mark.parametrize(("kind", "code"), EXIT_CODES.items())
def test_every_error_has_the_exit_code_of_its_kind(kind, code):
    assert issubclass(kind, errors.TabpeError)
    assert kind.exit_code == code
    assert str(kind("one line")) == "one line"


def test_every_error_of_the_package_has_an_exit_code_here():
    kinds = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.TabpeError)
    }
    assert kinds - {errors.CellError} == set(EXIT_CODES)


@pytest.mark.parametrize(
    ("file", "said"), [(None, "it is bad in row 112."), ("a.csv", "a.csv: it is bad in row 112.")]
)
def test_the_row_of_a_cell_can_be_counted_in_its_file(file, said):
    error = errors.CellError("it is bad", 12, ".").at(file, first_row=100)
    assert (str(error), error.row, error.file, error.exit_code) == (said, 112, file, 2)
    assert isinstance(error, errors.DataError)


@pytest.mark.parametrize(
    ("kind", "usual"),
    [
        (errors.ParameterError, ValueError),
        (errors.SchemaError, ValueError),
        (errors.DataError, ValueError),
        (errors.ArchiveError, ValueError),
        (errors.LedgerError, ValueError),
        (errors.OutputError, OSError),
        (errors.NotFittedError, AttributeError),
        (errors.NotPrivateWarning, UserWarning),
        (errors.ThinVotesWarning, UserWarning),
    ],
)
def test_who_expects_the_usual_error_gets_it(kind, usual):
    assert issubclass(kind, usual)


def test_a_missing_value_is_named_by_column_and_row():
    error = missing_value("age", 17)
    assert isinstance(error, errors.DataError)
    assert str(error).startswith("column 'age' has no value in row 17")


@pytest.mark.parametrize(
    ("name", "options", "hint"),
    [
        ("ages", ["age", "sex"], "did you mean 'age'?"),
        ("AGE", ["age", "sex"], "did you mean 'age'?"),
        ("zip", ["age", "sex"], "known: 'age', 'sex'"),
        ("zip", (name for name in ["age", "sex"]), "known: 'age', 'sex'"),
        ("zip", list("abcdefgh"), "known: 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"),
        ("zip", list("abcdefghj"), "known: 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ..."),
    ],
)
def test_a_hint_names_the_closest_option_or_lists_a_few(name, options, hint):
    assert did_you_mean(name, options) == hint

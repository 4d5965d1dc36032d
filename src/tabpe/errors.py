"""The exceptions and warnings of tabpe.

Every error names the parameter, what was given, what is allowed and what to do next. None ever
carries a value of a private cell: only columns, limits and row numbers.

The exit code of the command line follows from the class of the error: 1 failed, 2 wrong use or bad
input, 3 budget refused.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any, ClassVar, Self

_LISTED = 8
HEADER = "if it is CSV, does its first line hold the column names?"
_LONGEST_GUESSED = 200
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 10


class TabpeError(Exception):
    """The base of all errors of tabpe.

    Attributes:
        in_terminal: The message in the words of the command line, if it differs.
    """

    exit_code: ClassVar[int] = 1
    in_terminal: str | None = None

    def with_advice(self, in_python: str, in_terminal: str) -> Self:
        """Add what to do next, in the words of Python and in those of the command line.

        Example:
            >>> error = TabpeError("too much.").with_advice("Pass epsilon=1.", "Pass --epsilon 1.")
            >>> print(error), print(error.in_terminal)
            too much. Pass epsilon=1.
            too much. Pass --epsilon 1.
            (None, None)
        """
        self.in_terminal = f"{self.in_terminal or self} {in_terminal}"
        self.args = (f"{self} {in_python}", *self.args[1:])
        return self


class ParameterError(TabpeError, ValueError):
    """A parameter has a value that is not allowed."""

    exit_code = 2


class SchemaError(TabpeError, ValueError):
    """A schema is invalid, or does not fit the table it should describe."""

    exit_code = 2


class RuleError(SchemaError):
    """The rules of a schema contradict each other: no row satisfies all of them."""


class DataError(TabpeError, ValueError):
    """A table can not be read as its schema says. Names columns and rows, never values."""

    exit_code = 2


class CellError(DataError):
    """A cell can not be read as its schema says: names its column and row, never its value.

    Args:
        what: The message before the row.
        row: The row, from 1.
        then: The message after the row.
        file: The file in which the row is counted, if any.

    Example:
        >>> error = CellError("column 'age' has no value", 2, ": fill it.")
        >>> print(error)
        column 'age' has no value in row 2: fill it.
        >>> print(error.at("ages.csv", first_row=100))
        ages.csv: column 'age' has no value in row 102: fill it.
    """

    def __init__(self, what: str, row: int, then: str, file: str | None = None) -> None:
        self.what, self.row, self.then, self.file = what, row, then, file
        super().__init__(("" if file is None else f"{file}: ") + f"{what} in row {row}{then}")

    def __reduce__(self) -> tuple[type[CellError], tuple[str, int, str, str | None]]:
        return type(self), (self.what, self.row, self.then, self.file)

    def at(self, file: str | None, first_row: int) -> CellError:
        """Return the error for `file`, with `first_row` added to the row."""
        return CellError(self.what, first_row + self.row, self.then, file)


class OutputError(TabpeError, OSError):
    """An output file can not be written."""

    exit_code = 2


class ArchiveError(TabpeError, ValueError):
    """A saved model can not be opened."""

    exit_code = 2


class FieldError(ArchiveError):
    """Fields of a certificate are missing, unknown or malformed; names them."""


class LedgerError(TabpeError, ValueError):
    """A ledger can not be used, is inconsistent, or does not allow the request."""

    exit_code = 2


class BudgetError(TabpeError):
    """The run would exceed the privacy budget."""

    exit_code = 3


class NotFittedError(TabpeError, AttributeError):
    """A fitted attribute was used before `fit`."""


class NotPrivateWarning(UserWarning):
    """The output does not have the privacy guarantee that its user may expect."""


class NoBudgetWarning(UserWarning):
    """A ledger records a run for a data set without a budget.

    Attributes:
        in_terminal: The message in the words of the command line, if it differs.
    """

    in_terminal: str | None = None


class ThinVotesWarning(UserWarning):
    """There are more candidates than the noisy votes can distinguish."""


class ThinSupportWarning(UserWarning):
    """A sample repeats rows, or few of the synthetic rows fulfil its conditions."""


class CapacityError(TabpeError):
    """A configuration needs more memory or cells than a method allows."""


class SlowVotesWarning(UserWarning):
    """The compiled extension is missing, and the slower numpy code is used."""


def missing_value(column: str, row: int) -> CellError:
    """Return the error for an empty cell; `row` counts from 1."""
    then = ": declare the column `nullable: true`, fill the cell, or drop the row or the column."
    return CellError(f"column {column!r} has no value", row, then)


def shown(value: Any) -> str:
    """Return a shortened `repr` of a value, which may have many megabytes.

    Example:
        >>> shown("ward"), shown("a" * 10**6)[-10:]
        ("'ward'", "aaaaaaaaa'")
        >>> shown([[1] * 20] * 2)
        '[[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...], [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...]]'
    """
    return _SHORT.repr(value)


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return a hint that names the closest option, or lists a few.

    Example:
        >>> did_you_mean("ages", ["age", "sex"])
        "did you mean 'age'?"
        >>> did_you_mean("zip", ["age", "sex"])
        "known: 'age', 'sex'"
    """
    known, name = list(options), name[:_LONGEST_GUESSED]
    lowered = {option.lower(): option for option in reversed(known)}
    close = difflib.get_close_matches(name, known, n=1) or [
        lowered[match] for match in difflib.get_close_matches(name.lower(), lowered, n=1)
    ]
    if close:
        return f"did you mean {close[0]!r}?"
    listed = ", ".join(repr(option) for option in known[:_LISTED])
    return f"known: {listed}" + (", ..." if len(known) > _LISTED else "")


def column_hint(name: str, table: Iterable[str], declared: Iterable[str]) -> str:
    """Return a hint about a column that a table lacks.

    Privacy: in a file without a header, the cells of the first row are taken for names. So names of
    a table are shown only if one of them is declared.

    Args:
        name: The missing column.
        table: The column names of the table.
        declared: All names declared in a schema or a parameter.

    Example:
        >>> column_hint("ages", ["age", "sex"], ["ages", "sex"])
        "did you mean 'age'?"
        >>> column_hint("age", ["31", "Ann"], ["age", "sex"])
        'no declared column is there: if it is CSV, does its first line hold the column names?'
    """
    known = list(table)
    if set(known).isdisjoint(declared):
        return f"no declared column is there: {HEADER}"
    return did_you_mean(name, known)

"""How a table is written: the layout of its file, and the marks of its numbers.

`TableFormat` is the `format` of a schema: what is needed to read the cells of a text file or of a
spreadsheet. `CellRules` say what the text of a cell means in its column: which words stand for a
missing value, and how a number is written.

Privacy: both are public, or marked as read from the data. What a cell means is a function of that
cell and of these values; no other row decides it.
"""

from __future__ import annotations

import codecs
import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema.columns import Column, Float, Integer, Source
from tabpe.schema.number_format import NumberFormat

# Words for delimiters that are hard to see or to type.
DELIMITER_WORDS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
NO_QUOTE = "none"
_MOST_SKIPPED = 1000


@dataclass(frozen=True)
class TableFormat:
    r"""The layout of a text file or a spreadsheet.

    Args:
        delimiter: The character between cells; None for that of the suffix: a tab in `.tsv` and
            `.tab`, else a comma.
        quote: The character around cells that hold a delimiter; None if there is none.
        encoding: The encoding of the text, by its Python name.
        comment: Lines that begin with this character are left out; None for none.
        skip: The number of lines above the header.
        decimal: The decimal mark of numbers: a point or a comma.
        thousands: The mark between groups of three digits; None for none.
        sheet: The sheet of a spreadsheet; None for the first.
        source: Where all of this comes from.

    Example:
        >>> TableFormat(delimiter=";", decimal=",", source=Source.DATA).fields_from_data
        ('format.delimiter', 'format.decimal')
        >>> TableFormat(delimiter="tab").delimiter
        '\t'
    """

    delimiter: str | None = None
    quote: str | None = '"'
    encoding: str = "utf-8"
    comment: str | None = None
    skip: int = 0
    decimal: str = "."
    thousands: str | None = None
    sheet: str | None = None
    source: Source = Source.PUBLIC

    def __post_init__(self) -> None:
        if isinstance(self.delimiter, str):
            found = DELIMITER_WORDS.get(self.delimiter, self.delimiter)
            object.__setattr__(self, "delimiter", found)
        if self.quote == NO_QUOTE:
            object.__setattr__(self, "quote", None)
        self._check_marks()
        if not isinstance(self.encoding, str) or not _is_text_encoding(self.encoding):
            raise make_format_error(
                "encoding", self.encoding, "one such as utf-8, utf-16, latin-1 or windows-1252"
            )
        if type(self.skip) is not int or not 0 <= self.skip <= _MOST_SKIPPED:
            raise make_format_error("skip", self.skip, f"a whole number from 0 to {_MOST_SKIPPED}")
        if self.sheet is not None and not (isinstance(self.sheet, str) and self.sheet):
            raise make_format_error("sheet", self.sheet, "the name of a sheet")

    def _check_marks(self) -> None:
        for name in ("delimiter", "quote", "comment"):
            given = getattr(self, name)
            if given is None:
                continue
            if not isinstance(given, str) or len(given) != 1 or not given.isascii():
                words = ", ".join(DELIMITER_WORDS)
                raise make_format_error(name, given, f"one ASCII character, or one of {words}")
            if given in "\r\n\0" or given.isalnum():
                raise make_format_error(name, given, "neither a line end, a letter nor a digit")
        given = [mark for mark in (self.delimiter, self.quote, self.comment) if mark is not None]
        if len(set(given)) < len(given):
            raise make_format_error("delimiter", self.delimiter, "another mark than quote, comment")
        if self.decimal not in (".", ","):
            raise make_format_error("decimal", self.decimal, "'.' or ','")
        _check_thousands(self.thousands, self.decimal)

    @classmethod
    def from_dict(cls, plain: Any) -> TableFormat:
        """Build a format from the `format` of a schema file.

        Example:
            >>> TableFormat.from_dict({"delimeter": ";"})
            Traceback (most recent call last):
            tabpe.errors.SchemaError: format: unknown key 'delimeter': did you mean 'delimiter'?
        """
        if isinstance(plain, TableFormat):
            return plain
        if not isinstance(plain, Mapping):
            raise SchemaError("format: expected a mapping, such as {delimiter: ';', decimal: ','}.")
        known = [field.name for field in dataclasses.fields(cls)]
        for key in plain:
            if key not in known:
                hint = did_you_mean(str(key), known)
                raise SchemaError(f"format: unknown key {shown(key)}: {hint}")
        fields = dict(plain)
        sources = [source.value for source in Source]
        given = fields.pop("source", "public")
        if given not in sources:
            raise SchemaError(f"format: source={shown(given)}: {did_you_mean(str(given), sources)}")
        return cls(**fields, source=Source(given))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as in a schema file."""
        plain = {name: getattr(self, name) for name in self.stated}
        if "quote" in plain and self.quote is None:
            plain["quote"] = NO_QUOTE
        return {**plain, "source": self.source.value} if plain else {}

    @property
    def stated(self) -> tuple[str, ...]:
        """The names of the fields that differ from their defaults."""
        fields = [field for field in dataclasses.fields(self) if field.name != "source"]
        return tuple(one.name for one in fields if getattr(self, one.name) != one.default)

    @property
    def fields_from_data(self) -> tuple[str, ...]:
        """The stated fields, if they were read from the data."""
        if self.source is not Source.DATA:
            return ()
        return tuple(f"format.{name}" for name in self.stated)

    def override(self, **given: Any) -> TableFormat:
        """Return the format with other values for what is given, and not None."""
        changed = {name: value for name, value in given.items() if value is not None}
        return dataclasses.replace(self, **changed) if changed else self

    def get_delimiter(self, name: str) -> str:
        """Return the delimiter of the file of that name."""
        if self.delimiter is not None:
            return self.delimiter
        stem = name.lower()
        return "\t" if any(f".{kind}" in stem[-10:] for kind in ("tsv", "tab")) else ","

    @property
    def number_format(self) -> NumberFormat | None:
        """How numbers are written; None if as in Python."""
        if self.decimal == "." and self.thousands is None:
            return None
        return NumberFormat(self.decimal, self.thousands)


def make_format_error(name: str, given: Any, allowed: str) -> SchemaError:
    """Return the error for a field of `format`."""
    return SchemaError(f"format: {name}={shown(given)}: expected {allowed}.")


def _check_thousands(given: Any, decimal: str) -> None:
    if given is None:
        return
    if not isinstance(given, str) or len(given) != 1 or given in "+-0123456789eE":
        raise make_format_error("thousands", given, "one character, such as '.', ',' or ' '")
    if given == decimal:
        raise make_format_error("thousands", given, "another mark than that of decimals")


def _is_text_encoding(name: str) -> bool:
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    # Python has codecs that are not of text, such as zip.
    return bool(getattr(found, "_is_text_encoding", True))


@dataclass(frozen=True)
class CellRules:
    """What the text of the cells of a column means.

    Args:
        nulls: Values that stand for a missing one, by what they mean.
        numbers: How numbers are written; None if as in Python.
    """

    nulls: tuple[str | int | float, ...] = ()
    numbers: NumberFormat | None = None

    def normalize(self, text: str) -> str:
        """Return the text of a cell as this package reads it: a number as Python writes it.

        Example:
            >>> CellRules(numbers=NumberFormat(",", ".")).normalize("2.815,43")
            '2815.43'
        """
        found = None if self.numbers is None else self.numbers.normalize(text)
        return text if found is None else found


class ReadableSchema(Protocol):
    """A schema, or one with gaps, as far as a table is read."""

    @property
    def format(self) -> TableFormat | None:
        """How the table is written."""
        ...

    @property
    def columns(self) -> Iterable[Any]:
        """Its columns."""
        ...


@dataclass(frozen=True)
class TableReading:
    """How to read a table: the layout of its files, and what cells mean.

    Args:
        layout: The layout; None if it is not stated.
        rules: The rules of the columns that have some, by name.
        names: The columns that are declared. A file whose rows name their columns, such as JSON
            lines, has these and no others, whatever its rows say. If empty, the rows decide.

    Example:
        >>> reading = TableReading.from_columns(
        ...     [Integer("age", 0, 99, nulls=("unknown",))], TableFormat(decimal=",")
        ... )
        >>> reading.rules["age"].nulls, reading.rules["age"].numbers.decimal
        (('unknown',), ',')
    """

    layout: TableFormat | None = None
    rules: Mapping[str, CellRules] = dataclasses.field(default_factory=dict)
    names: tuple[str, ...] = ()

    @classmethod
    def from_schema(
        cls, schema: ReadableSchema, *others: str | Iterable[str] | None
    ) -> TableReading:
        """Return how a schema, with or without gaps, says that its table is read.

        Args:
            schema: The schema.
            others: Names of columns that are declared elsewhere, such as that of user ids.
        """
        return cls.from_columns(schema.columns, schema.format, *others)

    @classmethod
    def from_columns(
        cls,
        columns: Iterable[Any],
        layout: TableFormat | None = None,
        *others: str | Iterable[str] | None,
    ) -> TableReading:
        """Return how the columns of a table are read, with or without gaps."""
        columns = list(columns)
        usual = None if layout is None else layout.number_format
        rules = {column.name: _make_rules(column, usual) for column in columns}
        names = [column.name for column in columns]
        for other in others:
            names += [other] if isinstance(other, str) else other or ()
        return cls(
            layout,
            {name: rule for name, rule in rules.items() if rule != CellRules()},
            tuple(dict.fromkeys(names)),
        )


def _make_rules(column: Any, usual: NumberFormat | None) -> CellRules:
    kind: Any
    fields: Mapping[str, Any]
    if isinstance(column, Column):
        kind = type(column)
        fields = {"nulls": column.nulls, "format": getattr(column, "format", None)}
    else:  # with gaps
        kind, fields = column.kind, column.fields
    nulls = tuple(fields.get("nulls", ()))
    if kind not in (None, Integer, Float):
        return CellRules(nulls)
    own = fields.get("format")
    return CellRules(nulls, usual if own is None else NumberFormat.from_example(own))

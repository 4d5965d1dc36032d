"""What of a schema is declared, and what is not.

A schema file may have gaps: a column without a type, a number without bounds, a list of values that
is open. An `Outline` knows what is declared and lists the rest, which is bought or refused.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabpe.errors import SchemaError, did_you_mean
from tabpe.schema import files
from tabpe.schema.columns import Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.table import Schema
from tabpe.schema.times import Date, Datetime, Temporal


class Storage(enum.Enum):
    """How a table holds the cells of a column: public, as the names of columns are."""

    TEXT = "text"
    WHOLE = "whole numbers"
    FLOAT = "decimals"
    TRUTH = "truths"

    @classmethod
    def of(cls, arrow_type: str) -> Storage | None:
        """Return what the name of an Arrow type stands for; None for dates and the like.

        Example:
            >>> Storage.of("dictionary<values=string, indices=int8, ordered=0>")
            <Storage.TEXT: 'text'>
        """
        plain = arrow_type.removeprefix("dictionary<values=")
        for beginning, storage in _BEGINNINGS.items():
            if plain.startswith(beginning):
                return storage
        return None


_BEGINNINGS = {
    **dict.fromkeys(("string", "large_string", "null"), Storage.TEXT),
    **dict.fromkeys(("int", "uint"), Storage.WHOLE),
    **dict.fromkeys(("double", "float", "halffloat", "decimal"), Storage.FLOAT),
    "bool": Storage.TRUTH,
}


@dataclass(frozen=True)
class Sketch:
    """A column as far as it is declared.

    Args:
        name: Name of the column.
        kind: Its type, or None.
        fields: The fields that are declared.
        open: Of a list of values: whether there may be more of them.
        source: Where the declared fields come from.
        storage: How the table holds its cells, once that is known.

    Example:
        >>> Sketch("age", Integer, {"min": 0}).missing
        ('max',)
        >>> Sketch("age", Integer, {"min": 0}).filled(max=95).to_dict()["bought"]
        ['max']
    """

    name: str
    kind: type[Column] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    open: bool = False
    source: Source = Source.PUBLIC
    storage: Storage | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.open, bool):
            raise SchemaError(f"column {self.name!r}: open={self.open!r}: expected true or false.")
        if self.kind is not None:
            self._check_fields(self.kind)
        elif not isinstance(self.name, str) or not self.name:
            Column(self.name)
        if self.missing and self.source is not Source.PUBLIC:
            raise SchemaError(
                f"column {self.name!r}: source={self.source.value!r} and {self.missing[0]} not "
                f"declared: what is to be bought goes with source: public."
            )

    @classmethod
    def of(cls, column: Column) -> Sketch:
        """Return a column without gaps."""
        fields = {f.name: getattr(column, f.name) for f in dataclasses.fields(column)}
        return cls(fields.pop("name"), type(column), fields, source=fields.pop("source"))

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Sketch:
        """Read the entry of a column, which may have gaps."""
        where = f"column {entry['name']!r}"
        if "type" not in entry:
            files.refuse_unknown(f"{where} without a type", entry, ("name", "source"))
            source = files.source_of(where, entry.get("source", "public"))
            return cls(entry["name"], source=source)
        kind, fields = files.type_and_fields(entry, "open")
        if "open" in fields and kind is not Categorical:
            raise SchemaError(f"{where}: open is for type categorical.")
        apart = {key: fields.pop(key) for key in ("name", "open", "source") if key in fields}
        return cls(kind=kind, fields=fields, **apart)

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are to be bought; a type comes first, and alone."""
        if self.kind is None:
            return ("type",)
        wanted = [name for name in files.required_fields(self.kind) if name != "name"]
        return tuple(name for name in wanted if name not in self.fields or self.open)

    def filled(self, kind: type[Column] | None = None, **bought: Any) -> Column:
        """Return the column, with what was bought in its gaps, and marked so.

        Args:
            kind: The type, if it is not declared.
            bought: The fields that were bought, by name.
        """
        made = self.kind or kind
        if made is None:
            raise SchemaError(f"column {self.name!r}: its type is neither declared nor bought.")
        paid = tuple(bought) if self.kind else ("type", *bought)
        marks: dict[str, Any] = {"source": self.source}
        if paid:
            marks = {"source": Source.BOUGHT, "bought": paid}
        return made(self.name, **{**self.fields, **bought, **marks})

    def _check_fields(self, kind: type[Column]) -> None:
        """Keep the declared fields as a column of that type has them, or refuse them."""
        fields = dict(self.fields)
        if kind in (Integer, Float):
            bound = fields.get("min", fields.get("max", 0))
            fields = {"min": bound, "max": bound, **fields}
        elif kind in (Date, Datetime):
            bound = fields.get("min", fields.get("max", "2000-01-01"))
            fields = {"min": bound, "max": bound, **fields}
        elif kind is Categorical and "values" not in fields:
            if "other" in fields:
                raise SchemaError(f"column {self.name!r}: other is one of values: declare values.")
            fields["values"] = [""]
        probe = kind(self.name, **{**fields, "source": self.source})
        kept = {name: getattr(probe, name) for name in self.fields}
        object.__setattr__(self, "fields", kept)


@dataclass(frozen=True)
class Outline:
    """A schema as far as it is declared.

    Args:
        columns: The columns that are mentioned.
        label: Name of the label, or None.
        label_cuts: For a numeric label: the values at which a new class begins.

    Example:
        >>> outline = Outline.of({"columns": [{"name": "age", "type": "integer", "min": 0}]})
        >>> table = {"age": "int64", "ward": "string", "id": "int64"}
        >>> outline.completed(table, drop=["id"]).missing
        ('age.max', 'ward.type')
    """

    columns: tuple[Sketch, ...] = ()
    label: str | None = None
    label_cuts: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"column {name!r} is declared twice.")

    @classmethod
    def of(cls, given: Schema | Mapping[str, Any] | str | Path | None) -> Outline:
        """Return the outline of a schema, of plain values, of a file, or of nothing at all."""
        if isinstance(given, Schema):
            sketches = tuple(map(Sketch.of, given.columns))
            return cls(sketches, given.label, given.label_cuts)
        plain = files.read(Path(given)) if isinstance(given, (str, Path)) else given
        return cls.from_dict({} if plain is None else plain)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Outline:
        """Build an outline from plain values, as a schema file with gaps holds them.

        Example:
            >>> Outline.from_dict({"columns": [{"name": "age", "typ": "integer"}]})
            Traceback (most recent call last):
            tabpe.errors.SchemaError: column 'age' without a type: unknown key 'typ': known: ...
        """
        if isinstance(plain, Mapping):
            plain = {"columns": [], **plain}
        return files.schema_from_dict(cls, plain, column=Sketch.from_dict)

    def with_label(self, label: str | None) -> Outline:
        """Return the outline with `label` as its label; None keeps the one it has."""
        if label is None or label == self.label:
            return self
        return dataclasses.replace(self, label=label, label_cuts=None)

    def completed(self, table: Mapping[str, str], *, drop: Sequence[str] = ()) -> Outline:
        """Return the outline with every column of a table, in the order of the table.

        A column that is not mentioned is to be bought. How the table holds truths and whole numbers
        says their type; only the label may be a list of whole numbers.

        Args:
            table: The Arrow type of each column, by name: public, as the names are.
            drop: Columns to leave out, such as names and ids.
        """
        mentioned = {column.name: column for column in self.columns}
        labels = [] if self.label is None else [self.label]
        _check_names("drop", drop, table)
        kept = {name: kind for name, kind in table.items() if name not in drop}
        _check_names("column", mentioned, kept)
        _check_names("label", labels, kept)
        sketches = (
            self._stored(mentioned.get(name, Sketch(name)), kind) for name, kind in kept.items()
        )
        return dataclasses.replace(self, columns=tuple(sketches))

    def _stored(self, sketch: Sketch, arrow_type: str) -> Sketch:
        storage, kind = Storage.of(arrow_type), sketch.kind
        if sketch.missing and kind is not None and issubclass(kind, Temporal):
            raise SchemaError(
                f"column {sketch.name!r}: {' and '.join(sketch.missing)} not declared: bounds of "
                f"dates and times can not be bought; declare what is publicly known."
            )
        if sketch.missing and storage is None:
            raise SchemaError(
                f"column {sketch.name!r} is of type {arrow_type}: dates and the like can not be "
                f"bought; convert or drop the column, or declare its type, and values or bounds."
            )
        if sketch.name == self.label:
            self._check_label(sketch)
        if kind is None and storage is Storage.TRUTH:
            kind = Boolean
        elif kind is None and storage is Storage.WHOLE:
            kind = Categorical if sketch.name == self.label else Integer
        return dataclasses.replace(sketch, kind=kind, storage=storage)

    def _check_label(self, sketch: Sketch) -> None:
        numeric = sketch.kind in (Integer, Float)
        if self.label_cuts and (sketch.missing or not numeric):
            raise SchemaError(
                f"label={sketch.name!r} has label_cuts: declare its type, min and max too."
            )
        if numeric and not self.label_cuts:
            raise SchemaError(
                f"label={sketch.name!r} is a number: declare its column categorical, or give "
                f"label_cuts (the values at which a new class begins)."
            )

    def with_values(self, name: str, values: tuple[Any, ...]) -> Outline:
        """Return the outline with the values of a column declared, if they are missing."""
        sketches = (
            dataclasses.replace(c, kind=Categorical, fields={"values": values}, open=False)
            if c.name == name and c.missing
            else c
            for c in self.columns
        )
        return dataclasses.replace(self, columns=tuple(sketches))

    @property
    def digest(self) -> str:
        """SHA-256 of the outline."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What each class of the label is called; None if that is to be bought."""
        labels = [column for column in self.columns if column.name == self.label]
        if not labels:
            return ("all",)
        if labels[0].missing:
            return None
        return Schema((labels[0].filled(),), self.label, self.label_cuts).class_names

    @property
    def missing(self) -> tuple[str, ...]:
        """What is to be bought: fields of columns, in the manner of `Schema.fields_bought`."""
        return tuple(f"{column.name}.{name}" for column in self.columns for name in column.missing)

    @property
    def fields_from_data(self) -> tuple[str, ...]:
        """Fields that were read off the data instead of being declared public."""
        drafted = tuple(c.filled() for c in self.columns if c.source is Source.DATA)
        return Schema(drafted).fields_from_data if drafted else ()

    def filled(self, columns: Mapping[str, Column]) -> Schema:
        """Return the schema, with the given columns in the place of those that have gaps."""
        made = (columns[c.name] if c.missing else c.filled() for c in self.columns)
        return Schema(tuple(made), label=self.label, label_cuts=self.label_cuts)


def _check_names(role: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise SchemaError(f"{role} {name!r} is not a column of the table: {hint}")

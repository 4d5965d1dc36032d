"""What of a schema is declared, and what is not.

A schema file may have gaps: a column without a type, a number without bounds, a list of values that
is open. An `Outline` knows what is declared and lists the rest, which is bought or refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe.errors import SchemaError, did_you_mean
from tabpe.schema import files, joint, numeric
from tabpe.schema.columns import Boolean, Categorical, Column, Source
from tabpe.schema.rules import texts_of
from tabpe.schema.sketch import Sketch
from tabpe.schema.table import Schema


@dataclass(frozen=True)
class Outline:
    """A schema as far as it is declared.

    Args:
        columns: The columns that are mentioned.
        label: Name of the label, or names of several, or None.
        label_cuts: For a numeric label: the values at which a new class begins.
        rules: What holds in every row; columns that they name are to be declared.
        label_classes: For a numeric label: how many classes there should be, if cuts are bought.

    Example:
        >>> outline = Outline.of({"columns": [{"name": "age", "type": "integer", "min": 0}]})
        >>> outline.completed(["age", "ward", "id"], drop=["id"]).missing
        ('age.max', 'ward.type')
    """

    columns: tuple[Sketch, ...] = ()
    label: str | tuple[str, ...] | None = None
    label_cuts: tuple[float, ...] | None = None
    rules: tuple[str, ...] = ()
    label_classes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", texts_of(self.rules))
        object.__setattr__(self, "label", joint.label_of(self.label))
        if self.label_cuts is not None:
            object.__setattr__(self, "label_cuts", tuple(self.label_cuts))
        numeric.check_classes(self.label_classes, self.label)
        names = [column.name for column in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"column {name!r} is declared twice.")

    @classmethod
    def of(cls, given: Schema | Mapping[str, Any] | str | Path | None) -> Outline:
        """Return the outline of a schema, of plain values, of a file, or of nothing at all."""
        if isinstance(given, Schema):
            sketches = tuple(map(Sketch.of, given.columns))
            cuts, classes = given.label_cuts, given.label_classes
            return cls(sketches, given.label, cuts, given.rules, classes)
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
            plain.pop("label_rare", None)  # which a run finds out anew
        return files.schema_from_dict(cls, plain, column=Sketch.from_dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all labels."""
        return joint.names_of(self.label)

    def with_label(self, label: str | Sequence[str] | None) -> Outline:
        """Return the outline with `label` as its label; None keeps the one it has."""
        wanted = joint.label_of(label)
        if wanted is None or wanted == self.label:
            return self
        return dataclasses.replace(self, label=wanted, label_cuts=None, label_classes=None)

    @property
    def lacks_cuts(self) -> bool:
        """Whether it is to be bought where the classes of a numeric label begin."""
        return self.label_classes is not None and self.label_cuts is None

    @property
    def listed_labels(self) -> tuple[str, ...]:
        """Names of the labels whose values are classes: all but a numeric one."""
        return () if self.label_classes is not None or self.label_cuts else self.labels

    def completed(self, table: Sequence[str], *, drop: Sequence[str] = ()) -> Outline:
        """Return the outline with every column of a table, in the order of the table.

        A column that is not mentioned is estimated, its type included. How the table stores it says
        nothing: that depends on its rows.

        Args:
            table: The names of the columns, which are public.
            drop: Columns to leave out, such as names and ids.
        """
        mentioned = {column.name: column for column in self.columns}
        _check_names("drop", drop, table)
        kept = [name for name in table if name not in drop]
        _check_names("column", mentioned, kept)
        _check_names("label", self.labels, kept)
        sketches = tuple(mentioned.get(name, Sketch(name)) for name in kept)
        for sketch in sketches:
            if sketch.name in self.labels:
                gaps = bool(sketch.missing)
                numeric.check_kind(self, sketch.name, sketch.kind, has_gaps=gaps)
        return dataclasses.replace(self, columns=sketches)

    def with_values(self, name: str, values: tuple[Any, ...]) -> Outline:
        """Return the outline with the values of a column declared, if they are missing.

        True and false are no list: a column of them is a boolean one.
        """
        booleans = {str(value) for value in values} <= set(map(str, Boolean.values))

        def declared(sketch: Sketch) -> Sketch:
            if sketch.name != name or not sketch.missing:
                return sketch
            if sketch.kind is None and booleans:
                return dataclasses.replace(sketch, kind=Boolean)
            fields = {**sketch.fields, "values": values}
            return dataclasses.replace(
                sketch, kind=Categorical, fields=fields, open=False, top=None
            )

        return dataclasses.replace(self, columns=tuple(map(declared, self.columns)))

    @property
    def digest(self) -> str:
        """SHA-256 of the outline."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What each class of the label is called; None if that is to be bought."""
        labels = [column for column in self.columns if column.name in self.labels]
        if not labels:
            return ("all",)
        if self.lacks_cuts or any(column.missing for column in labels):
            return None
        filled = tuple(column.filled() for column in labels)
        classes = self.label_classes
        return Schema(filled, self.label, self.label_cuts, label_classes=classes).class_names

    @property
    def missing(self) -> tuple[str, ...]:
        """What is to be bought: fields of columns, in the manner of `Schema.fields_bought`."""
        fields = (f"{column.name}.{name}" for column in self.columns for name in column.missing)
        return (*fields, *([f"{self.label}.label_cuts"] if self.lacks_cuts else []))

    @property
    def fields_from_data(self) -> tuple[str, ...]:
        """Fields that were read off the data instead of being declared public."""
        drafted = tuple(c.filled() for c in self.columns if c.source is Source.DATA)
        return Schema(drafted).fields_from_data if drafted else ()

    def label_column(self, columns: Mapping[str, Column]) -> Column:
        """Return the column of the one label, with what was bought in its gaps."""
        (sketch,) = (column for column in self.columns if column.name == self.label)
        return columns[sketch.name] if sketch.missing else sketch.filled()

    def filled(
        self, columns: Mapping[str, Column], label_cuts: tuple[float, ...] | None = None
    ) -> Schema:
        """Return the schema, with what was bought in its gaps.

        Args:
            columns: Columns in the place of those that have gaps.
            label_cuts: Where the classes of a numeric label begin, if that was bought.
        """
        made = (columns[c.name] if c.missing else c.filled() for c in self.columns)
        cuts = label_cuts if self.lacks_cuts else self.label_cuts
        return Schema(tuple(made), self.label, cuts, self.rules, self.label_classes)


def _check_names(role: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise SchemaError(f"{role} {name!r} is not a column of the table: {hint}")

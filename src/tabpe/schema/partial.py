"""`PartialSchema`: a schema of which some parts are not declared.

What a schema with gaps may say beside the fields of columns.

`PartialColumn`: a column as far as it is declared.

What of a schema is declared, and what is not.

A schema file may have gaps: a column without a type, a number without bounds, a list of values that
is open. An `PartialSchema` knows what is declared and lists the rest, which is bought or refused.

What the rules of a schema with gaps are about.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabpe.errors import HEADER, SchemaError, column_hint, did_you_mean, shown
from tabpe.schema import files, schema
from tabpe.schema.columns import QUANTILE, Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.constraints import check_constraint_texts
from tabpe.schema.constraints.parser import iterate_columns, parse_constraint
from tabpe.schema.schema import Schema
from tabpe.schema.temporal import Date, Datetime, Time


def check_top(
    name: str, kind: type[Column] | None, fields: Mapping[str, Any], top: Any, *, is_open: bool
) -> None:
    """Refuse a `top` that does not go with what else is declared of a column.

    Args:
        name: Name of the column.
        kind: Its type, or None.
        fields: The fields that are declared.
        top: The most values that stay apart.
        is_open: Whether there may be more values than those declared.

    Example:
        >>> check_top("ward", Categorical, {"values": ("eye", "heart")}, 0, is_open=False)
        Traceback (most recent call last):
        tabpe.errors.SchemaError: column 'ward': top=0: expected a whole number of at least 1.
    """
    where, values = f"column {name!r}: top={shown(top)}", fields.get("values", ())
    if type(top) is not int or top < 1:
        raise SchemaError(f"{where}: expected a whole number of at least 1.")
    if kind is not Categorical or fields.get("ordered"):
        raise SchemaError(f"{where}: top is for type categorical, without ordered.")
    if is_open and values:
        raise SchemaError(f"{where}: leave open out, or values.")
    if "other" not in fields and not all(isinstance(value, str) for value in values):
        raise SchemaError(f"{where}: declare other, the number that stands for the rest.")


@dataclass(frozen=True)
class PartialColumn:
    """A column as far as it is declared.

    Args:
        name: Name of the column.
        kind: Its type, or None.
        fields: The fields that are declared.
        open: Of a list of values: whether there may be more of them. Of a time of the day, which is
            all day if not declared: whether bounds are to be bought.
        top: Of a list of values: the most that stay apart; all others are `other`.
        source: Where the declared fields come from.

    Example:
        >>> PartialColumn("age", Integer, {"min": 0}).missing
        ('max',)
        >>> PartialColumn("age", Integer, {"min": 0}).fill_gaps(max=95).to_dict()["bought"]
        ['max']
    """

    name: str
    kind: type[Column] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    open: bool = False
    top: int | None = None
    source: Source = Source.PUBLIC

    def __post_init__(self) -> None:
        if not isinstance(self.open, bool):
            raise SchemaError(f"column {self.name!r}: open={self.open!r}: expected true or false.")
        if self.top is not None:
            check_top(self.name, self.kind, self.fields, self.top, is_open=self.open)
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
    def from_column(cls, column: Column) -> PartialColumn:
        """Return a column without gaps."""
        fields = {f.name: getattr(column, f.name) for f in dataclasses.fields(column)}
        return cls(fields.pop("name"), type(column), fields, source=fields.pop("source"))

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> PartialColumn:
        """Read the entry of a column, which may have gaps."""
        where = f"column {entry['name']!r}"
        if "type" not in entry:
            files.refuse_unknown(f"{where} without a type", entry, ("name", "nullable", "source"))
            source = files.parse_source(where, entry.get("source", "public"))
            nullable = Column(entry["name"], nullable=entry.get("nullable", False)).nullable
            known = {"nullable": True} if nullable else {}
            return cls(entry["name"], fields=known, source=source)
        kind, fields = files.parse_type_and_fields(entry, *files.GAP_KEYS)
        if "open" in fields and kind not in (Categorical, Time):
            raise SchemaError(f"{where}: open is for type categorical, and for bounds of a time.")
        apart = {
            key: fields.pop(key) for key in ("name", *files.GAP_KEYS, "source") if key in fields
        }
        return cls(kind=kind, fields=fields, **apart)

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are to be bought; a type comes first, and alone."""
        if self.kind is None:
            return ("type",)
        wanted = [name for name in files.list_required_fields(self.kind) if name != "name"]
        if self.kind is Time:
            wanted = ["min", "max"] if self.open else []
        if self.fields.get("scale") == QUANTILE:
            wanted.append("quantiles")
        whole = self.kind is Categorical and (self.open or self.top is not None)
        return tuple(name for name in wanted if name not in self.fields or whole)

    def fill_gaps(self, kind: type[Column] | None = None, **bought: Any) -> Column:
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
        elif kind is Time and self.open:
            bound = fields.get("min", fields.get("max", "00:00"))
            fields = {"min": bound, "max": bound, **fields}
        elif kind in (Date, Datetime):
            bound = fields.get("min", fields.get("max", "2000-01-01"))
            fields = {"min": bound, "max": bound, **fields}
        elif kind is Categorical and "values" not in fields:
            fields["values"] = [fields.get("other", "")]
        elif self.top is not None and fields.get("other") not in (None, *fields["values"]):
            fields["values"] = [*fields["values"], fields["other"]]
        object.__setattr__(self, "fields", self._normalize_declared(kind, fields))

    def _normalize_declared(self, kind: type[Column], fields: dict[str, Any]) -> dict[str, Any]:
        """Return the declared fields as a column has them that holds some more."""
        if "quantiles" in fields and not {"min", "max"} <= set(self.fields):
            raise SchemaError(
                f"column {self.name!r}: quantiles run from min to max: declare these too."
            )
        later = {"scale": QUANTILE} if self.missing[-1:] == ("quantiles",) else {}
        early = {name: value for name, value in fields.items() if name not in later}
        probe = kind(self.name, **{**early, "source": self.source})
        kept = {name: later.get(name, getattr(probe, name)) for name in self.fields}
        if "values" in kept:
            kept["values"] = kept["values"][: len(self.fields["values"])]
        return kept


@dataclass(frozen=True)
class PartialSchema:
    """A schema as far as it is declared.

    Args:
        columns: The columns that are mentioned.
        label: Name of the label, or names of several, or None.
        label_cuts: For a numeric label: the values at which a new class begins.
        rules: What holds in every row; columns that they name are to be declared.
        label_classes: For a numeric label: how many classes there should be, if cuts are bought.

    Example:
        >>> outline = PartialSchema.of({"columns": [{"name": "age", "type": "integer", "min": 0}]})
        >>> outline.complete_columns(["age", "ward", "id"], drop=["id"]).missing
        ('age.max', 'ward.type')
    """

    columns: tuple[PartialColumn, ...] = ()
    label: str | tuple[str, ...] | None = None
    label_cuts: tuple[float, ...] | None = None
    rules: tuple[str, ...] = ()
    label_classes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", check_constraint_texts(self.rules))
        object.__setattr__(self, "label", schema.parse_label(self.label))
        if self.label_cuts is not None:
            object.__setattr__(self, "label_cuts", tuple(self.label_cuts))
        schema.check_class_count(self.label_classes, self.label)
        names = [column.name for column in self.columns]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"column {name!r} is declared twice.")

    @classmethod
    def from_schema(cls, given: Schema | Mapping[str, Any] | str | Path | None) -> PartialSchema:
        """Return the outline of a schema, of plain values, of a file, or of nothing at all."""
        if isinstance(given, Schema):
            sketches = tuple(map(PartialColumn.from_column, given.columns))
            cuts, classes = given.label_cuts, given.label_classes
            return cls(sketches, given.label, cuts, given.rules, classes)
        plain = files.read_schema_file(Path(given)) if isinstance(given, (str, Path)) else given
        return cls.from_dict({} if plain is None else plain)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PartialSchema:
        """Build an outline from plain values, as a schema file with gaps holds them.

        Example:
            >>> PartialSchema.from_dict({"columns": [{"name": "age", "typ": "integer"}]})
            Traceback (most recent call last):
            tabpe.errors.SchemaError: column 'age' without a type: unknown key 'typ': known: ...
        """
        if isinstance(plain, Mapping):
            plain = {"columns": [], **plain}
            plain.pop("label_rare", None)  # which a run finds out anew
        return files.schema_from_dict(cls, plain, column=PartialColumn.from_dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all labels."""
        return schema.list_label_names(self.label)

    def with_label(self, label: str | Sequence[str] | None) -> PartialSchema:
        """Return the outline with `label` as its label; None keeps the one it has."""
        wanted = schema.parse_label(label)
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

    def complete_columns(self, table: Sequence[str], *, drop: Sequence[str] = ()) -> PartialSchema:
        """Return the outline with every column of a table, in the order of the table.

        A column that is not mentioned is estimated, its type included. How the table stores it says
        nothing: that depends on its rows.

        Args:
            table: The names of the columns, which are public.
            drop: Columns to leave out, such as names and ids.
        """
        mentioned = {column.name: column for column in self.columns}
        declared = {*mentioned, *self.labels, *drop}
        if declared.isdisjoint(table):
            _refuse_cells(table)
        kept = [name for name in table if name not in drop]
        for role, names, known in (
            ("drop", drop, table),
            ("column", mentioned, kept),
            ("label", self.labels, kept),
        ):
            for name in names:
                if name not in known:
                    hint = column_hint(name, known, declared)
                    raise SchemaError(f"{role} {name!r} is not a column of the table: {hint}")
        sketches = tuple(mentioned.get(name, PartialColumn(name)) for name in kept)
        for sketch in sketches:
            if sketch.name in self.labels:
                gaps = bool(sketch.missing)
                schema.check_label_type(self, sketch.name, sketch.kind, has_gaps=gaps)
        return dataclasses.replace(self, columns=sketches)

    def with_values(self, name: str, values: tuple[Any, ...]) -> PartialSchema:
        """Return the outline with the values of a column declared, if they are missing.

        True and false are no list: a column of them is a boolean one.
        """
        booleans = {str(value) for value in values} <= set(map(str, Boolean.values))

        def declared(sketch: PartialColumn) -> PartialColumn:
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
        filled = tuple(column.fill_gaps() for column in labels)
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
        drafted = tuple(c.fill_gaps() for c in self.columns if c.source is Source.DATA)
        return Schema(drafted).fields_from_data if drafted else ()

    def get_label_column(self, columns: Mapping[str, Column]) -> Column:
        """Return the column of the one label, with what was bought in its gaps."""
        (sketch,) = (column for column in self.columns if column.name == self.label)
        return columns[sketch.name] if sketch.missing else sketch.fill_gaps()

    def fill_gaps(
        self, columns: Mapping[str, Column], label_cuts: tuple[float, ...] | None = None
    ) -> Schema:
        """Return the schema, with what was bought in its gaps.

        Args:
            columns: Columns in the place of those that have gaps.
            label_cuts: Where the classes of a numeric label begin, if that was bought.
        """
        made = (columns[c.name] if c.missing else c.fill_gaps() for c in self.columns)
        cuts = label_cuts if self.lacks_cuts else self.label_cuts
        return Schema(tuple(made), self.label, cuts, self.rules, self.label_classes)


def _refuse_cells(names: Iterable[str]) -> None:
    """Refuse names that are numbers or dates: those of a file without a header are cells."""
    for place, name in enumerate(names, start=1):
        if any(map(str.isdigit, name)) and not any(map(str.isalpha, name)):
            raise SchemaError(
                f"the name of column {place} of the table is a number or a date: {HEADER} If these "
                f"are the names, declare one column of the schema, such as the label."
            )


def build_constrained_schema(partial: PartialSchema) -> Schema | None:
    """Return the columns that rules name, with the rules; None without rules.

    A rule about a value that may turn out not to be bought could fail after the purchase. So all
    that rules name must be declared.

    Raises:
        SchemaError: If it is not, or a rule does not fit.

    Example:
        >>> build_constrained_schema(PartialSchema((PartialColumn("age"),), rules=("age > 3",)))
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age > 3': type of column 'age' is not declared: ...
    """
    if not partial.rules:
        return None
    sketches = {column.name: column for column in partial.columns}
    named = {
        name: rule for rule in partial.rules for name in iterate_columns(parse_constraint(rule))
    }
    for name, rule in named.items():
        _check_declared(rule, name, sketches)
    kept = tuple(column.fill_gaps() for column in partial.columns if column.name in named)
    label = partial.label if partial.label in named else None
    return Schema(kept, label, partial.label_cuts if label else None, partial.rules)


def _check_declared(rule: str, name: str, sketches: dict[str, PartialColumn]) -> None:
    if name not in sketches:
        hint = did_you_mean(name, sketches)
        raise SchemaError(f"rule {shown(rule)}: no column {shown(name)}: {hint}")
    missing = sketches[name].missing
    if missing:
        raise SchemaError(
            f"rule {shown(rule)}: {' and '.join(missing)} of column {shown(name)} is not declared: "
            f"declare all that rules name, which can not be bought, or leave the rule out."
        )

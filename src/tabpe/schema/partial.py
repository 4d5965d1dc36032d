"""`PartialSchema`: a schema with gaps.

A schema file may have gaps: a column without a type, a number without bounds, a list of values that
is open. A `PartialSchema` knows what is declared and lists the rest, which is estimated privately
or refused.
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
from tabpe.schema.column_names import refuse_personal_names
from tabpe.schema.columns import QUANTILE, Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.constraints.parser import iterate_columns, parse_constraint
from tabpe.schema.schema import Schema, check_constraint_texts
from tabpe.schema.table_format import TableFormat
from tabpe.schema.temporal import Date, Datetime, Time

ALL_COLUMNS = "all"


def check_top(
    name: str, kind: type[Column] | None, fields: Mapping[str, Any], top: Any, *, is_open: bool
) -> None:
    """Refuse a `top` that contradicts the other fields of a column.

    Args:
        name: Name of the column.
        kind: Its type, or None.
        fields: The declared fields.
        top: The most values to keep.
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
        raise SchemaError(f"{where}: leave out open, or values.")
    if "other" not in fields and not all(isinstance(value, str) for value in values):
        raise SchemaError(f"{where}: declare other, the number for all other values.")


@dataclass(frozen=True)
class PartialColumn:
    """A column with gaps.

    Args:
        name: Name of the column.
        kind: Its type, or None.
        fields: The declared fields.
        open: Of a list of values: whether there may be more of them. Of a time of day, which covers
            the whole day by default: whether to estimate its bounds privately.
        top: Of a list of values: the most values to keep; all others become `other`.
        source: Where the declared fields come from.

    Example:
        >>> PartialColumn("age", Integer, {"min": 0}).missing
        ('max',)
        >>> PartialColumn("age", Integer, {"min": 0}).fill_gaps(max=95).to_dict()["estimated"]
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
                f"declared: a field to be estimated privately needs source: public."
            )

    @classmethod
    def from_column(cls, column: Column) -> PartialColumn:
        """Return a complete column as a partial one."""
        fields = {f.name: getattr(column, f.name) for f in dataclasses.fields(column)}
        return cls(fields.pop("name"), type(column), fields, source=fields.pop("source"))

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> PartialColumn:
        """Read the entry of a column in a schema file, which may have gaps."""
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
        own = {key: fields.pop(key) for key in ("name", *files.GAP_KEYS, "source") if key in fields}
        return cls(kind=kind, fields=fields, **own)

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields to be estimated privately; only the type if that is missing."""
        if self.kind is None:
            return ("type",)
        wanted = [name for name in files.list_required_fields(self.kind) if name != "name"]
        if self.kind is Time:
            wanted = ["min", "max"] if self.open else []
        if self.fields.get("scale") == QUANTILE:
            wanted.append("quantiles")
        whole = self.kind is Categorical and (self.open or self.top is not None)
        return tuple(name for name in wanted if name not in self.fields or whole)

    def fill_gaps(self, kind: type[Column] | None = None, **estimated: Any) -> Column:
        """Return the column with its gaps filled by estimated fields, and marked so.

        Args:
            kind: The type, if it is not declared.
            estimated: The privately estimated fields, by name.
        """
        full_kind = self.kind or kind
        if full_kind is None:
            raise SchemaError(f"column {self.name!r}: its type is neither declared nor estimated.")
        names = tuple(estimated) if self.kind else ("type", *estimated)
        marks: dict[str, Any] = {"source": self.source}
        if names:
            marks = {"source": Source.ESTIMATED, "estimated": names}
        return full_kind(self.name, **{**self.fields, **estimated, **marks})

    def _check_fields(self, kind: type[Column]) -> None:
        """Normalise the declared fields as a column of that type does, or refuse them."""
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
        """Return the declared fields, normalised by a complete column with placeholders."""
        if "quantiles" in fields and not {"min", "max"} <= set(self.fields):
            raise SchemaError(
                f"column {self.name!r}: quantiles run from min to max: declare these as well."
            )
        if fields.get("special") is not None and self.missing:
            raise SchemaError(
                f"column {self.name!r}: special values lie between its bounds: declare min and max "
                f"as well."
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
    """A schema with gaps.

    Args:
        columns: The columns that are declared, perhaps in part.
        label: Name of the label, or names of several, or None.
        label_cuts: For a numeric label: the values at which a new class begins.
        rules: What holds in every row; the columns they name must be declared.
        label_classes: For a numeric label: the number of classes, if its cuts are estimated.
        format: How the table is written, if it is not a CSV file of commas in UTF-8.
        drop: Columns that are marked as left out.

    Example:
        >>> partial = PartialSchema.from_dict({"columns": [{"name": "age", "type": "integer"}]})
        >>> partial.complete_columns(["age", "ward", "id"]).missing
        ('age.min', 'age.max')
        >>> partial.complete_columns(["age", "ward", "id"], estimate=["ward"]).missing
        ('age.min', 'age.max', 'ward.type')
    """

    columns: tuple[PartialColumn, ...] = ()
    label: str | tuple[str, ...] | None = None
    label_cuts: tuple[float, ...] | None = None
    rules: tuple[str, ...] = ()
    label_classes: int | None = None
    format: TableFormat | None = None
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.format is not None:
            object.__setattr__(self, "format", TableFormat.from_dict(self.format))
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
    def from_schema(
        cls, given: PartialSchema | Schema | Mapping[str, Any] | str | Path | None
    ) -> PartialSchema:
        """Return the partial schema of a schema, a dictionary, a file, or of nothing (None)."""
        if isinstance(given, PartialSchema):
            return given
        if isinstance(given, Schema):
            partial_columns = tuple(map(PartialColumn.from_column, given.columns))
            cuts, classes = given.label_cuts, given.label_classes
            return cls(partial_columns, given.label, cuts, given.rules, classes, given.format)
        plain = files.read_schema_file(Path(given)) if isinstance(given, (str, Path)) else given
        return cls.from_dict({} if plain is None else plain)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> PartialSchema:
        """Build a partial schema from the plain values of a schema file with gaps.

        Example:
            >>> PartialSchema.from_dict({"columns": [{"name": "age", "typ": "integer"}]})
            Traceback (most recent call last):
            tabpe.errors.SchemaError: column 'age' without a type: unknown key 'typ': known: ...
        """
        if isinstance(plain, Mapping):
            plain = {"columns": [], **plain}
            plain.pop("label_rare", None)  # each run finds its own
        return files.schema_from_dict(cls, plain, column=PartialColumn.from_dict, keep_dropped=True)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all labels."""
        return schema.list_label_names(self.label)

    def with_label(self, label: str | Sequence[str] | None) -> PartialSchema:
        """Return the partial schema with another label; None keeps the one it has."""
        wanted = schema.parse_label(label)
        if wanted is None or wanted == self.label:
            return self
        return dataclasses.replace(self, label=wanted, label_cuts=None, label_classes=None)

    @property
    def lacks_cuts(self) -> bool:
        """Whether the cuts of a numeric label are to be estimated privately."""
        return self.label_classes is not None and self.label_cuts is None

    @property
    def listed_labels(self) -> tuple[str, ...]:
        """Names of the labels whose values are classes: all but a numeric one."""
        return () if self.label_classes is not None or self.label_cuts else self.labels

    def complete_columns(
        self, table: Sequence[str], *, drop: Sequence[str] = (), estimate: Sequence[str] | None = ()
    ) -> PartialSchema:
        """Return the partial schema with the columns of a table, in the order of the table.

        A column that is named neither here nor in `estimate` is left out. The type of one that is
        not declared is estimated. Its storage type in the table is ignored, since that depends on
        the rows.

        Args:
            table: The names of the columns, which are public.
            drop: Columns to leave out, such as names and ids.
            estimate: Columns that are not declared and are estimated. `all`, or None, stands for
                all of them; those beside it are estimated whatever their names say.

        Raises:
            SchemaError: If nothing is named, or a name says that a column can not be estimated.
        """
        takes_all = estimate is None or ALL_COLUMNS in estimate
        estimate = [name for name in estimate or () if name != ALL_COLUMNS]
        mentioned = {column.name: column for column in self.columns}
        named = {*mentioned, *self.labels, *estimate}
        declared = {*named, *drop}
        if declared.isdisjoint(table):
            _refuse_cells(table)
        left_out = {*drop, *self.drop}
        kept = [name for name in table if name not in left_out]
        for role, names, known in (
            ("drop", drop, table),
            ("column", mentioned, kept),
            ("label", self.labels, kept),
            ("estimate_columns:", estimate, kept),
        ):
            for name in names:
                if name not in known:
                    hint = column_hint(name, known, declared)
                    raise SchemaError(f"{role} {name!r} is not a column of the table: {hint}")
        if takes_all:
            refuse_personal_names([name for name in kept if name not in named])
        else:
            kept = [name for name in kept if name in named]
        if not kept:
            raise SchemaError(
                "schema: names no column, and a column that is not named is left out: name columns "
                "in the schema, or pass estimate_columns (--estimate-columns): a list of names, or "
                "'all'."
            )
        partial_columns = tuple(mentioned.get(name, PartialColumn(name)) for name in kept)
        for partial in partial_columns:
            if partial.name in self.labels:
                gaps = bool(partial.missing)
                schema.check_label_type(self, partial.name, partial.kind, has_gaps=gaps)
        return dataclasses.replace(self, columns=partial_columns)

    def with_values(self, name: str, values: tuple[Any, ...]) -> PartialSchema:
        """Return the partial schema with the values of a column filled in, if they are missing.

        A column of true and false becomes boolean.
        """
        booleans = {str(value) for value in values} <= set(map(str, Boolean.values))

        def fill_values(partial: PartialColumn) -> PartialColumn:
            if partial.name != name or not partial.missing:
                return partial
            if partial.kind is None and booleans:
                return dataclasses.replace(partial, kind=Boolean)
            fields = {**partial.fields, "values": values}
            return dataclasses.replace(
                partial, kind=Categorical, fields=fields, open=False, top=None
            )

        return dataclasses.replace(self, columns=tuple(map(fill_values, self.columns)))

    @property
    def digest(self) -> str:
        """SHA-256 of the partial schema."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The name of each class of the label; None if it must be estimated first."""
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
        """The fields to be estimated privately, in the form of `Schema.fields_estimated`."""
        fields = (f"{column.name}.{name}" for column in self.columns for name in column.missing)
        return (*fields, *([f"{self.label}.label_cuts"] if self.lacks_cuts else []))

    @property
    def fields_from_data(self) -> tuple[str, ...]:
        """Fields that were read from the data instead of being declared public."""
        drafted = tuple(c.fill_gaps() for c in self.columns if c.source is Source.DATA)
        fields = Schema(drafted).fields_from_data if drafted else ()
        return (*fields, *(() if self.format is None else self.format.fields_from_data))

    def get_label_column(self, columns: Mapping[str, Column]) -> Column:
        """Return the column of the single label, with its gaps filled from `columns`."""
        (partial,) = (column for column in self.columns if column.name == self.label)
        return columns[partial.name] if partial.missing else partial.fill_gaps()

    def fill_gaps(
        self, columns: Mapping[str, Column], label_cuts: tuple[float, ...] | None = None
    ) -> Schema:
        """Return the complete schema.

        Args:
            columns: Complete columns for those with gaps, by name.
            label_cuts: The estimated cuts of a numeric label, if they are not declared.
        """
        filled = (columns[c.name] if c.missing else c.fill_gaps() for c in self.columns)
        cuts = label_cuts if self.lacks_cuts else self.label_cuts
        rest = self.rules, self.label_classes
        return Schema(tuple(filled), self.label, cuts, *rest, format=self.format)


def _refuse_cells(names: Iterable[str]) -> None:
    """Refuse names that are numbers or dates: in a file without a header they are cells.

    Privacy: errors give the number of the column, not its name.
    """
    for number, name in enumerate(names, start=1):
        if any(map(str.isdigit, name)) and not any(map(str.isalpha, name)):
            raise SchemaError(
                f"the name of column {number} of the table is a number or a date: {HEADER} If "
                f"these are the names, declare one column of the schema, such as the label."
            )


def build_constrained_schema(partial: PartialSchema) -> Schema | None:
    """Return a schema of the rules and the columns they name; None without rules.

    A rule about a value that is estimated privately could turn out invalid after the budget is
    spent. So everything that rules name must be declared.

    Raises:
        SchemaError: If it is not, or a rule does not fit the columns.

    Example:
        >>> build_constrained_schema(PartialSchema((PartialColumn("age"),), rules=("age > 3",)))
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age > 3': type of column 'age' is not declared: ...
    """
    if not partial.rules:
        return None
    partial_columns = {column.name: column for column in partial.columns}
    named = {
        name: rule for rule in partial.rules for name in iterate_columns(parse_constraint(rule))
    }
    for name, rule in named.items():
        _check_declared(rule, name, partial_columns)
    kept = tuple(column.fill_gaps() for column in partial.columns if column.name in named)
    label = partial.label if partial.label in named else None
    return Schema(kept, label, partial.label_cuts if label else None, partial.rules)


def _check_declared(rule: str, name: str, partial_columns: dict[str, PartialColumn]) -> None:
    if name not in partial_columns:
        hint = did_you_mean(name, partial_columns)
        raise SchemaError(f"rule {shown(rule)}: no column {shown(name)}: {hint}")
    missing = partial_columns[name].missing
    if missing:
        raise SchemaError(
            f"rule {shown(rule)}: {' and '.join(missing)} of column {shown(name)} is not declared: "
            f"declare everything that rules name, which is not estimated, or leave out the rule."
        )

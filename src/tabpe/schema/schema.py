"""`Schema`: the columns of a table and its labels.

With several labels, the classes are the combinations of their values: tuples of one value per
label, in the order of the labels. Combinations that a run finds rare share one class, the last.

A numeric label is cut into classes at declared values, or at privately estimated ones.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema import files
from tabpe.schema.columns import LINEAR, Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.constraints.check import (
    MOST_OPERATIONS,
    Constraint,
    UniqueKey,
    resolve_constraint,
)
from tabpe.schema.constraints.parser import parse_constraint
from tabpe.schema.files import COLUMN_TYPES
from tabpe.schema.table_format import TableFormat
from tabpe.schema.temporal import Temporal

MOST_COMBINATIONS = 1000
MOST_RULES = 200
RARE = "rare"
LABEL_SEPARATOR = " / "

ListedColumn = Categorical | Boolean
Combination = tuple[Any, ...]


def parse_label(given: Any) -> str | tuple[str, ...] | None:
    """Return one name as it is, and several as a tuple.

    Example:
        >>> parse_label(["ward", "outcome"]), parse_label(["ward"])
        (('ward', 'outcome'), 'ward')
    """
    if given is None or isinstance(given, str):
        return given
    listed = isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)
    if not listed or not given:
        raise SchemaError(
            f"label={shown(given)}: expected the name of a column as text, or a list of names; "
            f"quote it."
        )
    if len(set(given)) < len(given):
        raise SchemaError(f"label={shown(list(given))}: names a column twice.")
    return tuple(given) if len(given) > 1 else str(given[0])


def list_label_names(label: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names of all labels."""
    if label is None:
        return ()
    return (label,) if isinstance(label, str) else label


def check_new_label(given: Any, columns: Sequence[str]) -> str | tuple[str, ...] | None:
    """Return a new label, if all its names are columns."""
    label = parse_label(given)
    for name in list_label_names(label):
        if name not in columns:
            raise SchemaError(f"label={name!r} is not a column: {did_you_mean(name, columns)}")
    return label


def check_joint_labels(columns: Sequence[Column]) -> tuple[ListedColumn, ...]:
    """Return the columns of several labels; refuse other types and too many combinations."""
    for column in columns:
        if not isinstance(column, (Categorical, Boolean)):
            raise SchemaError(
                f"label: {column.name!r} is of type {column.type_name}: several labels must be "
                f"categorical or boolean. Declare it categorical, or leave it out of label: it is "
                f"synthesised anyway."
            )
    listed = tuple(column for column in columns if isinstance(column, (Categorical, Boolean)))
    count = math.prod(column.states for column in listed)
    if count > MOST_COMBINATIONS:
        named = " and ".join(repr(column.name) for column in listed)
        raise SchemaError(
            f"label: {named} have {count:,} combinations of values: expected at most "
            f"{MOST_COMBINATIONS:,}. Leave a column out of label, which is synthesised anyway, or "
            f"declare fewer values and an other."
        )
    return listed


def list_combinations(columns: Sequence[ListedColumn]) -> tuple[Combination, ...]:
    """Return all combinations of values and nulls; the last column varies fastest.

    Example:
        >>> list_combinations((Boolean("ill"), Categorical("ward", ("eye", "skin"))))
        ((False, 'eye'), (False, 'skin'), (True, 'eye'), (True, 'skin'))
    """
    return tuple(itertools.product(*map(_list_states, columns)))


def _list_states(column: ListedColumn) -> tuple[Any, ...]:
    return (*column.values, None) if column.nullable else column.values


def check_rare_combinations(given: Any, columns: Sequence[ListedColumn]) -> tuple[Combination, ...]:
    """Return rare combinations in the order of `list_combinations`; refuse unknown ones."""
    listed = isinstance(given, (list, tuple)) and all(map(_is_combination, given))
    every = list_combinations(columns)
    # True equals 1, so the type is part of the key.
    wanted = {_tag_booleans(combination) for combination in given} if listed else set()
    found = tuple(combination for combination in every if _tag_booleans(combination) in wanted)
    if not listed or len(found) != len(given) or len(found) == 1:
        raise SchemaError(
            f"label_rare={shown(given)}: expected two or more combinations of values of the "
            f"labels, each once. A run finds them: leave out label_rare."
        )
    return found


def name_joint_classes(
    columns: Sequence[ListedColumn], rare: Sequence[Combination]
) -> tuple[str, ...]:
    """Return the name of each joint class; the last is that of all rare combinations.

    Example:
        >>> name_joint_classes((Boolean("ill"), Boolean("old")), [(True, False), (True, True)])
        ('False / False', 'False / True', 'rare')
    """
    merged = set(rare)
    kept = (one for one in list_combinations(columns) if one not in merged)
    return (*map(name_class, kept), *([RARE] if rare else []))


def name_class(combination: Any) -> str:
    """Return the name of a class from its value, or from the values of several labels."""
    if isinstance(combination, tuple):
        return LABEL_SEPARATOR.join(
            "null" if value is None else str(value) for value in combination
        )
    return str(combination)


def _is_combination(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(
        value is None or isinstance(value, (str, int, float)) for value in given
    )


def _tag_booleans(combination: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((type(value) is bool, value) for value in combination)


FEWEST_CLASSES = 2
# Quantiles are estimated as the edges of twice as many bins.
MOST_CLASSES = 16


class LabelCutting(Protocol):
    """A schema that says how a numeric label is cut."""

    @property
    def label_cuts(self) -> tuple[float, ...] | None:
        """The values at which a new class begins, if they are known."""
        ...

    @property
    def label_classes(self) -> int | None:
        """The number of classes, if the cuts are estimated privately."""
        ...


def check_class_count(classes: Any, label: Any) -> None:
    """Refuse a number of classes that can not be estimated."""
    if classes is None:
        return
    if type(classes) is not int or not FEWEST_CLASSES <= classes <= MOST_CLASSES:
        raise SchemaError(
            f"label_classes={shown(classes)}: expected a whole number from {FEWEST_CLASSES} to "
            f"{MOST_CLASSES}."
        )
    if not isinstance(label, str):
        raise SchemaError(f"label_classes={classes}: is for one numeric label: name it in label.")


def check_label_type(
    cut: LabelCutting, name: str, kind: type[Column] | None, *, has_gaps: bool
) -> None:
    """Refuse a label whose type does not go with how it is cut.

    Args:
        cut: How it is cut.
        name: Name of the label.
        kind: Its type, if that is declared.
        has_gaps: Whether a field of it is to be estimated privately.
    """
    is_number = kind in (Integer, Float)
    if kind is not None and issubclass(kind, Temporal):
        raise SchemaError(
            f"label={name!r} is a date or a time: use another column, or one derived from it, such "
            f"as the year."
        )
    if cut.label_cuts and (has_gaps or not is_number):
        raise SchemaError(f"label={name!r} has label_cuts: declare its type, min and max as well.")
    if cut.label_classes is not None and kind is not None and not is_number:
        raise SchemaError(
            f"label_classes={cut.label_classes}: is for a numeric label; {name!r} is declared "
            f"{kind.type_name}: leave out label_classes."
        )
    if is_number and not cut.label_cuts and cut.label_classes is None:
        raise SchemaError(
            f"label={name!r} is a number: declare its column categorical, or give label_cuts (the "
            f"values at which a new class begins) or label_classes (the number of classes, to "
            f"estimate the cuts privately)."
        )


@dataclass(frozen=True)
class Schema:
    """What is declared public about a table.

    Args:
        columns: The columns, in the order of the output.
        label: Name of the column whose values are the classes, each generated separately; or
            names of several columns, whose combinations are the classes; None for one class.
        label_cuts: For a numeric label: the values at which a new class begins.
        rules: What holds in every row, as texts such as `discharge >= admission`.
        label_classes: For a numeric label with privately estimated cuts: the number of classes that
            was requested.
        label_rare: For several labels: the combinations that a run found rare, and generated
            together as one class.
        format: How the table is written, if it is not a CSV file of commas in UTF-8.

    Example:
        >>> schema = Schema((Integer("age", 0, 120), Boolean("smoker")), label="smoker")
        >>> schema.names
        ('age', 'smoker')
        >>> schema.class_names
        ('False', 'True')
        >>> Schema((Boolean("ill"), Boolean("old")), label=("ill", "old")).class_names[1]
        'False / True'
    """

    columns: tuple[Column, ...]
    label: str | tuple[str, ...] | None = None
    label_cuts: tuple[float, ...] | None = None
    rules: tuple[str, ...] = ()
    label_classes: int | None = None
    label_rare: tuple[Combination, ...] = ()
    format: TableFormat | None = None

    def __post_init__(self) -> None:
        if self.format is not None:
            object.__setattr__(self, "format", TableFormat.from_dict(self.format))
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "label", parse_label(self.label))
        if self.label_cuts is not None:
            object.__setattr__(self, "label_cuts", tuple(self.label_cuts))
        self._check_columns()
        check_class_count(self.label_classes, self.label)
        if isinstance(self.label, str):
            self._check_label(self.label)
        elif self.label_cuts is not None:
            then = "leave it out, or name one label" if self.label else "name the label as well"
            raise SchemaError(f"label_cuts is given without a label of its own: {then}.")
        if isinstance(self.label, tuple):
            check_joint_labels(self._label_columns)
        if self.label_rare != ():
            rare = check_rare_combinations(self.label_rare, self.joint_labels)
            object.__setattr__(self, "label_rare", rare)
        object.__setattr__(self, "rules", check_constraint_texts(self.rules))
        _ = self.parsed_rules

    def _check_columns(self) -> None:
        if not self.columns:
            raise SchemaError("columns=[]: a schema has at least one column.")
        for column in self.columns:
            if not isinstance(column, Column) or type(column) is Column:
                raise SchemaError(f"columns: {shown(column)} is none of {', '.join(COLUMN_TYPES)}.")
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SchemaError(f"column {shown(twice)} is declared twice.")

    def _check_label(self, label: str) -> None:
        column = self[label]
        if not isinstance(column, (Integer, Float, Categorical, Boolean)):
            raise SchemaError(
                f"label={self.label!r} is of type {column.type_name}: a label is categorical, "
                f"boolean or a number; use another column, or one derived from it, such as the "
                f"year."
            )
        is_number = isinstance(column, (Integer, Float))
        if is_number and self.label_classes is not None and self.label_cuts is None:
            raise SchemaError(
                f"label_classes={self.label_classes}: the cuts must be estimated privately: pass "
                f"schema='private' (--private-schema), or declare label_cuts instead."
            )
        if is_number and not self.label_cuts and self.label_classes is None:
            raise SchemaError(
                f"label={self.label!r} is a number: declare its column categorical, or give "
                f"label_cuts (the values at which a new class begins)."
            )
        for name in ("label_cuts", "label_classes"):
            if not is_number and getattr(self, name) is not None:
                raise SchemaError(f"{name} is for a numeric label; {self.label!r} is not one.")
        if isinstance(column, (Integer, Float)):
            self._check_cuts(column)
            if column.special is not None:
                raise SchemaError(
                    f"column {label!r}: special={list(column.special)}: a numeric label has none: "
                    f"begin a class at such a value (label_cuts)."
                )

    def _check_cuts(self, column: Integer | Float) -> None:
        cuts = self.label_cuts or ()
        bounds = (column.min, *cuts, column.max) if cuts else ()
        if any(
            isinstance(cut, bool) or not isinstance(cut, (int, float)) for cut in cuts
        ) or not all(low < high for low, high in itertools.pairwise(bounds)):
            raise SchemaError(
                f"label_cuts={shown(list(cuts))}: expected rising numbers between "
                f"min={column.min!r} and max={column.max!r} of {column.name!r}."
            )
        digits = column.decimals
        if digits is not None and any(round(cut, digits) != cut for cut in cuts):
            raise SchemaError(
                f"label_cuts={shown(list(cuts))}: at most {digits} decimals, as {column.name!r}."
            )

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"there is no column {shown(name)}: {did_you_mean(name, self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def parsed_rules(self) -> tuple[Constraint, ...]:
        """The rules, parsed and resolved for the columns.

        Example:
            >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
            >>> Schema(columns, rules=("low > hihg",))
            Traceback (most recent call last):
            tabpe.errors.SchemaError: rule 'low > hihg', character 7: no column 'hihg': did you ...
        """
        return parse_constraints(self.rules, {column.name: column for column in self.columns})

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all labels."""
        return list_label_names(self.label)

    @property
    def target(self) -> str | None:
        """The label that evaluation predicts: the first of several."""
        return self.labels[0] if self.labels else None

    @property
    def joint_labels(self) -> tuple[ListedColumn, ...]:
        """The columns of several labels; empty for one label or none."""
        return check_joint_labels(self._label_columns) if len(self.labels) > 1 else ()

    @property
    def _label_columns(self) -> tuple[Column, ...]:
        return tuple(self[name] for name in self.labels)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The name of each class of the label; a single `all` without a label.

        If the label is nullable, the last class is that of null.
        """
        if self.label is None:
            return ("all",)
        if isinstance(self.label, tuple):
            return name_joint_classes(self.joint_labels, self.label_rare)
        column = self[self.label]
        if isinstance(column, (Categorical, Boolean)):
            names = tuple(str(value) for value in column.values)
        else:
            names = tuple(
                f"{_format_number(low)} to {_format_number(high)}"
                for low, high in self.class_bounds
            )
        return (*names, _make_unique_name("null", names)) if column.nullable else names

    @property
    def class_bounds(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of each class of a numeric label, without that of null."""
        if not isinstance(self.label, str) or self.label_cuts is None:
            return ()
        column = self[self.label]
        if not isinstance(column, (Integer, Float)):
            return ()
        lows = (column.min, *self.label_cuts)
        return tuple(zip(lows, (*self.label_cuts, column.max), strict=True))

    @property
    def fields_from_data(self) -> tuple[str, ...]:
        """Fields that were read from the data instead of being declared public."""
        fields = (
            f"{column.name}.{name}"
            for column in self.columns
            if column.source is Source.DATA
            for name in [*self._list_fields(column), *_list_drafted(column)]
        )
        return (*fields, *(() if self.format is None else self.format.fields_from_data))

    @property
    def fields_estimated(self) -> tuple[str, ...]:
        """Fields that were estimated with a part of the budget instead of being declared.

        Example:
            >>> age = Integer("age", 0, 95, source=Source.ESTIMATED, estimated=("max",))
            >>> Schema((age, Boolean("smoker"))).fields_estimated
            ('age.max',)
        """
        fields = (
            f"{column.name}.{name}"
            for column in self.columns
            if column.source is Source.ESTIMATED
            for name in column.estimated or self._list_fields(column)
        )
        cuts = [] if self.label_classes is None else [f"{self.label}.label_cuts"]
        return tuple(dict.fromkeys((*fields, *cuts)))

    def _list_fields(self, column: Column) -> list[str]:
        fields = [name for name in column.domain_fields if getattr(column, name) is not None]
        cuts = ["label_cuts"] if self.label_cuts and column.name == self.label else []
        nullable = ["nullable"] if column.nullable else []
        nulls = ["nulls"] if column.nulls else []
        return [*(fields or ["type"]), *nullable, *nulls, *cuts]

    @property
    def digest(self) -> str:
        """SHA-256 of the schema in canonical JSON."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def with_label(self, label: str | Sequence[str] | None) -> Schema:
        """Return the schema with another label; None keeps the one it has."""
        wanted = check_new_label(label, self.names)
        if wanted is None or wanted == self.label:
            return self
        return dataclasses.replace(
            self, label=wanted, label_cuts=None, label_classes=None, label_rare=()
        )

    @property
    def of_target(self) -> Schema:
        """The schema with `target` as its only label; other labels are ordinary columns."""
        return self.with_label(self.target)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as the plain values of a schema file."""
        several = isinstance(self.label, tuple)
        head: dict[str, Any] = {"label": list(self.labels) if several else self.label}
        head["label_cuts"] = None if self.label_cuts is None else list(self.label_cuts)
        head["label_classes"] = self.label_classes
        head["label_rare"] = [list(combination) for combination in self.label_rare] or None
        head["format"] = None if self.format is None else self.format.to_dict() or None
        given = {name: value for name, value in head.items() if value is not None}
        tail = {"rules": list(self.rules)} if self.rules else {}
        return {**given, "columns": [column.to_dict() for column in self.columns], **tail}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Schema:
        """Build a schema from plain values.

        Example:
            >>> Schema.from_dict({"columns": [{"name": "age", "type": "int", "min": 0}]})
            Traceback (most recent call last):
            tabpe.errors.SchemaError: column 'age': type='int': did you mean 'integer'?
        """
        return files.schema_from_dict(cls, plain)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a `.yaml`, `.yml` or `.json` file."""
        return files.schema_from_dict(cls, files.read_schema_file(Path(path)))

    def save(self, path: str | Path, *, comment: str = "") -> None:
        """Write the schema to a `.yaml`, `.yml` or `.json` file."""
        files.write_schema_file(Path(path), self.to_dict(), comment=comment)


def _list_drafted(column: Column) -> list[str]:
    """Return the fields that a draft may set beside the domain."""
    bent = getattr(column, "scale", LINEAR) != LINEAR
    return [
        *(["scale"] if bent else []),
        *(["ordered"] if getattr(column, "ordered", False) else []),
    ]


def _make_unique_name(name: str, others: tuple[str, ...]) -> str:
    """Return a name in as many parentheses as make it unique."""
    return name if name not in others else _make_unique_name(f"({name})", others)


def _format_number(number: float) -> str:
    """Return all digits of a number, without a trailing `.0`."""
    return repr(number).removesuffix(".0")


def parse_constraints(
    texts: tuple[str, ...], columns: Mapping[str, Column]
) -> tuple[Constraint, ...]:
    """Parse and resolve the rules of a schema.

    Raises:
        SchemaError: If a rule can not be parsed, does not fit the columns, or all rules together
            take too many operations to evaluate.

    Example:
        >>> from tabpe.schema.columns import Integer
        >>> columns = {name: Integer(name, 0, 9) for name in "ab"}
        >>> [sorted(rule.columns) for rule in parse_constraints(("a <= b", "unique(a)"), columns)]
        [['a', 'b'], ['a']]
    """
    rules, operations = [], 0
    for text in texts:
        rule = Constraint(text, resolve_constraint(text, parse_constraint(text), columns))
        operations += 0 if isinstance(rule.resolved, UniqueKey) else rule.resolved.weight
        if operations > MOST_OPERATIONS:
            raise SchemaError(
                f"rules: up to {shown(text)} they take more than {MOST_OPERATIONS:,} operations: "
                f"leave some out, or make them shorter."
            )
        rules.append(rule)
    return tuple(rules)


def check_constraint_texts(given: Any) -> tuple[str, ...]:
    """Return rules as a tuple; refuse anything but a list of texts, and too many of them."""
    if isinstance(given, str) or not isinstance(given, (list, tuple)):
        raise SchemaError(f"rules={shown(given)}: expected a list of texts.")
    if len(given) > MOST_RULES:
        raise SchemaError(f"rules: {len(given):,} of them: expected at most {MOST_RULES}.")
    for text in given:
        if not isinstance(text, str):
            raise SchemaError(f"rules: {shown(text)}: expected a text; quote it.")
    return tuple(given)

"""`Schema`: the columns of a table and which one is its label."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema import files
from tabpe.schema.columns import Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.kinds import COLUMN_TYPES


@dataclass(frozen=True)
class Schema:
    """What is declared public about a table.

    Args:
        columns: The columns, in the order of the output.
        label: Name of the column whose values are evolved apart, class by class; None for
            one class.
        label_cuts: For a numeric label: the values at which a new class begins.

    Example:
        >>> schema = Schema((Integer("age", 0, 120), Boolean("smoker")), label="smoker")
        >>> schema.names
        ('age', 'smoker')
        >>> schema.class_names
        ('False', 'True')
    """

    columns: tuple[Column, ...]
    label: str | None = None
    label_cuts: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.label_cuts is not None:
            object.__setattr__(self, "label_cuts", tuple(self.label_cuts))
        self._check_columns()
        if self.label is not None:
            self._check_label()
        elif self.label_cuts is not None:
            raise SchemaError("label_cuts is given without a label: name the label too.")

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

    def _check_label(self) -> None:
        if not isinstance(self.label, str):
            raise SchemaError(f"label={self.label!r}: expected the name of a column as text.")
        column = self[self.label]
        if not isinstance(column, (Integer, Float, Categorical, Boolean)):
            raise SchemaError(
                f"label={self.label!r} is of type {column.type_name}: a label is a category, a "
                f"truth or a number; take another column, or one made of it, such as the year."
            )
        numeric = isinstance(column, (Integer, Float))
        if numeric and not self.label_cuts:
            raise SchemaError(
                f"label={self.label!r} is a number: declare its column categorical, or give "
                f"label_cuts (the values at which a new class begins)."
            )
        if not numeric and self.label_cuts is not None:
            raise SchemaError(f"label_cuts is for a numeric label; {self.label!r} is not one.")
        if isinstance(column, (Integer, Float)):
            self._check_cuts(column)

    def _check_cuts(self, column: Integer | Float) -> None:
        cuts = self.label_cuts or ()
        bounds = (column.min, *cuts, column.max)
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

    @property
    def class_names(self) -> tuple[str, ...]:
        """What each class of the label is called; a single `all` without a label."""
        if self.label is None:
            return ("all",)
        column = self[self.label]
        if isinstance(column, (Categorical, Boolean)):
            return tuple(str(value) for value in column.values)
        bounds = self.class_bounds
        return tuple(f"{_short(low)} to {_short(high)}" for low, high in bounds)

    @property
    def class_bounds(self) -> tuple[tuple[float, float], ...]:
        """Of a numeric label: smallest and largest value of each class."""
        if self.label is None or self.label_cuts is None:
            return ()
        column = self[self.label]
        if not isinstance(column, (Integer, Float)):
            return ()
        lows = (column.min, *self.label_cuts)
        return tuple(zip(lows, (*self.label_cuts, column.max), strict=True))

    @property
    def fields_from_data(self) -> tuple[str, ...]:
        """Fields that were read off the data instead of being declared public."""
        return tuple(
            f"{column.name}.{name}"
            for column in self.columns
            if column.source is Source.DATA
            for name in self._fields(column)
        )

    @property
    def fields_bought(self) -> tuple[str, ...]:
        """Fields that were bought with a part of the budget instead of being declared public.

        Example:
            >>> age = Integer("age", 0, 95, source=Source.BOUGHT, bought=("max",))
            >>> Schema((age, Boolean("smoker"))).fields_bought
            ('age.max',)
        """
        return tuple(
            f"{column.name}.{name}"
            for column in self.columns
            if column.source is Source.BOUGHT
            for name in column.bought or self._fields(column)
        )

    def _fields(self, column: Column) -> list[str]:
        fields = [name for name in column.domain_fields if getattr(column, name) is not None]
        cuts = ["label_cuts"] if self.label_cuts and column.name == self.label else []
        return [*fields, *cuts] or ["type"]

    @property
    def digest(self) -> str:
        """SHA-256 of the schema in canonical JSON."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def with_label(self, label: str | None) -> Schema:
        """Return the schema with `label` as its label; None keeps the one it has."""
        if label is None or label == self.label:
            return self
        if not isinstance(label, str) or label not in self.names:
            raise SchemaError(
                f"label={label!r} is not a column: {did_you_mean(str(label), self.names)}"
            )
        return dataclasses.replace(self, label=label, label_cuts=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, as a schema file holds them."""
        head: dict[str, Any] = {} if self.label is None else {"label": self.label}
        if self.label_cuts is not None:
            head["label_cuts"] = list(self.label_cuts)
        return {**head, "columns": [column.to_dict() for column in self.columns]}

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
        return files.schema_from_dict(cls, files.read(Path(path)))

    def save(self, path: str | Path, *, comment: str = "") -> None:
        """Write the schema to a `.yaml`, `.yml` or `.json` file."""
        files.write(Path(path), self.to_dict(), comment=comment)


def _short(number: float) -> str:
    """Return a number without a needless `.0`, with all the digits that tell it apart."""
    return repr(number).removesuffix(".0")

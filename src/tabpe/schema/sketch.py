"""`Sketch`: a column as far as it is declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tabpe.errors import SchemaError
from tabpe.schema import files
from tabpe.schema.columns import Categorical, Column, Float, Integer, Source
from tabpe.schema.gaps import check_top
from tabpe.schema.scales import QUANTILE
from tabpe.schema.times import Date, Datetime, Time


@dataclass(frozen=True)
class Sketch:
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
        >>> Sketch("age", Integer, {"min": 0}).missing
        ('max',)
        >>> Sketch("age", Integer, {"min": 0}).filled(max=95).to_dict()["bought"]
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
    def of(cls, column: Column) -> Sketch:
        """Return a column without gaps."""
        fields = {f.name: getattr(column, f.name) for f in dataclasses.fields(column)}
        return cls(fields.pop("name"), type(column), fields, source=fields.pop("source"))

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Sketch:
        """Read the entry of a column, which may have gaps."""
        where = f"column {entry['name']!r}"
        if "type" not in entry:
            files.refuse_unknown(f"{where} without a type", entry, ("name", "nullable", "source"))
            source = files.source_of(where, entry.get("source", "public"))
            nullable = Column(entry["name"], nullable=entry.get("nullable", False)).nullable
            known = {"nullable": True} if nullable else {}
            return cls(entry["name"], fields=known, source=source)
        kind, fields = files.type_and_fields(entry, *files.GAPS)
        if "open" in fields and kind not in (Categorical, Time):
            raise SchemaError(f"{where}: open is for type categorical, and for bounds of a time.")
        apart = {key: fields.pop(key) for key in ("name", *files.GAPS, "source") if key in fields}
        return cls(kind=kind, fields=fields, **apart)

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are to be bought; a type comes first, and alone."""
        if self.kind is None:
            return ("type",)
        wanted = [name for name in files.required_fields(self.kind) if name != "name"]
        if self.kind is Time:
            wanted = ["min", "max"] if self.open else []
        if self.fields.get("scale") == QUANTILE:
            wanted.append("quantiles")
        whole = self.kind is Categorical and (self.open or self.top is not None)
        return tuple(name for name in wanted if name not in self.fields or whole)

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
        object.__setattr__(self, "fields", self._kept(kind, fields))

    def _kept(self, kind: type[Column], fields: dict[str, Any]) -> dict[str, Any]:
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

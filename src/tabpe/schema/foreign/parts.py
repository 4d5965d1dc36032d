"""What all readers of foreign schemas have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabpe.errors import SchemaError, did_you_mean, shown

Entry = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """What a foreign schema says.

    Args:
        columns: The entries of the columns, as a schema file holds them; some have gaps.
        notes: What was left out, and why.
        left_out: The columns that were.
    """

    columns: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def plain(self) -> dict[str, Any]:
        """What a schema file holds; read it as an `Outline`."""
        return {"columns": [dict(entry) for entry in self.columns]}


# Returns the entry of a column, or a text that says why there is none.
Reader = Callable[[str, Mapping[str, Any]], Entry | str]


def read_columns(columns: Mapping[str, Any], reader: Reader) -> Imported:
    """Read column by column; what can not be read is left out, and said."""
    entries, notes, left_out = [], [], []
    for name, told in columns.items():
        if not isinstance(told, Mapping):
            raise SchemaError(f"column {shown(name)}: expected a mapping of its properties.")
        found = reader(str(name), told)
        if isinstance(found, str):
            notes.append(f"{name!r} is left out: {found}")
            left_out.append(str(name))
        else:
            entries.append(found)
    if not entries:
        raise SchemaError("no column of it can be synthesised.")
    return Imported(tuple(entries), tuple(notes), tuple(left_out))


def entry(name: str, kind: str, **fields: Any) -> Entry:
    """Return the entry of a column, without fields that are not known."""
    return {"name": name, "type": kind, **{k: v for k, v in fields.items() if v is not None}}


def nullable(found: Entry | str, told: Any) -> Entry | str:
    """Return the entry of a column with what is told of nulls, if anything."""
    if isinstance(found, str) or found["type"] == "id" or told is not True:
        return found
    return {**found, "nullable": True}


def one_of_tables(tables: Mapping[str, Any], table: str | None) -> Any:
    """Return the table of that name, or the only one."""
    names = list(map(str, tables))
    if table is None and len(names) == 1:
        return next(iter(tables.values()))
    if table is None:
        raise SchemaError(f"it has {len(names)} tables: choose one of {_listed(names)}.")
    if table not in names:
        raise SchemaError(f"table={table!r}: {did_you_mean(table, names)}")
    return tables[table]


def mapping(where: str, given: Any) -> Mapping[str, Any]:
    """Return a mapping, or refuse what is none."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"{where}: expected a mapping.")
    return given


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")  # noqa: PLR2004

"""A schema of another tool, by its name or by how it looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe import _validate
from tabpe.errors import SchemaError
from tabpe.schema import files
from tabpe.schema.foreign import domains, frictionless, sdv, smartnoise
from tabpe.schema.foreign.parts import Imported
from tabpe.schema.outline import Outline


@dataclass(frozen=True)
class Format:
    """How schemas of a tool are told and read.

    Args:
        fits: Whether plain values look like one.
        read: Returns what they say of a table.
    """

    fits: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Mapping[str, Any], str | None], Imported]


FORMATS = {
    "sdv": Format(sdv.fits, sdv.read),
    "frictionless": Format(frictionless.fits, frictionless.read),
    "dpsynth": Format(domains.fits_dpsynth, domains.read_dpsynth),
    "smartnoise": Format(smartnoise.fits, smartnoise.read),
    "mbi": Format(domains.fits_mbi, domains.read_mbi),
}


def imported(
    given: Mapping[str, Any] | str | Path, *, tool: str | None = None, table: str | None = None
) -> Imported:
    """Return what a schema of another tool says about a table.

    Args:
        given: The schema, or the path of its file: `.yaml`, `.yml` or `.json`.
        tool: One of `FORMATS`; None to tell it by its looks.
        table: Which table, if it has several.

    Raises:
        SchemaError: If it is none of these, or says something that tabpe does not allow.

    Example:
        >>> found = imported({"age": 90, "sex": 2})
        >>> [column["name"] for column in found.columns]
        ['age', 'sex']
    """
    plain = files.read(Path(given)) if isinstance(given, (str, Path)) else given
    name = _recognised(plain) if tool is None else _validate.one_of("tool", tool, [*FORMATS])
    found = FORMATS[name].read(plain, table)
    Outline.from_dict(found.plain)
    return found


def _recognised(plain: Mapping[str, Any]) -> str:
    for name, form in FORMATS.items():
        if form.fits(plain):
            return name
    raise SchemaError(
        f"it looks like none of {', '.join(FORMATS)}: say which tool wrote it, or write a "
        f"schema of tabpe's own (docs/how-to/schema.md)."
    )

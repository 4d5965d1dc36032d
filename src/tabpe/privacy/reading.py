"""Certificates from plain values: every field is looked at, and what does not fit is named.

`certificate.schema.json` says the same for other programs; a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tabpe import _validate
from tabpe._plain import is_plain
from tabpe.errors import ArchiveError, FieldError, ParameterError, shown
from tabpe.privacy.adjacency import Adjacency, Neighbours
from tabpe.privacy.attachments import LedgerEntry, WrittenTable
from tabpe.privacy.bill import BillItem
from tabpe.privacy.concentrated import FILTERS
from tabpe.privacy.delta import RowCount

FORMAT = 2  # format 1 does not say `measurements_sha256` and `strict`
SIGMAS, MOST_TIMES, MOST_ITEMS = (1e-3, 1e12), 10**9, 1000
_LONGEST, _LONGEST_OF_ONE, _MOST_TOLD = 700, 300, 5
Reader = Callable[[str, Any], Any]


def fields_of(plain: Any) -> dict[str, Any]:
    """Return what a `Certificate` is made of.

    Raises:
        FieldError: If fields are missing, unknown or malformed; the first few are named.
        ArchiveError: If it is no certificate, or of another format.
    """
    if not isinstance(plain, Mapping):
        raise ArchiveError("certificate: expected a mapping of fields.")
    if plain.get("format") not in (1, FORMAT) or isinstance(plain.get("format"), bool):
        given = shown(plain.get("format"))
        raise ArchiveError(f"certificate format {given}: expected {FORMAT}, or 1.")
    later = _SINCE_2 if plain["format"] == FORMAT else {}
    if "filter" in plain:
        later = later | _ADAPTIVE
    try:
        known = _record("", plain, _FIELDS | later)
        _check_filter(known)
        adjacency = Adjacency.of(known.pop("adjacency"))
        known["neighbours"] = Neighbours(adjacency, known.pop("max_rows_per_user"))
        known["bill"] = tuple(BillItem(**item) for item in known["bill"])
    except ParameterError as error:
        told = "".join(letter if letter.isprintable() else "?" for letter in str(error))
        raise FieldError(f"certificate: {told[:_LONGEST]}") from None
    for name in ("format", "status", "guarantee"):
        known.pop(name)
    return known


def _record(where: str, value: Any, readers: Mapping[str, Reader]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{where}: expected a mapping of fields.")
    prefix = f"{where}." if where else ""
    wrong = [f"{prefix}{name}: missing." for name in readers if name not in value]
    strange = (shown(prefix + str(name)) for name in value if name not in readers)
    wrong += [f"{name}: not a field of a certificate." for name in strange]
    found = {}
    for name, read in readers.items():
        try:
            if name in value:
                found[name] = read(prefix + name, value[name])
        except ParameterError as error:
            wrong.append(str(error)[:_LONGEST_OF_ONE])
    if wrong:
        rest = f" And {len(wrong) - _MOST_TOLD} more." if len(wrong) > _MOST_TOLD else ""
        raise ParameterError(" ".join(wrong[:_MOST_TOLD]) + rest)
    return found


def _check_filter(known: Mapping[str, Any]) -> None:
    if "filter" in known and not known["adaptive"]:
        raise ParameterError("filter: a plan that is not adaptive has none.")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{name}: expected text.")
    return value


def _digest(name: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ParameterError(f"{name}: expected a SHA-256 of 64 digits from 0 to f.")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(f"{name}: expected true or false.")
    return value


def _mapping(name: str, value: Any) -> dict[str, Any]:
    try:
        fits = isinstance(value, Mapping) and is_plain(value)
    except RecursionError:
        fits = False
    if not fits:
        raise ParameterError(f"{name}: expected a mapping of names to plain values.")
    return dict(value)


def _texts_by_name(name: str, value: Any) -> dict[str, str]:
    return {key: _text(f"{name}.{key}", text) for key, text in _mapping(name, value).items()}


def _list(read: Reader, name: str, value: Any, *, most: int | None = None) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(f"{name}: expected a list.")
    if most is not None and len(value) > most:
        raise ParameterError(f"{name}: {len(value):,} entries, expected at most {most:,}.")
    return tuple(read(f"{name}[{place}]", entry) for place, entry in enumerate(value))


def _sigma(name: str, value: Any) -> float:
    low, high = SIGMAS
    return _validate.real(name, value, above=low, least=True, below=high)


def _times(name: str, value: Any) -> int:
    if _validate.whole(name, value, least=1) > MOST_TIMES:
        raise ParameterError(f"{name}: expected at most {MOST_TIMES:,}.")
    return int(value)


def _item(name: str, value: Any) -> dict[str, Any]:
    read = _record(name, value, _ITEM)
    return {field: read[field] for field in ("name", "mechanism", "sigma", "times", "chance")}


def _rows(name: str, value: Any) -> RowCount:
    return RowCount(**_record(name, value, {"estimate": _not_negative, "margin": _not_negative}))


def _table(name: str, value: Any) -> WrittenTable:
    return WrittenTable(**_record(name, value, _TABLE))


def _entry(name: str, value: Any) -> LedgerEntry:
    return LedgerEntry(**_record(name, value, {"dataset": _text, "entry": _text}))


def _or_none(read: Reader) -> Reader:
    return lambda name, value: None if value is None else read(name, value)


_not_negative = partial(_validate.real, above=0, least=True)
_positive = partial(_validate.real, above=0)
_chance = partial(_validate.real, above=0, least=True, below=1)
_texts = partial(_list, _text)
_count = partial(_validate.whole, least=0)
_TABLE: dict[str, Reader] = {
    "file": _text,
    "sha256": _digest,
    "rows": _count,
    "size_bytes": _count,
    "formulas_escaped": _flag,
}
_ITEM: dict[str, Reader] = {
    "name": _text,
    "mechanism": _text,
    "sigma": _sigma,
    "times": _times,
    "chance": _chance,
    "sensitivity": _positive,
    "parts_a_count": partial(_validate.whole, least=1),
    "share": _validate.fraction,
    "delta_slack": _chance,
}
_GUARANTEE: dict[str, Reader] = {"promised": _texts, "not_promised": _texts}
_FIELDS: dict[str, Reader] = {
    "format": partial(_validate.whole, least=1),
    "status": _text,
    "epsilon": _not_negative,
    "delta": partial(_validate.real, above=0, below=1),
    "delta_slack": _chance,
    "delta_rows": _or_none(_rows),
    "requested_epsilon": _positive,
    "delta_source": _text,
    "adjacency": _text,
    "max_rows_per_user": _or_none(partial(_validate.whole, least=1)),
    "unit": _or_none(_text),
    "bill": partial(_list, _item, most=MOST_ITEMS),
    "accountant": _text,
    "noise": _text,
    "private": _flag,
    "schema": _mapping,
    "schema_digest": _digest,
    "fields_from_data": _texts,
    "bought": _texts,
    "assumed_public": _texts,
    "configuration": _mapping,
    "seed_policy": _text,
    "versions": _texts_by_name,
    "created": _text,
    "notes": _texts,
    "adaptive": _flag,
    "release": _or_none(_table),
    "ledger": _or_none(_entry),
    "guarantee": lambda name, value: _record(name, value, _GUARANTEE),
}
# Fields that older certificates lack.
_SINCE_2: dict[str, Reader] = {"measurements_sha256": _digest, "strict": _flag}
_ADAPTIVE: dict[str, Reader] = {"filter": partial(_validate.one_of, options=FILTERS)}

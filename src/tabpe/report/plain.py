"""A report as plain values, for programs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tabpe.privacy import Certificate
from tabpe.report.contents import Contents
from tabpe.report.standing import doubts
from tabpe.report.verdict import Card

FORMAT = "tabpe report 1"
WARNING = "holds statistics of the real table that are not private: do not release"
# What follows from the fields of a part, and belongs into a file all the same.
_DERIVED = {
    "quality": ("column_shapes", "column_pair_trends", "overall"),
    "order": ("gap", "words"),
    "association": ("difference",),
}


def plain_of(contents: Contents, cards: Sequence[Card], verdict: str) -> dict[str, Any]:
    """Return plain values: text, truths, numbers, None, and lists and mappings of them."""
    head: dict[str, Any] = {"format": FORMAT, "mode": contents.mode}
    if contents.mode == "custodian":
        head["warning"] = WARNING
    else:
        head["doubts"] = list(doubts(contents))
    head |= {"verdict": verdict, "cards": plain_value(tuple(cards))}
    parts = {f.name: getattr(contents, f.name) for f in dataclasses.fields(contents)}
    plain = {name: plain_value(part) for name, part in parts.items() if name != "mode"}
    for name, derived in _DERIVED.items():
        if parts[name] is not None:
            plain[name] |= {one: plain_value(getattr(parts[name], one)) for one in derived}
    return head | plain


def plain_value(value: Any) -> Any:  # noqa: PLR0911 - one for each kind of value
    """Return a value as JSON holds it.

    Example:
        >>> plain_value({"a": (1, float("nan")), "b": np.array([0.5])})
        {'a': [1, None], 'b': [0.5]}
    """
    match value:
        case Certificate():
            return value.to_dict()
        case Mapping():
            return {str(key): plain_value(one) for key, one in value.items()}
        case list() | tuple():
            return [plain_value(one) for one in value]
        case np.ndarray() | np.generic():
            return plain_value(value.tolist())
        case float() if not math.isfinite(value):
            return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_value(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value

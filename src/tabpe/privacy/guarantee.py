"""The promise in plain words: what is promised, and what is not.

The words follow from the numbers of a certificate and are a part of its format: whoever verifies a
certificate derives them again and compares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context

from tabpe.privacy.adjacency import Neighbours

_LARGEST_FACTOR = 7.0  # a factor of a thousand


@dataclass(frozen=True)
class Guarantee:
    """What a release promises to those whose rows were in the table, in plain words.

    Args:
        promised: What holds.
        not_promised: What a reader may think holds, and does not.
    """

    promised: tuple[str, ...]
    not_promised: tuple[str, ...]

    def to_dict(self) -> dict[str, list[str]]:
        """Return plain values for a file."""
        return {"promised": list(self.promised), "not_promised": list(self.not_promised)}


def guarantee_of(
    epsilon: float,
    delta: float,
    neighbours: Neighbours,
    *,
    private: bool,
    fields_from_data: Sequence[str],
    unit: str | None,
    strict: bool = False,
) -> Guarantee:
    """Return the words for a promise.

    Example:
        >>> facts = {"private": True, "fields_from_data": (), "unit": None}
        >>> print(guarantee_of(1.0, 1e-6, Neighbours(), **facts).not_promised[0])
        People with several rows: to someone with k rows the promise is about k times weaker.
    """
    if not private:
        return Guarantee((), ("Anything: the noise was fake, for tests. Do not release this.",))
    promised = _promised(epsilon, delta, neighbours, given_fields=bool(fields_from_data))
    return Guarantee(promised, _not_promised(neighbours, fields_from_data, unit, strict=strict))


def _promised(
    epsilon: float, delta: float, neighbours: Neighbours, *, given_fields: bool
) -> tuple[str, ...]:
    whose = "all rows of one user are" if neighbours.of_users else "one row is"
    change = "replaced by others" if neighbours.of_users else "replaced by another"
    if neighbours.adjacency.value == "add-remove":
        change = "there or not"
    first = (
        f"Whether {whose} {change} changes the chance of any outcome by a factor of at most "
        f"{_factor(epsilon)}, and by {round_up(delta, 3):g} (delta) beyond that."
    )
    if given_fields:
        first += " This holds given the fields of the schema that were read off the data."
    return (
        first,
        "This holds whatever anyone knows from elsewhere, and for all that is computed from the "
        "synthetic rows.",
    )


def _not_promised(
    neighbours: Neighbours, fields_from_data: Sequence[str], unit: str | None, *, strict: bool
) -> tuple[str, ...]:
    if neighbours.of_users:
        whom = (
            f"Groups: to several users together the promise is weaker, by their number. A user is "
            f"whoever has one value of {unit!r}: somebody with two values counts as two."
        )
    else:
        whom = (
            "People with several rows: to someone with k rows the promise is about k times weaker."
        )
    words = [
        whom,
        "Several releases: what is promised for each adds up over all that come from one table.",
        "Truth: synthetic rows are nobody's, and what holds for them need not hold for people.",
        "Statistics: what is true of most people can be learned, and applied to you.",
        "Failures: whether a run ends with a release at all, if a file can not be read as a table "
        "or the machine runs out of memory, disk or time; and how long a run takes.",
    ]
    if strict:
        words.append(
            "Refusals: the run was strict, so one cell that does not fit the schema would have "
            "ended it. Whether there is a release is not covered."
        )
    if fields_from_data:
        words.append(
            "The schema: its fields that were read off the data are shown as they are: "
            f"{', '.join(fields_from_data)}."
        )
    return tuple(words)


def _factor(epsilon: float) -> str:
    """Return e^epsilon, as a number if that says more."""
    if epsilon > _LARGEST_FACTOR:
        return f"e^{round_up(epsilon, 6):g}"
    return f"{round_up(math.exp(epsilon), 3):g} (e^epsilon)"


def round_up(value: float, digits: int) -> float:
    """Return a positive value with so many significant digits, rounded toward a weaker promise.

    Example:
        >>> round_up(0.123456, 3), round_up(1.0, 3)
        (0.124, 1.0)
    """
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(value)))

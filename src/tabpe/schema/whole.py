"""How far whole numbers may reach: a float tells 2^53 of them apart, counted from the smallest."""

from __future__ import annotations

from typing import Any

EXACT_INTEGERS = 2**53
_LEAST, _LARGEST = -(2**63), 2**64 - 1
_INSTEAD = "id if it tells rows apart, categorical for codes, float for amounts"


def is_whole(given: Any) -> bool:
    """Whether something is a whole number of 64 bits, with or without a sign.

    Example:
        >>> is_whole(2**64 - 1), is_whole(2**64), is_whole(True)
        (True, False, False)
    """
    return isinstance(given, int) and not isinstance(given, bool) and _LEAST <= given <= _LARGEST


def reach_fault(low: int, high: int) -> tuple[str, int, str] | None:
    """Return which bound is too far out, what it is and what is expected; None if both are fine.

    Example:
        >>> reach_fault(2**60, 2**60 + 9) is None, reach_fault(0, 2**60)[0]
        (True, 'max')
    """
    name, farthest = ("min", low) if abs(low) > abs(high) else ("max", high)
    if abs(farthest) <= EXACT_INTEGERS or high - low <= EXACT_INTEGERS:
        return None
    then = f"a whole number within +-2**53, or bounds at most 2**53 apart; or write {_INSTEAD}"
    return name, farthest, then

"""Whether a certificate holds together: each check by itself.

The accountant here is another one than that which certified (`tabpe.privacy.recount`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tabpe.errors import ParameterError, SchemaError
from tabpe.privacy import Certificate, NoiseSource, OpenDPNoise, TableNoise
from tabpe.privacy.concentrated import GAUSSIAN_DP
from tabpe.privacy.guarantee import round_up
from tabpe.privacy.recount import recounted_epsilon
from tabpe.schema import Schema
from tabpe.verify.report import FAILED, GIVEN, OK, Check

SOURCES: tuple[type[NoiseSource], ...] = (OpenDPNoise, TableNoise)
# The recount is an upper bound, and so is what is stated: two ways round the same truth. Over bills
# of all kinds the recount was never more than 0.03% above what was certified. Noise that is 1% less
# costs 0.5% of epsilon or more, where sigma sqrt(rounds) is 4 or more, and is seen; below that the
# losses of discrete noise lie far apart, and less noise may cost nothing. The other number is in
# standard deviations of the loss, the accuracy of the recount: it matters for an epsilon near 0.
_ABOVE, _GRID = 2e-3, 1e-4
# To state too much breaks no promise, but the bill is then not all that was bought. For very little
# noise (sigma 0.1) the accountant of the certificate itself rounds up by 1%.
_BELOW = 2e-2
_CLOSE = 1e-9
_LARGEST_EXPONENT = 700.0  # of a float


def derived_check(stated: Certificate, plain: Mapping[str, Any]) -> Check:
    """Compare what follows from other fields with what the file says of it."""
    own = stated.to_dict()
    names = [name for name in own if not _alike(own[name], plain[name])]
    if names:
        return Check("words", FAILED, f"does not follow from the rest: {', '.join(names)}")
    return Check("words", OK, "status, shares and guarantee follow from the rest")


def _alike(own: Any, other: Any) -> bool:
    """Whether plain values are the same, but for the last digits of numbers."""
    if isinstance(own, dict) and isinstance(other, dict):
        return own.keys() == other.keys() and all(_alike(own[key], other[key]) for key in own)
    if isinstance(own, list) and isinstance(other, list):
        return len(own) == len(other) and all(map(_alike, own, other))
    if isinstance(own, float) and type(other) in (int, float):
        return math.isclose(own, other, rel_tol=_CLOSE)
    return bool(own == other)


def schema_check(stated: Certificate) -> tuple[Schema | None, Check]:
    """Return the schema, if it is one, and whether it is the one whose SHA-256 is stated."""
    try:
        schema = Schema.from_dict(stated.schema)
    except SchemaError as error:
        return None, Check("schema", FAILED, f"the schema in it is none: {error}")
    if schema.to_dict() != stated.schema or schema.digest != stated.schema_digest:
        return schema, Check("schema", FAILED, "its SHA-256 is not the stated one")
    if schema.fields_from_data != stated.fields_from_data:
        words = "fields_from_data is not what the schema marks as read off the data"
        return schema, Check("schema", FAILED, words)
    return schema, Check("schema", OK, f"SHA-256 {schema.digest[:16]}... is the stated one")


def noise_check(stated: Certificate) -> Check:
    """Whether the noise is private, and its distance from exact noise is paid for."""
    if not stated.private:
        return Check("noise", FAILED, "NOT PRIVATE: made with fake noise, for tests only")
    source = _source(stated)
    if source is None:
        return Check("noise", FAILED, "none of the sources of noise that tabpe has")
    if (stated.unit is None) is stated.neighbours.of_users:
        return Check("noise", FAILED, "unit and max_rows_per_user: expected both or neither")
    histograms = sum(item.times for item in stated.bill)
    moved = histograms * stated.neighbours.cells * (source.slack + stated.neighbours.slack)
    slack = (1 + math.exp(min(stated.requested_epsilon, _LARGEST_EXPONENT))) * moved
    if not math.isclose(slack, stated.delta_slack, rel_tol=_CLOSE):
        words = f"its slack takes {slack:.3g} of delta, not {stated.delta_slack:.3g} as stated"
        return Check("noise", FAILED, words)
    exact = "exact" if slack == 0 else f"{slack:.2g} of delta pays for its slack"
    return Check("noise", OK, f"{stated.noise}: {exact}")


def _source(stated: Certificate) -> type[NoiseSource] | None:
    return next((source for source in SOURCES if source.name == stated.noise), None)


def delta_check(stated: Certificate) -> Check:
    """Whether the parts of delta add up."""
    delta, rows = stated.delta, stated.delta_rows
    try:
        promised = delta if rows is None else rows.promised_delta
    except ParameterError:
        promised = math.nan
    if not math.isclose(delta, promised, rel_tol=_CLOSE):
        return Check("delta", FAILED, "is not what follows from the noisy number of rows")
    told = stated.neighbours.cells * sum(item.times * item.chance for item in stated.bill)
    left = stated.accounted_delta - told - stated.delta_slack
    if left <= 0:
        return Check("delta", FAILED, f"its parts are more than {delta:.3g}")
    parts = f"{round_up(delta, 3):g}, of which the bill was composed at {left:.3g}"
    if told:
        parts += f"; {told:.2g} is the chance that a value of one row is told"
    return Check("delta", OK, parts)


def epsilon_checks(stated: Certificate) -> Iterator[Check]:
    """Whether epsilon is at most what was asked for, and what the bill comes to."""
    if stated.epsilon > stated.requested_epsilon:
        yield Check("request", FAILED, "epsilon is above requested_epsilon")
    else:
        asked = f"epsilon {stated.epsilon:.6g} is at most the requested "
        yield Check("request", OK, f"{asked}{stated.requested_epsilon:.6g}")
    try:
        found = recounted_epsilon(
            stated.bill,
            stated.accounted_delta,
            stated.neighbours,
            slack=stated.delta_slack,
            adaptive=stated.adaptive,
            gaussian=stated.filter == GAUSSIAN_DP,
        )
    except ParameterError as error:
        yield Check("epsilon", FAILED, f"can not be counted again: {error}")
        return
    yield _compared(stated, found)


def _compared(stated: Certificate, found: float) -> Check:
    deviation = math.sqrt(stated.neighbours.squared_distance * sum(i.loss for i in stated.bill))
    room = _GRID * deviation
    counted = f"the bill comes to {found:.6g}"
    if found > stated.epsilon * (1 + _ABOVE) + room:
        return Check("epsilon", FAILED, f"{counted}, more than the stated {stated.epsilon:.6g}")
    if found < stated.epsilon * (1 - _BELOW) - room:
        words = f"{counted}, stated is {stated.epsilon:.6g}: an item is missing or was changed"
        return Check("epsilon", FAILED, words)
    return Check("epsilon", OK, f"{counted}, counted anew; stated is {stated.epsilon:.6g}")


def given_checks(stated: Certificate) -> Iterator[Check]:
    """Say under which condition the promise holds, if there is one."""
    if stated.fields_from_data:
        fields = ", ".join(stated.fields_from_data)
        words = f"HOLDS ONLY GIVEN these fields, read off the data and not covered: {fields}"
        yield Check("public", GIVEN, words)

"""On which terms measures are bought: taken from the certificate of the table, or given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tabpe.charge import Charge
from tabpe.errors import ParameterError, SchemaError
from tabpe.privacy import ROWS, Certificate, Neighbours, NoiseSource
from tabpe.request import Facts, Request
from tabpe.schema import Schema


@dataclass(frozen=True)
class Offer:
    """What measures are bought for, all of it checked.

    Args:
        request: Epsilon, delta and the neighbouring relation.
        delta_source: Where delta comes from.
        unit: The column of user ids, if the promise is to users.
        noise: The source of noise.
        charge: The ledger that they are charged to, if any.
        certificate: That of the synthetic table, if there is one.
    """

    request: Request
    delta_source: str
    unit: str | None
    noise: NoiseSource
    charge: Charge | None
    certificate: Certificate | None

    @property
    def delta(self) -> float:
        """The delta of the purchase."""
        if self.request.delta is None:
            raise AssertionError("offer_of")
        return self.request.delta

    @property
    def facts(self) -> Facts:
        """What is public about the real rows: nothing but delta is needed."""
        return Facts(None, (), self.delta, self.delta)


def offer_of(
    *,
    epsilon: float | None,
    delta: float | None,
    certificate: Certificate | None,
    neighbours: Neighbours | None,
    unit: str | None,
    noise: NoiseSource,
    charge: Charge | None,
) -> Offer:
    """Return the terms, where what is not given is that of the certificate."""
    if epsilon is None:
        raise ParameterError(
            "epsilon: what real rows may tell costs privacy: give the budget of these measures, "
            "for example epsilon=0.5."
        )
    if neighbours is None and unit is None and certificate is not None:
        neighbours, unit = certificate.neighbours, certificate.unit
    neighbours = neighbours or ROWS
    if (unit is not None) is not neighbours.of_users:
        raise ParameterError(
            f"unit={unit!r}: expected the column of user ids if, and only if, the promise is to "
            f"users: give both unit and max_rows_per_user, or neither."
        )
    found, words = _delta(delta, certificate, charge)
    request = Request.of_measures(epsilon, found, neighbours)
    return Offer(request, words, unit, noise, charge, certificate)


def schema_of(
    given: Schema | str | Path | None, certificate: Certificate | None, unit: str | None
) -> Schema:
    """Return the schema: the given one, or that of the certificate."""
    if given is None and certificate is None:
        raise SchemaError(
            "schema=None: cells are counted by what is public about the table. Give the schema "
            "that the synthetic table was made with, or its certificate, which holds it."
        )
    if given is None and certificate is not None:
        given = Schema.from_dict(certificate.schema)
    schema = Schema.load(given) if isinstance(given, (str, Path)) else given
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema: {type(schema).__name__}: expected a Schema without gaps, or a path to one. "
            f"The one of a private schema is in the certificate."
        )
    if unit is not None and unit in schema.names:
        raise ParameterError(
            f"unit={unit!r}: is a column of the schema too: take it out of the schema."
        )
    return schema


def _delta(
    given: float | None, certificate: Certificate | None, charge: Charge | None
) -> tuple[float, str]:
    if given is not None:
        return given, f"delta {given:g}"
    if certificate is not None:
        delta = certificate.accounted_delta
        return delta, f"delta {delta:.4g}, as the bill of the synthetic table is composed at"
    if charge is not None and charge.delta is not None:
        return charge.delta, f"delta {charge.delta:g}, that of the budget of the data set"
    raise ParameterError(
        "delta=None: there is no certificate to take it from, and the number of rows is private. "
        "Give delta, far below 1/rows, for example 1e-6."
    )

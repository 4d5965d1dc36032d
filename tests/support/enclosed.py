"""Exponentials and distribution functions from decimals: another way than that of tabpe."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

SCALE = 2**480


def exponential(numerator, denominator):
    """exp(-numerator / denominator), to 150 digits."""
    with localcontext() as context:
        context.prec = 150
        return Fraction((-Decimal(numerator) / Decimal(denominator)).exp())


def cumulative(sigma, *, halve_zero):
    """The distribution function on 0, 1, ... in parts of `SCALE`, within 2^-340; rounded down.

    The weights are exp(-j^2 / 2 sigma^2).
    """
    reach = int(22 * sigma) + 22
    rate = 1 / (2 * Fraction(sigma) ** 2)
    weights = [
        int(exponential(rate.numerator * j * j, rate.denominator) * SCALE) for j in range(reach)
    ]
    weights[0] //= 2 if halve_zero else 1
    total = sum(weights)
    return [part * SCALE // total for part in itertools.accumulate(weights)]

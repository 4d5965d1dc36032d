"""From which noisy count on a value is told."""

from __future__ import annotations

import math


def told_above(sigma: float, chance: float, length: int = 1) -> int:
    """Return the noisy count above which a value is told.

    Privacy: a value that one row alone holds is told with at most the given chance. Its count is 1,
    and noise N of the discrete Gaussian is sub-Gaussian: E exp(sN) <= exp(s^2 sigma^2 / 2) for all
    s. So P(N >= t) <= exp(-st + s^2 sigma^2 / 2) for s > 0. With s = t / sigma^2 that is
    exp(-t^2 / (2 sigma^2)), which is the chance for t = sigma sqrt(2 ln(1 / chance)). Noise from a
    table is sub-Gaussian too. What follows for neighbours is claim 5 of docs/privacy.md.

    Args:
        sigma: Scale of the noise, in the parts of `length`.
        chance: The chance.
        length: The most that one row, or one user, adds to a count.

    Example:
        >>> told_above(10.0, 1e-6)
        54
    """
    return length + math.ceil(sigma * math.sqrt(2 * math.log(1 / chance)))

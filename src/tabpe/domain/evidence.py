"""Which noisy counts are more than noise.

Accuracy, not privacy: what is decided here is decided after the noise was added.
"""

from __future__ import annotations

# The chance that any cell of a histogram misleads. A wrong bound costs some accuracy; a wrong type
# spoils the run.
MISLED = 1e-3
MISLED_BY_TYPE = 1e-7


def threshold(sigma: float, cells: int, chance: float = MISLED) -> float:
    """Return what noise exceeds in none of `cells` cells, but with a chance of `chance`.

    So a cell above it is not empty, and one of more than twice as many rows is above it, each but
    with that chance.

    Example:
        >>> round(threshold(100.0, 11))
        374
    """
    from scipy.special import ndtri

    return -sigma * float(ndtri(chance / cells))

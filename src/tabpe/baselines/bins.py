# ruff: noqa: ARG001
"""How columns of numbers are cut into bins."""

from __future__ import annotations

from tabpe.baselines.plan import Part
from tabpe.encode import Encoder
from tabpe.encode.axes import NumberAxis
from tabpe.engines import Tables
from tabpe.measure import Terms

KINDS = ("privtree", "quantile", "uniform")


def parts(kind: str, columns: int) -> tuple[Part, ...]:
    """Return what bins cost, as parts of their budget; nothing if they are free."""
    return ()


def buy(
    kind: str, encoder: Encoder, tables: Tables, terms: Terms, *, most: int
) -> dict[str, NumberAxis]:
    """Return the bins of each column of numbers that is bought, by its name."""
    return {}

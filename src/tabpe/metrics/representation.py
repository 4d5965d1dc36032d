"""Representation: whether synthetic rows lie where real rows lie, and reach all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tabpe import _validate
from tabpe.metrics.embedding import chosen, embed
from tabpe.metrics.manifold import Overlap, overlap
from tabpe.metrics.view import View

NEIGHBOURS, ROWS = 5, 5000


@dataclass(frozen=True)
class Representation:
    """How two sets of points lie in a learned space.

    Args:
        encoder: What made the points: `autoencoder`, or `linear` where torch is not installed.
        neighbours: The k of the k-th nearest neighbour.
        rows: The number of rows of each table that were compared: real, synthetic.
        precision: Share of the synthetic points that lie within the real ones.
        recall: Share of the real points that lie within the synthetic ones.
        density: How many real neighbourhoods a synthetic point lies in, over k; may exceed 1.
        coverage: Share of the real neighbourhoods that hold a synthetic point.
        floor: The same for other real rows in the place of the synthetic ones: what can be
            expected of so many rows; None without them.
    """

    encoder: str
    neighbours: int
    rows: tuple[int, int]
    precision: float
    recall: float
    density: float
    coverage: float
    floor: Overlap | None = None


def representation(
    real: View,
    synthetic: View,
    other: View | None = None,
    *,
    neighbours: int = NEIGHBOURS,
    rows: int | None = ROWS,
    encoder: str = "auto",
    random_state: int | None = 0,
) -> Representation:
    """Return precision, recall, density and coverage in the space of an autoencoder.

    The space is learned from the real rows. `tabpe.metrics.manifold` says what is counted in it.
    How many rows are compared matters: with fewer rows the balls are larger, so figures that are
    to be compared with each other need the same `rows`. So does what is learned from: with hundreds
    of columns and few rows the space suits the real rows better than any others, and recall is low
    even for other real rows.

    Args:
        real: The real rows.
        synthetic: The synthetic rows, made by the same call of `views`.
        other: Other real rows, about as many as synthetic ones: tells what to expect.
        neighbours: The k of the k-th nearest neighbour.
        rows: At most so many rows of each table are compared, drawn at random; None for all.
            The time grows with their square.
        encoder: `autoencoder`, `linear`, or `auto` for the first if torch is installed.
        random_state: Seed of everything that is drawn.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If a parameter is outside what it allows, or the encoder not installed.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Integer, Schema
        >>> schema = Schema((Integer("age", 0, 99),))
        >>> ages, half = pa.table({"age": range(100)}), pa.table({"age": range(50)})
        >>> found = representation(*views(schema, [ages, half]), encoder="linear")
        >>> found.precision, found.recall
        (1.0, 0.55)
    """
    _validate.whole("neighbours", neighbours, least=1)
    _validate.optional(_validate.whole, "rows", rows, least=1)
    rng = np.random.default_rng(random_state)
    tables = [real, synthetic, *filter(None, [other])]
    sampled = [table if rows is None else table.sampled(rows, rng) for table in tables]
    points, *others = embed(real, sampled, encoder=encoder, random_state=rng)
    found, *floor = [overlap(points, made, neighbours) for made in others]
    return Representation(
        encoder=chosen(encoder),
        neighbours=neighbours,
        rows=(len(sampled[0]), len(sampled[1])),
        precision=found.precision,
        recall=found.recall,
        density=found.density,
        coverage=found.coverage,
        floor=floor[0] if floor else None,
    )

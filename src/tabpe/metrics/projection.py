"""Rows as points of a plane, for a picture.

The plane is the one in which the real rows lie furthest apart. `tabpe.metrics.coding` says what a
row is as a vector: a cell far out, beyond its bounds or not, counts for at most so much, so that
one of them can not squeeze all other points together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.metrics.coding import learned
from tabpe.metrics.embedding import principal
from tabpe.metrics.view import Labels, View

POINTS = 1500
MOST_CLASSES = 8
OTHERS, ALL = "others", "all rows"
_LEARNED_FROM, _CELLS_LEARNED_FROM = 5000, 10_000_000


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows on the two directions in which they differ most.

    Args:
        explained: Which share of the variance each direction holds.
        real: The real points, one row each; None in a public report.
        synthetic: The synthetic points.
        real_classes: The class of each real point; all 0 without a categorical label.
        synthetic_classes: The class of each synthetic point.
        class_names: What the classes are called: at most `MOST_CLASSES`, the most common first, and
            then `OTHERS` for the rest and for nulls, if there are any.
    """

    explained: tuple[float, float]
    real: NDArray[np.float64] | None
    synthetic: NDArray[np.float64]
    real_classes: NDArray[np.int64] | None
    synthetic_classes: NDArray[np.int64]
    class_names: tuple[str, ...]


def projection(
    real: View | None, synthetic: View, *, points: int = POINTS, random_state: int | None = 0
) -> Projection:
    """Return at most `points` rows of each table on the principal plane of the real ones.

    Without real rows it is the plane of the synthetic ones. A categorical label gives the classes
    and takes no part in the plane, unless there is no other column. Each direction points to where
    its largest loading is positive, so that a picture is not mirrored by chance.

    Args:
        real: The real rows; None in a public report.
        synthetic: The synthetic rows, made by the same call of `views`.
        points: At most so many rows of each table, drawn at random.
        random_state: Seed of what is drawn.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If `points` is not a whole number of at least 1.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> real = pa.table({"age": [20, 40], "ill": [True, True]})
        >>> made = pa.table({"age": [30, 60], "ill": [True, False]})
        >>> found = projection(*views(schema, [real, made]))
        >>> found.synthetic[:, 0], found.class_names, found.explained
        (array([0., 3.]), ('True', 'False'), (1.0, 0.0))
    """
    _validate.whole("points", points, least=1)
    rng = np.random.default_rng(random_state)
    first = synthetic if real is None else real
    place, explained = _plane(first, synthetic, rng)
    common = _common_classes(first, synthetic)
    shown = None if real is None else real.sampled(points, rng)
    made = synthetic.sampled(points, rng)
    real_classes = None if shown is None else _classes(shown, common)
    synthetic_classes = _classes(made, common)
    return Projection(
        explained=explained,
        real=None if shown is None else place(shown),
        synthetic=place(made),
        real_classes=real_classes,
        synthetic_classes=synthetic_classes,
        class_names=_names(first, common, (real_classes, synthetic_classes)),
    )


def _plane(
    first: View, synthetic: View, rng: np.random.Generator
) -> tuple[Callable[[View], NDArray[np.float64]], tuple[float, float]]:
    """Return how rows are placed on the plane of `first`, and how much of them that shows."""
    coding = learned([first, synthetic], columns=_seen(first))
    most = min(_LEARNED_FROM, max(1, _CELLS_LEARNED_FROM // coding.width))
    rows = coding.dense(coding(first.sampled(most, rng)))
    mean, directions, shares = principal(rows, 2, rng)
    missing = 2 - len(shares)  # a table with one number in it has one direction
    directions = np.pad(directions, ((0, 0), (0, missing)))
    explained = np.pad(shares, (0, missing))

    def place(view: View) -> NDArray[np.float64]:
        points = (coding.dense(coding(view)) - mean) @ directions
        return np.round(points, 6) + 0.0  # no -0.0

    return place, (float(explained[0]), float(explained[1]))


def _seen(view: View) -> tuple[str, ...]:
    names = tuple(cells.name for cells in view.features)
    return names if names and isinstance(view.label, Labels) else tuple(view.schema.names)


def _common_classes(first: View, synthetic: View) -> list[int]:
    """Return the codes of the most common classes of the first table, then of the second."""
    label, other = first.label, synthetic.label
    if not isinstance(label, Labels) or not isinstance(other, Labels):
        return []
    size = len(label.names)
    counts, others = (np.bincount(cells.present, minlength=size) for cells in (label, other))
    order = np.lexsort((np.arange(size), -others, -counts))
    return [int(code) for code in order if counts[code] or others[code]][:MOST_CLASSES]


def _classes(view: View, common: list[int]) -> NDArray[np.int64]:
    """Return the place of each row's class among the common ones, or the place after them."""
    label = view.label
    if not isinstance(label, Labels):
        return np.zeros(len(view), np.int64)
    places = np.full(len(label.names) + 1, len(common), np.int64)  # the last is that of null
    places[common] = np.arange(len(common))
    return places[label.codes]


def _names(
    view: View, common: list[int], classes: Sequence[NDArray[np.int64] | None]
) -> tuple[str, ...]:
    label = view.label
    if not isinstance(label, Labels):
        return (ALL,)
    rest = any((found == len(common)).any() for found in classes if found is not None)
    return (*(label.names[code] for code in common), *((OTHERS,) if rest else ()))

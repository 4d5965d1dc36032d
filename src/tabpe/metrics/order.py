"""Order of correlation: whether the data needs a method that sees many columns at once.

A tree of depth d looks at d columns on the way to a leaf, so boosted trees of limited depth show
how many columns must be seen at once to predict the label. The paper compares depths from 2 to 7 of
XGBoost; here the trees are those of scikit-learn, with settings of XGBoost: a hundred steps of 0.3,
a penalty of 1, and no limit to the number of leaves but that each has 20 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabpe._validate import optional, whole
from tabpe.errors import ParameterError
from tabpe.metrics.examples import Examples, class_examples
from tabpe.metrics.information import Gain, strongest_gain
from tabpe.metrics.learners import answered, boosted_trees, together
from tabpe.metrics.view import View

DEPTHS = (2, 3, 4, 5, 6, 7)
SOME, HIGH = 0.01, 0.03
CERTAIN = 2.0
SETS = (2, 3, 4)
STEPS = 100
MOST_CLASSES = 12
LEAST_BITS = 0.01
Level = Literal["low", "some", "high"]


@dataclass(frozen=True)
class Order:
    """How deep trees must be to predict the label.

    Args:
        label: The column that is predicted.
        depths: Depths of boosted trees, rising.
        accuracy: Accuracy on rows held out, at each depth.
        level: How strongly the label depends on many columns at once: `low` if deeper trees gain
            less than a point, as the paper found for the tables that are in common use, or no more
            than chance may; `high` from three points on; `some` between.
        margin: What chance alone may add to the gap: two standard errors over the test rows.
        gains: The sets of two, three and four columns with the label that tell most of what no
            smaller set tells; empty where there are too many columns or too few rows.
    """

    label: str
    depths: tuple[int, ...]
    accuracy: tuple[float, ...]
    level: Level
    margin: float = 0.0
    gains: tuple[Gain, ...] = ()

    @property
    def gap(self) -> float:
        """Best accuracy less that of the shallowest trees.

        Example:
            >>> round(Order("ill", (2, 3, 4), (0.75, 0.875, 0.8), "high").gap, 3)
            0.125
        """
        return max(self.accuracy) - self.accuracy[0]

    @property
    def words(self) -> str:
        """Whether a method of high order is needed, in a few sentences.

        Example:
            >>> order = Order("ill", (2, 3), (0.861, 0.864), "low")
            >>> order.words.split(". ")[0]
            "Trees of depth 2 predict 'ill' with an accuracy of 0.861, deeper ones of 0.864 at best"
            >>> order.words.split(". ")[1]
            'To predict it, seeing 2 columns at a time is nearly enough'
        """
        depth, shallow, best = self.depths[0], self.accuracy[0], max(self.accuracy)
        chance = ", which may be chance" if self.level == "low" and self.gap >= SOME else ""
        meaning = {
            "low": f"To predict it, seeing {depth} columns at a time is nearly enough.",
            "some": f"It depends a little on more than {depth} columns at a time: a method that "
            f"keeps correlations of high order helps somewhat.",
            "high": f"It depends on more than {depth} columns at a time: synthetic rows need a "
            f"method that keeps correlations of high order.",
        }
        return (
            f"Trees of depth {depth} predict {self.label!r} with an accuracy of {shallow:.3f}, "
            f"deeper ones of {best:.3f} at best{chance}. {meaning[self.level]} "
            f"This is about {self.label!r} alone, not about how other columns go together."
        )


def order(
    real: View,
    test: View | None = None,
    *,
    depths: Sequence[int] = DEPTHS,
    rows: int | None = 20_000,
    random_state: int | None = 0,
    jobs: int | None = None,
) -> Order | None:
    """Return how deep trees must be; None without a label with two classes or more.

    NOT PRIVATE: the real rows are read as they are. A numeric label is predicted by its classes. Of
    many classes the rarest are taken together as one.

    Args:
        real: The real rows.
        test: Other real rows; without them 30% of `real` are held out.
        depths: Depths of trees to compare, rising.
        rows: How many rows of each table are used at most, drawn at random; None for all.
        random_state: Seed of all that is random.
        jobs: How many depths are tried at once; None for one on each core. What is returned does
            not depend on it.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Boolean, Float, Schema
        >>> from tabpe.metrics.view import views
        >>> x = np.random.default_rng(0).uniform(-1, 1, (3, 3000))
        >>> schema = Schema((*(Float(name, -1, 1) for name in "abc"), Boolean("y")), label="y")
        >>> table = pa.table(dict(zip("abcy", [*x, x.prod(axis=0) > 0])))
        >>> order(*views(schema, [table]), depths=(2, 3)).level
        'high'
    """
    depths = _checked(depths)
    optional(whole, "rows", rows, least=1)
    optional(whole, "jobs", jobs, least=1)
    parts = _parts(real, test, rows, np.random.default_rng(random_state))
    if parts is None:
        return None
    right = _right(*_common_classes(*parts), depths, random_state, jobs)
    margin = _margin(right)
    accuracy = tuple(float(each.mean()) for each in right)
    return Order(
        label=str(real.schema.target),
        depths=depths,
        accuracy=accuracy,
        level=_level(max(accuracy) - accuracy[0], margin),
        margin=margin,
        gains=_gains(real.sampled(rows or len(real), np.random.default_rng(random_state))),
    )


def _checked(depths: Sequence[int]) -> tuple[int, ...]:
    found = tuple(whole("depths", depth, least=1) for depth in depths)
    if not found or found != tuple(sorted(set(found))):
        raise ParameterError(f"depths={list(depths)!r}: expected rising depths, such as 2, 3, 4.")
    return found


def _parts(
    real: View, test: View | None, rows: int | None, rng: np.random.Generator
) -> tuple[Examples, Examples] | None:
    """Return rows to train and to test on, if there is something to predict from something."""
    label = real.schema.target
    known = None if label is None else class_examples(real, label)
    if label is None or known is None or not known.features:
        return None
    others = None if test is None else class_examples(test, label)
    train, tested = known.parted(rng) if others is None else (known, others)
    train, tested = train.sampled(rows, rng), tested.sampled(rows, rng)
    return (train, tested) if len(train.present) > 1 and len(tested) else None


def _common_classes(train: Examples, test: Examples) -> tuple[Examples, Examples]:
    """Take all but the most common classes together as one: each class costs a tree a step."""
    if len(train.present) <= MOST_CLASSES:
        return train, test
    counts = np.bincount(train.target, minlength=train.classes or 0)
    common = np.argsort(-counts, kind="stable")[: MOST_CLASSES - 1]
    renamed = np.full(len(counts), MOST_CLASSES - 1)
    renamed[common] = np.arange(MOST_CLASSES - 1)
    return tuple(
        Examples(rows.features, renamed[rows.target], MOST_CLASSES) for rows in (train, test)
    )  # type: ignore[return-value]


def _right(
    train: Examples,
    test: Examples,
    depths: Sequence[int],
    random_state: int | None,
    jobs: int | None,
) -> list[NDArray[np.bool_]]:
    """Return for each depth which of the test rows are predicted right."""

    def at(depth: int) -> NDArray[np.bool_]:
        make = partial(
            boosted_trees, max_depth=depth, max_leaf_nodes=None, learning_rate=0.3, max_iter=STEPS
        )
        chances = answered(make, train, test, random_state=random_state)
        right: NDArray[np.bool_] = chances.argmax(axis=1) == test.target
        return right

    return together([partial(at, depth) for depth in depths], jobs)


def _margin(right: Sequence[NDArray[np.bool_]]) -> float:
    """Return two standard errors of the gap, over test rows that all depths share."""
    best = max(right, key=lambda each: each.mean())
    differences = best.astype(float) - right[0]
    return CERTAIN * float(differences.std() / np.sqrt(len(differences)))


def _level(gap: float, margin: float) -> Level:
    if gap < SOME or gap <= margin:
        return "low"
    return "high" if gap >= HIGH else "some"


def _gains(real: View) -> tuple[Gain, ...]:
    found = [strongest_gain(real, size, label=real.schema.target) for size in SETS]
    return tuple(gain for gain in found if gain is not None and gain.bits >= LEAST_BITS)

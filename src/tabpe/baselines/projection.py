"""Mixed points, of categories and numbers, and how they are moved towards what was measured.

The projection of RAP++ (Vietri et al. 2022). A point has free numbers, and for each categorical
attribute a distribution over its values. A marginal of points is smooth in them; a halfspace is
not, so its edge is made soft, a sigmoid that becomes steeper whenever points stop getting better.
Distributions are moved by Adam and put back onto the simplex after each step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabpe.baselines import relaxed
from tabpe.baselines.relaxed import Layout

Array = NDArray[np.float32]

_SOFTEST, _DOUBLINGS = 2.0, 10
_HARD = 1e6  # a sigmoid so steep is a step
_AT_ONCE = 10  # steps between two looks at the error
_MOST_LOOKS = 200
_STALLED = 1e-4
_TO_SIMPLEX = 12  # rounds; a point that was on it before is back after two or three


class Points(NamedTuple):
    """Mixed points.

    Args:
        numbers: Their numbers, from 0 to 1.
        chances: Their distributions over the values of all attributes, side by side.
    """

    numbers: Any
    chances: Any


@dataclass(frozen=True, eq=False)
class Wanted:
    """What points are moved towards: shares of all rows.

    Args:
        layout: The categorical attributes, and at last one with a single value, of all rows.
        planes: For each halfspace its weights and at last its limit, so that a point is inside
            where the weighted sum is at most the limit; zeros where none was measured yet.
        inside: The share of rows inside each halfspace that have each value.
        counts: Whether that was measured: one or zero.
        cliques: The attributes of each marginal.
        shares: The shares of rows in its cells.
    """

    layout: Layout
    planes: Array
    inside: Array
    counts: Array
    cliques: tuple[tuple[int, ...], ...] = ()
    shares: tuple[Array, ...] = ()

    @staticmethod
    def nothing(layout: Layout, numbers: int, most: int) -> Wanted:
        """Return a start with room for so many halfspaces."""
        values = np.zeros((most, layout.width), dtype=np.float32)
        return Wanted(layout, np.zeros((most, numbers + 1), np.float32), values, values)

    def with_marginal(self, clique: tuple[int, ...], shares: NDArray[np.float64]) -> Wanted:
        """Return this and a marginal."""
        cliques, more = (*self.cliques, clique), shares.ravel().astype(np.float32)
        return replace(self, cliques=cliques, shares=(*self.shares, more))

    def with_halfspace(
        self, place: int, plane: Array, attribute: int, shares: NDArray[np.float64]
    ) -> Wanted:
        """Return this and a halfspace, in which the values of an attribute are counted apart."""
        planes, inside, counts = self.planes.copy(), self.inside.copy(), self.counts.copy()
        start = self.layout.starts[attribute]
        values = slice(start, start + self.layout.sizes[attribute])
        planes[place], inside[place, values], counts[place, values] = plane, shares, 1.0
        return replace(self, planes=planes, inside=inside, counts=counts)


@dataclass(frozen=True)
class Rates:
    """How far a step moves, and how often that is halved.

    Args:
        numbers: Of numbers; 0 to leave them where they are.
        chances: Of distributions.
        halvings: How often rates are halved.
    """

    numbers: float
    chances: float
    halvings: int


def moved(points: Points, wanted: Wanted, rates: Rates) -> Points:
    """Return the points that were nearest to what is wanted, on a way along the gradient.

    Args:
        points: Where to start.
        wanted: What was measured.
        rates: How far steps move.
    """
    target = (wanted.planes, wanted.inside, wanted.counts, wanted.shares)
    stage = partial(_stage(wanted.layout, wanted.cliques), target=target)
    moments = tuple(Points(*map(np.zeros_like, points)) for _ in range(2))
    # Types and names of arguments are the same in each call: others would be compiled once more.
    state = (points, moments, np.int32(0))
    _, error = stage(state, steps=0, steep=np.float32(_HARD), pace=_pace(rates, 0))
    best = float(error), points
    for halving in range(rates.halvings + 1):
        before, pace = best[0], _pace(rates, halving)
        for steep in _steepness(rates):
            going = partial(stage, steps=_AT_ONCE, steep=steep, pace=pace)
            state, best = _until_stalled(going, state, best)
        if before - best[0] < _STALLED * before:
            break
    return best[1]


def _pace(rates: Rates, halving: int) -> tuple[np.float32, np.float32]:
    scale = 0.5**halving
    return np.float32(rates.numbers * scale), np.float32(rates.chances * scale)


def _steepness(rates: Rates) -> list[np.float32]:
    """Return steeper and steeper edges; if numbers stay, they may be hard at once."""
    if not rates.numbers:
        return [np.float32(_HARD)]
    return [np.float32(_SOFTEST * 2**doubling) for doubling in range(_DOUBLINGS + 1)]


def _until_stalled(
    stage: Callable[[Any], tuple[Any, Any]], state: Any, best: tuple[float, Points]
) -> tuple[Any, tuple[float, Points]]:
    """Return the state after stages that helped and one that did not, and the best points."""
    last = np.inf
    for _ in range(_MOST_LOOKS):
        state, error = stage(state)
        now = float(error)
        if now < best[0]:
            best = now, state[0]
        if not last - now > _STALLED * last and np.isfinite(last):
            break
        last = now
    return state, best


@lru_cache(maxsize=16)
def _stage(layout: Layout, cliques: tuple[tuple[int, ...], ...]) -> Any:
    """Return what makes some steps, and tells the error with hard edges after them; compiled."""
    import jax
    import jax.numpy as jnp

    def squares(points: Points, target: Any, inside: Any) -> Any:
        _, wanted, counts, shares = target
        found = inside.T @ points.chances / len(points.numbers)
        parts, total = layout.split(points.chances), (((found - wanted) * counts) ** 2).sum()
        for clique, share in zip(cliques, shares, strict=True):
            total += ((relaxed.marginal(parts, clique) - share) ** 2).sum()
        return jnp.sqrt(total + 1e-12)

    def margin(points: Points, planes: Any) -> Any:
        return planes[:, -1] - points.numbers @ planes[:, :-1].T

    def soft(points: Points, target: Any, steep: Any) -> Any:
        return squares(points, target, jax.nn.sigmoid(steep * margin(points, target[0])))

    def error(points: Points, target: Any) -> Any:
        hard = (margin(points, target[0]) >= 0).astype(jnp.float32)
        return squares(points, target, hard)

    def step(state: Any, target: Any, steep: Any, pace: Any) -> Any:
        points, moments, done = state
        slopes = jax.grad(soft)(points, target, steep)
        moves, moments = _adam(slopes, moments, done + 1)
        numbers = jnp.clip(points.numbers - pace[0] * moves.numbers, 0.0, 1.0)
        chances = _on_simplex(points.chances - pace[1] * moves.chances, layout)
        return Points(numbers, chances), moments, done + 1

    @jax.jit
    def stage(state: Any, *, steps: int, target: Any, steep: Any, pace: Any) -> Any:
        state = jax.lax.fori_loop(
            0, steps, lambda _, state: step(state, target, steep, pace), state
        )
        return state, error(state[0], target)

    return stage


def _adam(slopes: Points, moments: Any, step: Any) -> tuple[Points, Any]:
    """Return how far Adam would go at a rate of one, and its moments."""
    import jax
    import jax.numpy as jnp

    first = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, moments[0], slopes)
    second = jax.tree.map(lambda m, s: 0.999 * m + 0.001 * s * s, moments[1], slopes)
    one, two = 1 - 0.9**step, 1 - 0.999**step
    moves = jax.tree.map(lambda m, v: m / one / (jnp.sqrt(v / two) + 1e-8), first, second)
    return moves, (first, second)


def _on_simplex(together: Any, layout: Layout) -> Any:
    """Return the nearest distributions: what is above a level, which is found from below."""
    import jax
    import jax.numpy as jnp

    own = np.repeat(np.eye(len(layout.sizes), dtype=np.float32), layout.sizes, axis=0)

    def higher(_: int, levels: Any) -> Any:
        above = (together > levels @ own.T).astype(jnp.float32)
        return ((above * together) @ own - 1.0) / (above @ own)

    start = (together @ own - 1.0) / np.array(layout.sizes, dtype=np.float32)
    levels = jax.lax.fori_loop(0, _TO_SIMPLEX, higher, start)
    return jnp.maximum(together - levels @ own.T, 0.0)

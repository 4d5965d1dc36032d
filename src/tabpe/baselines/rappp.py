"""RAP++: points of categories and numbers, moved towards the queries that they get most wrong.

Mixed points, of categories and numbers, and how they are moved towards what was measured.

The projection of RAP++ (Vietri et al. 2022). A point has free numbers, and for each categorical
attribute a distribution over its values. A marginal of points is smooth in them; a halfspace is
not, so its edge is made soft, a sigmoid that becomes steeper whenever points stop getting better.
Distributions are moved by Adam and put back onto the simplex after each step.

Vietri et al., "Private Synthetic Data for Multitask Learning and Marginal Queries" (2022). Numbers
are not cut into bins: a query about them is a random halfspace, in which the values of a
categorical attribute are counted apart. Rounds about categories choose and measure a marginal of
categorical attributes; rounds about numbers choose and measure several halfspaces. After each,
points are moved towards all that was measured.

Privacy: rows are read by `Desk.choose`, `Desk.marginals`, `Desk.worst_halfspaces` and
`Desk.rows_inside` alone. How often and with which noise follows from the kinds of the columns,
which are public: the loss is divided between categories and numbers by how many attributes there
are of each, and between choices and measurements in halves.

What differs from the published method:

- A halfspace counts the values of any categorical attribute apart, not of the label alone.
- Rounds about categories come before those about numbers, and points are moved towards all that was
  measured so far.
- Chances of categories are projected onto the simplex instead of being the softmax of free numbers.
- What was measured once is not measured again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.calibration import Part, sigma_for
from tabpe.baselines import gem
from tabpe.baselines.domain import Clique, Domain, Rows
from tabpe.baselines.gem import Layout
from tabpe.baselines.session import Desk
from tabpe.encoding import Records
from tabpe.encoding.halfspaces import Halfspaces, found
from tabpe.encoding.marginals import ListAxis, NumberAxis
from tabpe.errors import CapacityError

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
            total += ((gem.marginal(parts, clique) - share) ** 2).sum()
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


CHOICES = "choices of marginals"
MARGINALS = "marginals"
HALFSPACE_CHOICES = "choices of halfspaces"
HALFSPACES = "halfspaces"
LABEL, ANY = "label", "any"


@dataclass(frozen=True)
class RAPpp:
    """The method and its settings; those of the paper's comparison by default.

    Args:
        degree: How many categorical attributes a marginal has.
        projections: The number of random halfspaces to choose from.
        top: How many of them are measured in a round.
        rounds: The number of rounds about numbers; there is one about categories for each
            categorical attribute.
        categorical_rate: Rate of learning in rounds about categories.
        categorical_halvings: How often it is halved in a round.
        numerical_rate: Rate of learning in rounds about numbers.
        numerical_halvings: How often it is halved in a round.
        condition: Whose values are counted apart in a halfspace: those of the `label`, if it is
            categorical, or of `any` categorical attribute, with as many halfspaces for each.
        points: The least number of points.
        upsample: The most rows that are drawn from a point; there are more points for more rows.
        most_bytes: The most memory that the counts of all halfspaces may take.
    """

    name: ClassVar[str] = "RAP++"
    adaptive: ClassVar[bool] = True
    binned: ClassVar[bool] = False

    degree: int = 2
    projections: int = 2_000_000
    top: int = 5
    rounds: int = 50
    categorical_rate: float = 3e-3
    categorical_halvings: int = 1
    numerical_rate: float = 6e-3
    numerical_halvings: int = 3
    condition: str = ANY
    points: int = 1000
    upsample: int = 10
    most_bytes: int = 2**30

    def __post_init__(self) -> None:
        for name in ("degree", "projections", "top", "rounds", "points", "upsample"):
            validation.whole(name, getattr(self, name), least=1)
        for name in ("categorical_rate", "numerical_rate"):
            validation.real(name, getattr(self, name), above=0)
        validation.one_of("condition", self.condition, [LABEL, ANY])

    def parts(self, attributes: int) -> tuple[Part, ...]:  # noqa: ARG002
        """Return nothing: the plan follows from the kinds of columns too."""
        return ()

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Return `size` rows of points that were moved towards what was measured."""
        kinds, loss = Kinds.of(desk.domain), desk.left / desk.domain.attributes
        run = _Run(self, desk, kinds)
        points = self._started(kinds, size, desk.rng)
        wanted = Wanted.nothing(kinds.layout, len(kinds.numbers), self.top * self.rounds)
        if kinds.lists:
            points, wanted = run.with_marginals(points, wanted, loss * len(kinds.lists))
        if kinds.numbers:
            points = run.with_halfspaces(points, wanted, loss * len(kinds.numbers))
        return _rows(points, size, desk, kinds)

    def _started(self, kinds: Kinds, size: int, rng: np.random.Generator) -> Points:
        count = max(self.points, math.ceil(size / self.upsample))
        numbers = rng.random((count, len(kinds.numbers)), dtype=np.float32)
        chances = [rng.dirichlet(np.ones(values), count) for values in kinds.layout.sizes]
        return Points(numbers, np.concatenate(chances, axis=1).astype(np.float32))


@dataclass(frozen=True)
class Kinds:
    """Which attributes are lists of values, and which are numbers.

    Args:
        lists: The places of the former in the domain.
        numbers: Those of the latter.
        layout: The values of the lists; and one value of all rows, as the last attribute.
    """

    lists: tuple[int, ...]
    numbers: tuple[int, ...]
    layout: Layout

    @staticmethod
    def of(domain: Domain) -> Kinds:
        """Return the kinds of the attributes of a domain."""
        numbers = [j for j, axis in enumerate(domain.axes) if isinstance(axis, NumberAxis)]
        lists = [j for j in range(domain.attributes) if j not in numbers]
        return Kinds(
            tuple(lists), tuple(numbers), Layout((*(domain.axes[j].size for j in lists), 1))
        )

    def cliques(self, degree: int) -> list[Clique]:
        """Return the sets of so many lists, or of all if there are fewer."""
        places = range(len(self.lists))
        return list(itertools.combinations(places, min(degree, len(self.lists))))

    def in_domain(self, clique: Clique) -> Clique:
        """Return where the lists of a clique are in the domain."""
        return tuple(self.lists[place] for place in clique)


@dataclass(frozen=True, eq=False)
class _Run:
    """What all rounds share."""

    method: RAPpp
    desk: Desk
    kinds: Kinds

    def with_marginals(self, points: Points, wanted: Wanted, loss: float) -> tuple[Points, Wanted]:
        """Return points that know marginals of categories, one a round, and these."""
        method, desk = self.method, self.desk
        rates = Rates(0.0, method.categorical_rate, method.categorical_halvings)
        left = self.kinds.cliques(method.degree)
        rounds = min(len(self.kinds.lists), len(left))
        sigma = sigma_for(loss / 2, rounds)
        for _ in range(rounds):
            cliques = [self.kinds.in_domain(clique) for clique in left]
            sizes = [float(desk.domain.cells(clique)) for clique in cliques]
            guesses = self._guessed_marginals(points, left)
            place = desk.choose(CHOICES, cliques, guesses, penalties=sizes, sigma=sigma)
            (counts,) = desk.marginals(MARGINALS, [cliques[place]], sigma=sigma)
            wanted = wanted.with_marginal(left.pop(place), self._shares(counts))
            points = moved(points, wanted, rates)
        return points, wanted

    def with_halfspaces(self, points: Points, wanted: Wanted, loss: float) -> Points:
        """Return points that also know halfspaces, several a round."""
        method, desk = self.method, self.desk
        rates = Rates(method.numerical_rate, method.numerical_rate, method.numerical_halvings)
        asked, taken = self._halfspaces(), list[int]()
        times = min(method.top * method.rounds, sum(len(some) for some in asked))
        sigma = sigma_for(loss / 2, times)
        while len(taken) < times:
            guesses, most = (
                self._guessed_insides(points, asked),
                min(method.top, times - len(taken)),
            )
            chosen = desk.worst_halfspaces(
                HALFSPACE_CHOICES, asked, guesses, most=most, taken=taken, sigma=sigma
            )
            counted = desk.rows_inside(HALFSPACES, asked, chosen, sigma=sigma)
            for place, counts in zip(chosen, counted, strict=True):
                wanted = self._joined(wanted, asked, place, len(taken), self._shares(counts))
                taken.append(place)
            points = moved(points, wanted, rates)
        return points

    def _halfspaces(self) -> list[Halfspaces]:
        """Return random halfspaces, as many for each list whose values are counted apart."""
        method, axes = self.method, self._conditions()
        size = math.ceil(method.projections / len(axes))
        cells = sum(size * (1 if axis is None else axis.size) for axis in axes)
        if 4 * cells > method.most_bytes:
            raise CapacityError(
                f"RAP++: {method.projections:,} halfspaces have {cells:,} counts of 4 bytes, limit "
                f"{method.most_bytes:,} bytes: take fewer projections, or a larger most_bytes."
            )
        numbers, rng = len(self.kinds.numbers), self.desk.rng
        return [Halfspaces.drawn(axis, size, numbers, rng) for axis in axes]

    def _conditions(self) -> Sequence[ListAxis | None]:
        """Return the axes whose values are counted apart."""
        axes, label = self.desk.domain.axes, self.desk.domain.label
        lists = [axis for axis in axes if isinstance(axis, ListAxis)]
        if self.method.condition == LABEL and label is not None:
            lists = [axis for axis in lists if axis.name == axes[label].name] or lists
        return lists or [None]

    def _joined(
        self,
        wanted: Wanted,
        asked: Sequence[Halfspaces],
        place: int,
        room: int,
        shares: NDArray[np.float64],
    ) -> Wanted:
        which, inside = found(asked, place)
        (plane,) = asked[which].take(np.array([inside])).planes
        return wanted.with_halfspace(room, plane, self._attribute(asked[which]), shares)

    def _attribute(self, halfspaces: Halfspaces) -> int:
        """Return which attribute of the layout is counted apart."""
        if halfspaces.axis is None:
            return len(self.kinds.lists)
        return self.kinds.lists.index(self.desk.domain.axes.index(halfspaces.axis))

    def _guessed_marginals(
        self, points: Points, cliques: Sequence[Clique]
    ) -> list[NDArray[np.float64]]:
        """Return the counts that points would have in marginals if they were as many rows."""
        parts = self.kinds.layout.split(np.asarray(points.chances, dtype=np.float64))
        shapes = [self.desk.domain.shape(self.kinds.in_domain(clique)) for clique in cliques]
        return [
            self.desk.rows * gem.marginal(parts, clique).reshape(shape)
            for clique, shape in zip(cliques, shapes, strict=True)
        ]

    def _guessed_insides(
        self, points: Points, asked: Sequence[Halfspaces]
    ) -> list[NDArray[np.float64]]:
        """Return the counts that points would have in halfspaces if they were as many rows."""
        numbers, parts = np.asarray(points.numbers), self.kinds.layout.split(points.chances)
        scale = self.desk.rows / len(numbers)
        return [
            scale * some.masses(numbers, np.asarray(parts[self._attribute(some)])) for some in asked
        ]

    def _shares(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(counts / self.desk.rows, 0.0, 1.0)


def _rows(points: Points, size: int, desk: Desk, kinds: Kinds) -> Rows:
    """Return rows drawn from points: numbers as they are, on their grid, and drawn categories."""
    which = gem.in_turn(len(points.numbers), size, desk.rng)
    parts = kinds.layout.split(np.asarray(points.chances))[:-1]
    codes = np.zeros((size, desk.domain.attributes), dtype=np.int64)
    codes[:, list(kinds.lists)] = gem.drawn(parts, which, desk.rng)
    rows = desk.rows_of(codes)
    numbers = np.asarray(points.numbers, dtype=np.float64)[which]
    on_grid = desk.encoder.space.project(numbers)
    return Rows(Records(on_grid, rows.records.codes), rows.classes)

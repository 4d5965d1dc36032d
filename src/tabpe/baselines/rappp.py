"""RAP++: points of categories and numbers, moved towards the queries that they get most wrong.

The projection (Vietri et al. 2022): a point has free numbers, and for each categorical
attribute a distribution over its values. A marginal of points is smooth in them; a halfspace is
not, so its edge is made soft, a sigmoid that becomes steeper whenever points stop getting better.
Distributions are moved by Adam and put back onto the simplex after each step.

Vietri et al., "Private Synthetic Data for Multitask Learning and Marginal Queries" (2022). Numbers
are not cut into bins: a query about them is a random halfspace, in which the values of a
categorical attribute are counted apart. Rounds about categories choose and measure a marginal of
categorical attributes; rounds about numbers choose and measure several halfspaces. After each,
points are moved towards all that was measured.

Privacy: rows are read through a `BaselineSession` alone. How often and with which noise follows
from the kinds of the columns, which are public: the loss is divided between categories and numbers
by how many attributes there are of each, and between choices and measurements in halves.

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
from tabpe.accounting.calibration import BudgetShare, compute_sigma
from tabpe.baselines import gem
from tabpe.baselines.domain import Clique, Domain, SyntheticRows
from tabpe.baselines.gem import AttributeLayout
from tabpe.baselines.session import BaselineSession
from tabpe.encoding import Records
from tabpe.encoding.halfspaces import Halfspaces, locate_halfspace
from tabpe.encoding.marginals import ListAxis, NumberAxis
from tabpe.errors import CapacityError

Array = NDArray[np.float32]

_SOFTEST, _DOUBLINGS = 2.0, 10
_HARD = 1e6  # a sigmoid so steep is a step
_AT_ONCE = 10  # steps between two looks at the error
_MOST_LOOKS = 200
_STALLED = 1e-4
_TO_SIMPLEX = 12  # rounds; a point that was on it before is back after two or three


class MixedPoints(NamedTuple):
    """Mixed points.

    Args:
        numbers: Their numbers, from 0 to 1.
        probabilities: Their distributions over the values of all attributes, side by side.
    """

    numbers: Any
    probabilities: Any


@dataclass(frozen=True, eq=False)
class ProjectionTargets:
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

    layout: AttributeLayout
    planes: Array
    inside: Array
    counts: Array
    cliques: tuple[tuple[int, ...], ...] = ()
    shares: tuple[Array, ...] = ()

    @staticmethod
    def make_empty(layout: AttributeLayout, numbers: int, most: int) -> ProjectionTargets:
        """Return a start with room for so many halfspaces."""
        values = np.zeros((most, layout.width), dtype=np.float32)
        return ProjectionTargets(layout, np.zeros((most, numbers + 1), np.float32), values, values)

    def with_marginal(
        self, clique: tuple[int, ...], shares: NDArray[np.float64]
    ) -> ProjectionTargets:
        """Return this and a marginal."""
        cliques, more = (*self.cliques, clique), shares.ravel().astype(np.float32)
        return replace(self, cliques=cliques, shares=(*self.shares, more))

    def with_halfspace(
        self, place: int, plane: Array, attribute: int, shares: NDArray[np.float64]
    ) -> ProjectionTargets:
        """Return this and a halfspace, in which the values of an attribute are counted apart."""
        planes, inside, counts = self.planes.copy(), self.inside.copy(), self.counts.copy()
        start = self.layout.starts[attribute]
        values = slice(start, start + self.layout.sizes[attribute])
        planes[place], inside[place, values], counts[place, values] = plane, shares, 1.0
        return replace(self, planes=planes, inside=inside, counts=counts)


@dataclass(frozen=True)
class LearningRates:
    """How far a step moves, and how often that is halved.

    Args:
        numbers: Of numbers; 0 to leave them where they are.
        probabilities: Of distributions.
        halvings: How often rates are halved.
    """

    numbers: float
    probabilities: float
    halvings: int


def move_points(
    points: MixedPoints, targets: ProjectionTargets, rates: LearningRates
) -> MixedPoints:
    """Return the points that were nearest to what is wanted, on a way along the gradient.

    Args:
        points: Where to start.
        targets: What was measured.
        rates: How far steps move.
    """
    target = (targets.planes, targets.inside, targets.counts, targets.shares)
    stage = partial(_compile_stage(targets.layout, targets.cliques), target=target)
    moments = tuple(MixedPoints(*map(np.zeros_like, points)) for _ in range(2))
    # Types and names of arguments are the same in each call: others would be compiled once more.
    state = (points, moments, np.int32(0))
    _, error = stage(state, steps=0, steep=np.float32(_HARD), pace=_compute_pace(rates, 0))
    best = float(error), points
    for halving in range(rates.halvings + 1):
        before, pace = best[0], _compute_pace(rates, halving)
        for steep in _list_steepness(rates):
            going = partial(stage, steps=_AT_ONCE, steep=steep, pace=pace)
            state, best = _run_until_stalled(going, state, best)
        if before - best[0] < _STALLED * before:
            break
    return best[1]


def _compute_pace(rates: LearningRates, halving: int) -> tuple[np.float32, np.float32]:
    scale = 0.5**halving
    return np.float32(rates.numbers * scale), np.float32(rates.probabilities * scale)


def _list_steepness(rates: LearningRates) -> list[np.float32]:
    """Return steeper and steeper edges; if numbers stay, they may be hard at once."""
    if not rates.numbers:
        return [np.float32(_HARD)]
    return [np.float32(_SOFTEST * 2**doubling) for doubling in range(_DOUBLINGS + 1)]


def _run_until_stalled(
    stage: Callable[[Any], tuple[Any, Any]], state: Any, best: tuple[float, MixedPoints]
) -> tuple[Any, tuple[float, MixedPoints]]:
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
def _compile_stage(layout: AttributeLayout, cliques: tuple[tuple[int, ...], ...]) -> Any:
    """Return what makes some steps, and tells the error with hard edges after them; compiled."""
    import jax
    import jax.numpy as jnp

    def squares(points: MixedPoints, target: Any, inside: Any) -> Any:
        _, wanted, counts, shares = target
        found = inside.T @ points.probabilities / len(points.numbers)
        parts, total = (
            layout.slice_attributes(points.probabilities),
            (((found - wanted) * counts) ** 2).sum(),
        )
        for clique, share in zip(cliques, shares, strict=True):
            total += ((gem.compute_marginal(parts, clique) - share) ** 2).sum()
        return jnp.sqrt(total + 1e-12)

    def margin(points: MixedPoints, planes: Any) -> Any:
        return planes[:, -1] - points.numbers @ planes[:, :-1].T

    def soft(points: MixedPoints, target: Any, steep: Any) -> Any:
        return squares(points, target, jax.nn.sigmoid(steep * margin(points, target[0])))

    def error(points: MixedPoints, target: Any) -> Any:
        hard = (margin(points, target[0]) >= 0).astype(jnp.float32)
        return squares(points, target, hard)

    def step(state: Any, target: Any, steep: Any, pace: Any) -> Any:
        points, moments, done = state
        slopes = jax.grad(soft)(points, target, steep)
        moves, moments = _step_adam(slopes, moments, done + 1)
        numbers = jnp.clip(points.numbers - pace[0] * moves.numbers, 0.0, 1.0)
        chances = _project_to_simplex(points.probabilities - pace[1] * moves.probabilities, layout)
        return MixedPoints(numbers, chances), moments, done + 1

    @jax.jit
    def stage(state: Any, *, steps: int, target: Any, steep: Any, pace: Any) -> Any:
        state = jax.lax.fori_loop(
            0, steps, lambda _, state: step(state, target, steep, pace), state
        )
        return state, error(state[0], target)

    return stage


def _step_adam(slopes: MixedPoints, moments: Any, step: Any) -> tuple[MixedPoints, Any]:
    """Return how far Adam would go at a rate of one, and its moments."""
    import jax
    import jax.numpy as jnp

    first = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, moments[0], slopes)
    second = jax.tree.map(lambda m, s: 0.999 * m + 0.001 * s * s, moments[1], slopes)
    one, two = 1 - 0.9**step, 1 - 0.999**step
    moves = jax.tree.map(lambda m, v: m / one / (jnp.sqrt(v / two) + 1e-8), first, second)
    return moves, (first, second)


def _project_to_simplex(together: Any, layout: AttributeLayout) -> Any:
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
            validation.check_integer(name, getattr(self, name), least=1)
        for name in ("categorical_rate", "numerical_rate"):
            validation.check_real(name, getattr(self, name), above=0)
        validation.check_one_of("condition", self.condition, [LABEL, ANY])

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:  # noqa: ARG002
        """Return nothing: the plan follows from the kinds of columns too."""
        return ()

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows of points that were moved towards what was measured."""
        kinds, loss = (
            AttributeKinds.from_domain(session.domain),
            session.left / session.domain.attributes,
        )
        run = _ProjectionRun(self, session, kinds)
        points = self._draw_points(kinds, size, session.rng)
        wanted = ProjectionTargets.make_empty(
            kinds.layout, len(kinds.numbers), self.top * self.rounds
        )
        if kinds.lists:
            points, wanted = run.fit_marginals(points, wanted, loss * len(kinds.lists))
        if kinds.numbers:
            points = run.fit_halfspaces(points, wanted, loss * len(kinds.numbers))
        return _draw_rows(points, size, session, kinds)

    def _draw_points(
        self, kinds: AttributeKinds, size: int, rng: np.random.Generator
    ) -> MixedPoints:
        count = max(self.points, math.ceil(size / self.upsample))
        numbers = rng.random((count, len(kinds.numbers)), dtype=np.float32)
        chances = [rng.dirichlet(np.ones(values), count) for values in kinds.layout.sizes]
        return MixedPoints(numbers, np.concatenate(chances, axis=1).astype(np.float32))


@dataclass(frozen=True)
class AttributeKinds:
    """Which attributes are lists of values, and which are numbers.

    Args:
        lists: The places of the former in the domain.
        numbers: Those of the latter.
        layout: The values of the lists; and one value of all rows, as the last attribute.
    """

    lists: tuple[int, ...]
    numbers: tuple[int, ...]
    layout: AttributeLayout

    @staticmethod
    def from_domain(domain: Domain) -> AttributeKinds:
        """Return the kinds of the attributes of a domain."""
        numbers = [j for j, axis in enumerate(domain.axes) if isinstance(axis, NumberAxis)]
        lists = [j for j in range(domain.attributes) if j not in numbers]
        return AttributeKinds(
            tuple(lists),
            tuple(numbers),
            AttributeLayout((*(domain.axes[j].size for j in lists), 1)),
        )

    def list_cliques(self, degree: int) -> list[Clique]:
        """Return the sets of so many lists, or of all if there are fewer."""
        places = range(len(self.lists))
        return list(itertools.combinations(places, min(degree, len(self.lists))))

    def map_to_domain(self, clique: Clique) -> Clique:
        """Return where the lists of a clique are in the domain."""
        return tuple(self.lists[place] for place in clique)


@dataclass(frozen=True, eq=False)
class _ProjectionRun:
    """What all rounds share."""

    method: RAPpp
    session: BaselineSession
    kinds: AttributeKinds

    def fit_marginals(
        self, points: MixedPoints, targets: ProjectionTargets, loss: float
    ) -> tuple[MixedPoints, ProjectionTargets]:
        """Return points that know marginals of categories, one a round, and these."""
        method, session = self.method, self.session
        rates = LearningRates(0.0, method.categorical_rate, method.categorical_halvings)
        left = self.kinds.list_cliques(method.degree)
        rounds = min(len(self.kinds.lists), len(left))
        sigma = compute_sigma(loss / 2, rounds)
        for _ in range(rounds):
            cliques = [self.kinds.map_to_domain(clique) for clique in left]
            sizes = [float(session.domain.count_cells(clique)) for clique in cliques]
            guesses = self._estimate_marginals(points, left)
            place = session.choose_marginal(CHOICES, cliques, guesses, penalties=sizes, sigma=sigma)
            (counts,) = session.marginals(MARGINALS, [cliques[place]], sigma=sigma)
            targets = targets.with_marginal(left.pop(place), self._compute_shares(counts))
            points = move_points(points, targets, rates)
        return points, targets

    def fit_halfspaces(
        self, points: MixedPoints, targets: ProjectionTargets, loss: float
    ) -> MixedPoints:
        """Return points that also know halfspaces, several a round."""
        method, session = self.method, self.session
        rates = LearningRates(
            method.numerical_rate, method.numerical_rate, method.numerical_halvings
        )
        asked, taken = self._draw_halfspaces(), list[int]()
        times = min(method.top * method.rounds, sum(len(some) for some in asked))
        sigma = compute_sigma(loss / 2, times)
        while len(taken) < times:
            guesses, most = (
                self._estimate_insides(points, asked),
                min(method.top, times - len(taken)),
            )
            chosen = session.choose_halfspaces(
                HALFSPACE_CHOICES, asked, guesses, most=most, taken=taken, sigma=sigma
            )
            counted = session.measure_halfspaces(HALFSPACES, asked, chosen, sigma=sigma)
            for place, counts in zip(chosen, counted, strict=True):
                targets = self._add_halfspace(
                    targets, asked, place, len(taken), self._compute_shares(counts)
                )
                taken.append(place)
            points = move_points(points, targets, rates)
        return points

    def _draw_halfspaces(self) -> list[Halfspaces]:
        """Return random halfspaces, as many for each list whose values are counted apart."""
        method, axes = self.method, self._list_conditions()
        size = math.ceil(method.projections / len(axes))
        cells = sum(size * (1 if axis is None else axis.size) for axis in axes)
        if 4 * cells > method.most_bytes:
            raise CapacityError(
                f"RAP++: {method.projections:,} halfspaces have {cells:,} counts of 4 bytes, limit "
                f"{method.most_bytes:,} bytes: take fewer projections, or a larger most_bytes."
            )
        numbers, rng = len(self.kinds.numbers), self.session.rng
        return [Halfspaces.draw_halfspaces(axis, size, numbers, rng) for axis in axes]

    def _list_conditions(self) -> Sequence[ListAxis | None]:
        """Return the axes whose values are counted apart."""
        axes, label = self.session.domain.axes, self.session.domain.label
        lists = [axis for axis in axes if isinstance(axis, ListAxis)]
        if self.method.condition == LABEL and label is not None:
            lists = [axis for axis in lists if axis.name == axes[label].name] or lists
        return lists or [None]

    def _add_halfspace(
        self,
        targets: ProjectionTargets,
        queries: Sequence[Halfspaces],
        place: int,
        room: int,
        shares: NDArray[np.float64],
    ) -> ProjectionTargets:
        which, inside = locate_halfspace(queries, place)
        (plane,) = queries[which].take(np.array([inside])).planes
        return targets.with_halfspace(room, plane, self._find_attribute(queries[which]), shares)

    def _find_attribute(self, halfspaces: Halfspaces) -> int:
        """Return which attribute of the layout is counted apart."""
        if halfspaces.axis is None:
            return len(self.kinds.lists)
        return self.kinds.lists.index(self.session.domain.axes.index(halfspaces.axis))

    def _estimate_marginals(
        self, points: MixedPoints, cliques: Sequence[Clique]
    ) -> list[NDArray[np.float64]]:
        """Return the counts that points would have in marginals if they were as many rows."""
        parts = self.kinds.layout.slice_attributes(
            np.asarray(points.probabilities, dtype=np.float64)
        )
        shapes = [
            self.session.domain.get_shape(self.kinds.map_to_domain(clique)) for clique in cliques
        ]
        return [
            self.session.rows * gem.compute_marginal(parts, clique).reshape(shape)
            for clique, shape in zip(cliques, shapes, strict=True)
        ]

    def _estimate_insides(
        self, points: MixedPoints, queries: Sequence[Halfspaces]
    ) -> list[NDArray[np.float64]]:
        """Return the counts that points would have in halfspaces if they were as many rows."""
        numbers, parts = (
            np.asarray(points.numbers),
            self.kinds.layout.slice_attributes(points.probabilities),
        )
        scale = self.session.rows / len(numbers)
        return [
            scale * some.sum_masses(numbers, np.asarray(parts[self._find_attribute(some)]))
            for some in queries
        ]

    def _compute_shares(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(counts / self.session.rows, 0.0, 1.0)


def _draw_rows(
    points: MixedPoints, size: int, session: BaselineSession, kinds: AttributeKinds
) -> SyntheticRows:
    """Return rows drawn from points: numbers as they are, on their grid, and drawn categories."""
    which = gem.cycle_points(len(points.numbers), size, session.rng)
    parts = kinds.layout.slice_attributes(np.asarray(points.probabilities))[:-1]
    codes = np.zeros((size, session.domain.attributes), dtype=np.int64)
    codes[:, list(kinds.lists)] = gem.draw_rows(parts, which, session.rng)
    rows = session.rows_of(codes)
    numbers = np.asarray(points.numbers, dtype=np.float64)[which]
    on_grid = session.encoder.space.project(numbers)
    return SyntheticRows(Records(on_grid, rows.records.codes), rows.classes)

"""RAP++: points of categories and numbers, moved towards the queries that they get most wrong.

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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.baselines import relaxed
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Clique, Domain, Rows
from tabpe.baselines.projection import Points, Rates, Wanted, moved
from tabpe.baselines.relaxed import Layout
from tabpe.encode import Records
from tabpe.encode.axes import ListAxis, NumberAxis
from tabpe.encode.halfspaces import Halfspaces, found
from tabpe.errors import CapacityError
from tabpe.privacy.plan import Part, sigma_for

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
            _validate.whole(name, getattr(self, name), least=1)
        for name in ("categorical_rate", "numerical_rate"):
            _validate.real(name, getattr(self, name), above=0)
        _validate.one_of("condition", self.condition, [LABEL, ANY])

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
            self.desk.rows * relaxed.marginal(parts, clique).reshape(shape)
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
    which = relaxed.in_turn(len(points.numbers), size, desk.rng)
    parts = kinds.layout.split(np.asarray(points.chances))[:-1]
    codes = np.zeros((size, desk.domain.attributes), dtype=np.int64)
    codes[:, list(kinds.lists)] = relaxed.drawn(parts, which, desk.rng)
    rows = desk.rows_of(codes)
    numbers = np.asarray(points.numbers, dtype=np.float64)[which]
    on_grid = desk.encoder.space.project(numbers)
    return Rows(Records(on_grid, rows.records.codes), rows.classes)

"""GEM: a generator network that is fitted to the marginals that it gets most wrong.

Relaxed rows: each is a product of distributions, one over the values of each attribute.

A row of a table is the special case in which every distribution has all of its mass on one value.
A marginal of relaxed rows is the average of products of probabilities: it is smooth in them, so
that rows can be moved towards a measured marginal along a gradient. All functions here are about
public arrays.

A network from fixed noise to relaxed rows, and how it is moved towards measured cells.

The network of GEM (Liu, Vietri and Wu 2021): two residual blocks, each a linear map, a
normalisation over the points and a rectifier whose output stands beside its input; then a linear
map, and a softmax for each attribute. The noise is drawn once, so that the network is a way to
write down a fixed number of relaxed rows that all depend on one another.

How a generator is fitted to the marginals that were measured, and averaged over rounds.

Liu, Vietri and Wu, "Iterative Methods for Private Synthetic Data" (2021). Each round chooses the
marginal of the workload that the model gets most wrong, measures it, and fits the network to the
cells of all measured marginals whose error stands out. The workload is all marginals of one degree,
and a marginal is measured whole: a row adds to one cell of it, so this costs as much as one cell.

What differs from the published method: marginals are scored by the sum of all their errors and
measured whole, not cell by cell; no marginal is measured twice; the network has a fixed width. How
much of the average network stays in a round (`smoothing`) was chosen on Adult and a simulated
table.

Privacy: rows are read by `choose_marginal` and `marginals` of the session alone. All else is made
of their answers and of its `rng`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.baselines.domain import Clique, Domain, SyntheticRows
from tabpe.baselines.session import BaselineSession
from tabpe.errors import CapacityError

Probabilities = Sequence[Any]
"""For each attribute an array of points x values, of numpy or of jax; each row adds to one."""


@dataclass(frozen=True)
class AttributeLayout:
    """Where the values of all attributes lie when they stand side by side in one array.

    Args:
        sizes: The number of values of each attribute.

    Example:
        >>> layout = AttributeLayout((2, 3))
        >>> layout.starts, layout.width
        ((0, 2), 5)
        >>> layout.list_cells((0, 1)).tolist()
        [[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4]]
    """

    sizes: tuple[int, ...]

    @property
    def width(self) -> int:
        """The number of values of all attributes together."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The place of the first value of each attribute."""
        return tuple(np.cumsum((0, *self.sizes))[:-1].tolist())

    def slice_attributes(self, together: Any) -> list[Any]:
        """Return the part of each attribute of an array that has all of them side by side."""
        places = zip(self.starts, self.sizes, strict=True)
        return [together[:, start : start + size] for start, size in places]

    def list_cells(self, clique: Sequence[int]) -> NDArray[np.int64]:
        """Return, for each cell of a marginal, the places of the values that make it up."""
        sides = np.indices([self.sizes[place] for place in clique]).reshape(len(clique), -1)
        starts = np.array([self.starts[place] for place in clique], dtype=np.int64)
        return np.ascontiguousarray(sides.T + starts)


def compute_marginal(parts: Probabilities, clique: Sequence[int]) -> Any:
    """Return the share of the mass of relaxed rows in each cell of a marginal.

    Args:
        parts: The relaxed rows.
        clique: The places of one or more attributes.

    Returns:
        The shares in one long array, counted through the last attribute first.

    Example:
        >>> parts = encode_one_hot(np.array([[0, 2], [1, 2]]), (2, 3))
        >>> compute_marginal(parts, (0, 1)).reshape(2, 3)
        array([[0. , 0. , 0.5],
               [0. , 0. , 0.5]], dtype=float32)
    """
    *rest, last = (parts[place] for place in clique)
    points = len(last)
    if not rest:
        return last.sum(0) / points
    head = rest[0]
    for part in rest[1:]:
        head = (head[:, :, None] * part[:, None, :]).reshape(points, -1)
    return (head.T @ last).reshape(-1) / points


def encode_one_hot(codes: NDArray[np.int64], sizes: Sequence[int]) -> list[NDArray[np.float32]]:
    """Return rows as relaxed rows that have all mass on one value of each attribute.

    Example:
        >>> encode_one_hot(np.array([[1]]), (3,))
        [array([[0., 1., 0.]], dtype=float32)]
    """
    return [np.eye(size, dtype=np.float32)[codes[:, j]] for j, size in enumerate(sizes)]


def draw_rows(
    parts: Probabilities, points: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a row drawn from each of the relaxed rows at the given places.

    Args:
        parts: The relaxed rows.
        points: Which of them a row is drawn from; one may occur several times.
        rng: Source of randomness.

    Example:
        >>> parts = encode_one_hot(np.array([[0, 2], [1, 1]]), (2, 3))
        >>> draw_rows(parts, np.array([1, 1, 0]), np.random.default_rng(0))
        array([[1, 1],
               [1, 1],
               [0, 2]])
    """
    codes = np.empty((len(points), len(parts)), dtype=np.int64)
    for place, part in enumerate(parts):
        upto = np.cumsum(np.asarray(part, dtype=np.float64)[points], axis=1)
        # Below its largest sum, which rounding may leave a little under one: so a value is found.
        height = rng.random(len(points)) * upto[:, -1]
        codes[:, place] = (upto <= height[:, None]).sum(axis=1)
    return codes


def cycle_points(points: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `size` places of relaxed rows, in random order, each used as often as the others.

    Example:
        >>> np.bincount(cycle_points(3, 7, np.random.default_rng(0))).max()
        np.int64(3)
    """
    rounds = [rng.permutation(points) for _ in range(math.ceil(size / points))]
    return np.concatenate([*rounds, np.empty(0, dtype=np.int64)])[:size]


Weights = Any
_FLAT = 1e-5


@dataclass(frozen=True, eq=False)
class RowGenerator:
    """The shape of a network, and the noise that goes in.

    Args:
        layout: The attributes of the relaxed rows that come out.
        noise: A row of noise for each of them.
        hidden: Width of each of the two blocks.
    """

    layout: AttributeLayout
    noise: NDArray[np.float32]
    hidden: int

    def init_weights(self, rng: np.random.Generator) -> Weights:
        """Return random weights; the relaxed rows that they make are far from each other."""
        width, weights = self.noise.shape[1], []
        for made in (self.hidden, self.hidden, self.layout.width):
            linear = rng.normal(0.0, width**-0.5, (width, made)).astype(np.float32)
            gain, shift = np.ones(made, np.float32), np.zeros(made, np.float32)
            weights.append((linear, gain, shift))
            width += made
        return weights

    def generate_rows(self, weights: Weights) -> Any:
        """Return the relaxed rows, with all attributes side by side."""
        import jax
        import jax.numpy as jnp

        *blocks, last = weights
        flow = jnp.asarray(self.noise)
        for linear, gain, shift in blocks:
            made = flow @ linear
            spread = jnp.sqrt(made.var(0) + _FLAT)
            made = jax.nn.relu((made - made.mean(0)) / spread * gain + shift)
            flow = jnp.concatenate([made, flow], axis=1)
        linear, _, shift = last
        logits = self.layout.slice_attributes(flow @ linear + shift)
        return jnp.concatenate([jax.nn.softmax(part, axis=1) for part in logits], axis=1)


Step = Callable[[Weights, Any, Any, Any, Any], tuple[Weights, Any, Any]]


def make_stepper(
    generator: RowGenerator, rate: float, steps: int
) -> tuple[Step, Callable[..., Any]]:
    """Return a step of Adam towards measured cells, and what starts its state.

    The rate falls along a cosine, from `rate` to nothing after `steps` steps. A step takes weights,
    state, cells (`AttributeLayout.cells`), the share of rows wanted in each, and what each counts
    in the loss, which is the mean absolute error of the cells that count. It returns weights, state
    and the relaxed rows of the weights that it was given, which it has anyway. Cells are padded to
    a fixed number, so that it is compiled once.

    Args:
        generator: The network.
        rate: The first rate of learning.
        steps: After how many steps the rate is nothing.
    """
    import jax
    import jax.numpy as jnp
    import optax

    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def loss(weights: Weights, cells: Any, wanted: Any, counts: Any) -> Any:
        rows = generator.generate_rows(weights)
        found = rows[:, cells].prod(-1).mean(0)
        return (jnp.abs(found - wanted) * counts).sum() / counts.sum(), rows

    @jax.jit
    def step(weights: Weights, state: Any, cells: Any, wanted: Any, counts: Any) -> Any:
        slope, rows = jax.grad(loss, has_aux=True)(weights, cells, wanted, counts)
        moves, state = optimiser.update(slope, state)
        return optax.apply_updates(weights, moves), state, rows

    return step, optimiser.init


Shares = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MarginalAnswers:
    """What was measured: the share of all rows in each cell of some marginals of one degree.

    Args:
        layout: The attributes.
        cliques: The attributes of each marginal.
        shares: The shares in the cells of each.

    Example:
        >>> answers = MarginalAnswers(AttributeLayout((2, 2))).add_answer(
        ...     (0,), np.array([0.25, 0.75])
        ... )
        >>> rows = encode_one_hot(np.array([[0, 0], [1, 1]]), (2, 2))
        >>> answers.compute_errors(rows).tolist()
        [0.25, 0.25]
    """

    layout: AttributeLayout
    cliques: tuple[tuple[int, ...], ...] = ()
    shares: tuple[Shares, ...] = ()

    def add_answer(self, clique: Sequence[int], shares: Shares) -> MarginalAnswers:
        """Return these answers and one more."""
        return MarginalAnswers(self.layout, (*self.cliques, tuple(clique)), (*self.shares, shares))

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """All cells, as places of the values that make them up."""
        return np.concatenate([self.layout.list_cells(clique) for clique in self.cliques])

    @cached_property
    def targets(self) -> Shares:
        """The share of all rows in each of the cells."""
        return np.concatenate(self.shares)

    def compute_errors(self, rows: Probabilities) -> Shares:
        """Return how far the share of relaxed rows in each cell is from what was measured."""
        found = np.concatenate([compute_marginal(rows, clique) for clique in self.cliques])
        return np.abs(found - self.targets)

    def find_worst(self, rows: Probabilities, above: float, most: int) -> NDArray[np.int64]:
        """Return the cells whose errors are not below `above`: the `most` largest of them."""
        errors = self.compute_errors(rows)
        places = np.flatnonzero(errors >= above)
        if len(places) <= most:
            return places
        return places[np.argpartition(errors[places], -most)[-most:]]


@dataclass(frozen=True, eq=False)
class GeneratorTraining:
    """A network and how it learns.

    Args:
        generator: The network.
        rate: The first rate of learning.
        steps: The most steps of a fit.
        most: The most cells that a step looks at.
    """

    generator: RowGenerator
    rate: float
    steps: int
    most: int

    @cached_property
    def _compiled(self) -> tuple[Step, Any, Any]:
        import jax

        step, start = make_stepper(self.generator, self.rate, self.steps)
        return step, start, jax.jit(self.generator.generate_rows)

    def generate_rows(self, weights: Weights) -> list[NDArray[np.float32]]:
        """Return the relaxed rows that the network makes with these weights."""
        made = self._compiled[2]
        return self.generator.layout.slice_attributes(np.asarray(made(weights)))

    def fit_weights(self, weights: Weights, answers: MarginalAnswers, above: float) -> Weights:
        """Return the weights after they were fitted to answers, as long as errors stand out.

        Args:
            weights: What to start from.
            answers: What to fit to.
            above: Errors below it are left alone.
        """
        step, start, _ = self._compiled
        state, rows = start(weights), self.generate_rows(weights)
        for _ in range(self.steps):
            worst = answers.find_worst(rows, above, self.most)
            if not len(worst):
                break
            weights, state, made = step(weights, state, *self._pad_cells(answers, worst))
            rows = self.generator.layout.slice_attributes(np.asarray(made))
        return weights

    def _pad_cells(
        self, answers: MarginalAnswers, worst: NDArray[np.int64]
    ) -> tuple[Any, Any, Any]:
        """Return cells, what is wanted, and what counts, always of the same shapes."""
        places = np.resize(worst, self.most)
        counts = (np.arange(self.most) < len(worst)).astype(np.float32)
        return answers.cells[places], answers.targets[places].astype(np.float32), counts


@dataclass(frozen=True, eq=False)
class WeightAverage:
    """A moving average of weights.

    Args:
        smoothing: How much of it stays when weights join; less at first, when few have joined.
        weights: The average.
        count: How many weights it is of.

    Example:
        >>> average = WeightAverage(0.9).add_weights([np.array(1.0)]).add_weights([np.array(2.0)])
        >>> float(average.weights[0])
        1.5
    """

    smoothing: float
    weights: Weights = None
    count: int = 0

    def add_weights(self, weights: Weights) -> WeightAverage:
        """Return the average with these weights."""
        import jax

        if not self.count:
            return WeightAverage(self.smoothing, weights, 1)
        stays = min(self.smoothing, self.count / (self.count + 1))
        mixed = jax.tree.map(lambda a, b: stays * a + (1 - stays) * b, self.weights, weights)
        return WeightAverage(self.smoothing, mixed, self.count + 1)


CHOICES = "choices of marginals"
MARGINALS = "marginals"


@dataclass(frozen=True)
class GEM:
    """The method and its settings; those of the paper's comparison by default.

    Args:
        degree: How many attributes a marginal of the workload has.
        rounds_an_attribute: Rounds, for each attribute; no marginal is chosen twice.
        points: The number of relaxed rows that the network makes.
        rate: The first rate of learning of a round.
        steps: The most steps of a round.
        noise: The number of random numbers that a relaxed row is made of.
        hidden: Width of the two hidden layers.
        worst: The most cells that a step looks at: those with the largest errors.
        smoothing: How much of the average of the networks stays as it is in a round.
        most_cells: The most cells that the workload may have.
    """

    name: ClassVar[str] = "GEM"
    adaptive: ClassVar[bool] = False
    binned: ClassVar[bool] = True

    degree: int = 2
    rounds_an_attribute: int = 5
    points: int = 1024
    rate: float = 1e-3
    steps: int = 500
    noise: int = 128
    hidden: int = 256
    worst: int = 100
    smoothing: float = 0.5
    most_cells: int = 50_000_000

    def __post_init__(self) -> None:
        for name in (
            "degree",
            "rounds_an_attribute",
            "points",
            "steps",
            "noise",
            "hidden",
            "worst",
        ):
            validation.check_integer(name, getattr(self, name), least=1)
        validation.check_real("rate", self.rate, above=0)

    def count_rounds(self, attributes: int) -> int:
        """Return the number of rounds."""
        marginals = math.comb(attributes, min(self.degree, attributes))
        return min(self.rounds_an_attribute * attributes, marginals)

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:
        """Return the plan: choices and measurements get one half each."""
        rounds = self.count_rounds(attributes)
        return (
            BudgetShare(CHOICES, 0.5, rounds, mechanism=EXPONENTIAL),
            BudgetShare(MARGINALS, 0.5, rounds),
        )

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return `size` rows of the average of the networks of the second half of all rounds."""
        domain, left = session.domain, self._list_workload(session.domain)
        training, rounds = self._make_training(session), self.count_rounds(len(domain.sizes))
        weights, answers = (
            training.generator.init_weights(session.rng),
            MarginalAnswers(training.generator.layout),
        )
        level, average = None, WeightAverage(self.smoothing)
        for done in range(rounds):
            rows = training.generate_rows(weights)
            clique = left.pop(
                session.choose_marginal(CHOICES, left, _estimate_counts(rows, left, session))
            )
            (counts,) = session.marginals(MARGINALS, [clique])
            answers = answers.add_answer(clique, np.clip(counts.ravel() / session.rows, 0.0, 1.0))
            level = _smooth_level(level, answers.compute_errors(rows).max())
            weights = training.fit_weights(weights, answers, above=level / 2)
            if done >= rounds // 2:
                average = average.add_weights(weights)
        points = cycle_points(self.points, size, session.rng)
        return session.rows_of(
            draw_rows(training.generate_rows(average.weights), points, session.rng)
        )

    def _list_workload(self, domain: Domain) -> list[Clique]:
        degree = min(self.degree, len(domain.sizes))
        workload = list(itertools.combinations(range(len(domain.sizes)), degree))
        cells = sum(domain.count_cells(clique) for clique in workload)
        if cells > self.most_cells:
            raise CapacityError(
                f"GEM: the marginals of degree {degree} have {cells:,} cells, limit "
                f"{self.most_cells:,}: take a smaller degree, fewer bins, or a larger most_cells."
            )
        return workload

    def _make_training(self, session: BaselineSession) -> GeneratorTraining:
        noise = session.rng.normal(size=(self.points, self.noise)).astype(np.float32)
        generator = RowGenerator(AttributeLayout(session.domain.sizes), noise, self.hidden)
        return GeneratorTraining(generator, self.rate, self.steps, self.worst)


def _estimate_counts(
    rows: Probabilities, cliques: list[Clique], session: BaselineSession
) -> list[NDArray[np.float64]]:
    """Return the counts that relaxed rows would have in marginals if they were as many rows."""
    shares = [
        compute_marginal(rows, clique).reshape(session.domain.get_shape(clique))
        for clique in cliques
    ]
    return [session.rows * share.astype(np.float64) for share in shares]


def _smooth_level(before: float | None, largest: float) -> float:
    """Return the level of the largest errors, smoothed over rounds."""
    return largest if before is None else (before + largest) / 2

"""Simulated data sets: XOR, structural causal models, and regions of many classes.

- XOR, the stress test of the paper: the label is the parity of the signs of all features. It is
  independent of every proper subset of them.
- Structural causal models, as in the prior of TabPFN: eight features in a random acyclic graph,
  each a nonlinear function of its causes plus noise. The label is a deep decision tree, a neural
  network or a sum of random Fourier features of all of them. A fixed seed draws the graph and the
  function; a draw of its own sets the scale of each feature and the threshold of the label.
- Regions: the same features with 20 classes. A row has the class of the nearest of 60 points, by
  four of the features. It is not in the paper: settings are tuned on it.

Each table is the same on every machine, up to rounding; its first rows do not depend on how many
are drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.schema import Categorical, Float, Schema

XOR_BOUND = 10.0
XOR_LABEL = "target"
_XOR_SEED = 42


def make_xor_schema(features: int) -> Schema:
    """Return the public schema: the bounds of the features.

    Example:
        >>> make_xor_schema(2).names
        ('num_feat_0', 'num_feat_1', 'target')
    """
    columns = (Float(name, -XOR_BOUND, XOR_BOUND) for name in _list_feature_names(features))
    return Schema((*columns, Categorical(XOR_LABEL, (0, 1))), label=XOR_LABEL)


def draw_xor_table(features: int, rows: int = 50_000) -> pa.Table:
    """Return the rows that the authors drew.

    Example:
        >>> table = draw_xor_table(2)
        >>> table.num_rows, round(table["num_feat_0"][0].as_py(), 3), table["target"][0].as_py()
        (50000, -2.509, 1)
    """
    # The generator of the authors: a newer one would draw other rows.
    drawn = np.random.RandomState(_XOR_SEED).uniform(-XOR_BOUND, XOR_BOUND, (rows, features))
    columns = dict(zip(_list_feature_names(features), drawn.T, strict=True))
    return pa.table({**columns, XOR_LABEL: (drawn > 0).sum(axis=1) % 2})


def _list_feature_names(features: int) -> list[str]:
    return [f"num_feat_{place}" for place in range(features)]


Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Score = Callable[[Matrix], Vector]

FEATURES = 8
SCM_BOUND = 4.0
SCM_LABEL = "y"
_MOST_CAUSES = 3
_GAUGE_ROWS = 20_000
# Products of matrices round by the shape of these: it must not follow from the number of rows.
BLOCK = 10_000
_SHAPES: tuple[Callable[[Vector], Vector], ...] = (np.tanh, np.sin, np.abs, np.square, np.positive)


@dataclass(frozen=True, eq=False)
class CausalMechanism:
    """How a feature follows from its causes.

    Args:
        causes: Indices of its causes; none for a root of the graph.
        weights: The weight of each cause.
        shape: The nonlinear function of the weighted sum.
        share: The part that causes explain, in standard deviations; the rest is noise.
        mean: The mean of the unscaled signal.
        deviation: Its standard deviation.
    """

    causes: tuple[int, ...]
    weights: Vector
    shape: Callable[[Vector], Vector]
    share: float
    mean: float = 0.0
    deviation: float = 1.0

    def compute_signal(self, features: Matrix) -> Vector:
        """Return the standardised signal of the causes."""
        values = self.shape(features[:, list(self.causes)] @ self.weights)
        return (values - self.mean) / self.deviation


@dataclass(frozen=True)
class LabelPrior:
    """A function from features to the label, drawn from a seed.

    Args:
        seed: Seed of the graph, of the function and of the rows.
        function: Makes the function.
    """

    seed: int
    function: Callable[[np.random.Generator], Score]


def make_scm_schema() -> Schema:
    """Return the public schema of the three tables; features are clipped to its bounds.

    Example:
        >>> make_scm_schema().names
        ('x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'y')
    """
    features = (Float(f"x{place}", -SCM_BOUND, SCM_BOUND) for place in range(FEATURES))
    return Schema((*features, Categorical(SCM_LABEL, (0, 1))), label=SCM_LABEL)


def draw_scm_table(prior: str, rows: int = 50_000) -> pa.Table:
    """Return rows of one of the three models.

    Args:
        prior: `tree`, `nn` or `rff`.
        rows: How many. The first rows do not depend on it.

    Example:
        >>> few, more = draw_scm_table("nn", 100), draw_scm_table("nn", 200)
        >>> more.slice(0, 100).equals(few)
        True
    """
    chosen = PRIORS[prior]
    plan, gauge, rng = map(np.random.default_rng, np.random.SeedSequence(chosen.seed).spawn(3))
    drawn = tuple(_draw_mechanism(place, plan) for place in range(FEATURES))
    score, noise = chosen.function(plan), gauge.standard_normal((_GAUGE_ROWS, FEATURES))
    graph = _standardize_mechanisms(drawn, noise)
    turn = float(np.median(score(compute_features(graph, noise))))
    blocks = []
    for _ in range(math.ceil(rows / BLOCK)):
        features = compute_features(graph, rng.standard_normal((BLOCK, FEATURES)))
        blocks.append(np.column_stack([features, score(features) > turn]))
    values = np.concatenate(blocks)[:rows].T
    columns = dict(zip(make_scm_schema().names, values, strict=True))
    return pa.table({**columns, SCM_LABEL: values[-1].astype(np.int64)})


def draw_graph(
    plan: np.random.Generator, gauge: np.random.Generator
) -> tuple[CausalMechanism, ...]:
    """Return mechanisms, causes before effects; their scales come from a draw of their own."""
    drawn = tuple(_draw_mechanism(place, plan) for place in range(FEATURES))
    return _standardize_mechanisms(drawn, gauge.standard_normal((_GAUGE_ROWS, FEATURES)))


def _draw_mechanism(index: int, rng: np.random.Generator) -> CausalMechanism:
    count = min(index, int(rng.integers(1, _MOST_CAUSES + 1)))
    causes = tuple(sorted(int(cause) for cause in rng.choice(index, count, replace=False)))
    weights = rng.normal(0.0, 1.5, count)
    shape = _SHAPES[rng.integers(len(_SHAPES))]
    share = float(rng.uniform(0.5, 0.8))
    return CausalMechanism(causes, weights, shape, share if causes else 0.0)


def _standardize_mechanisms(
    graph: tuple[CausalMechanism, ...], noise: Matrix
) -> tuple[CausalMechanism, ...]:
    """Return the mechanisms with the mean and deviation of their signals."""
    known: tuple[CausalMechanism, ...] = ()
    for mechanism in graph:
        signal = mechanism.compute_signal(compute_features(known, noise[:, : len(known)]))
        mean, deviation = float(signal.mean()), float(signal.std()) or 1.0
        known += (replace(mechanism, mean=mean, deviation=deviation),)
    return known


def compute_features(graph: tuple[CausalMechanism, ...], noise: Matrix) -> Matrix:
    """Return features from the noise of each, within their bounds."""
    features = np.empty_like(noise)
    for place, mechanism in enumerate(graph):
        own = math.sqrt(1.0 - mechanism.share**2) * noise[:, place]
        signal = mechanism.share * mechanism.compute_signal(features)
        features[:, place] = np.clip(signal + own, -SCM_BOUND, SCM_BOUND)
    return features


def make_trees(count: int, depth: int, reach: float) -> Callable[[np.random.Generator], Score]:
    """Return a function that draws a sum of decision trees with random leaves.

    Args:
        count: Number of trees.
        depth: Depth of each tree.
        reach: Standard deviation of the thresholds.
    """

    def drawn(rng: np.random.Generator) -> Score:
        grown = [
            (
                rng.integers(FEATURES, size=2**depth),
                rng.normal(0.0, reach, 2**depth),
                rng.standard_normal(2**depth),
            )
            for _ in range(count)
        ]

        def score(features: Matrix) -> Vector:
            every = np.arange(len(features))
            total = np.zeros(len(features))
            for asked, limits, leaves in grown:
                node = np.ones(len(features), dtype=np.int64)
                for _ in range(depth):
                    node = 2 * node + (features[every, asked[node]] > limits[node])
                total += leaves[node - 2**depth]
            return total

        return score

    return drawn


def make_network(width: int, layers: int, gain: float) -> Callable[[np.random.Generator], Score]:
    """Return a function that draws a neural network with `layers` hidden layers of tanh."""

    def drawn(rng: np.random.Generator) -> Score:
        sizes = [FEATURES, *[width] * layers]
        hidden = [
            (rng.normal(0.0, gain / np.sqrt(ins), (ins, outs)), rng.normal(0.0, gain / 4, outs))
            for ins, outs in itertools.pairwise(sizes)
        ]
        last = rng.standard_normal(width)

        def score(features: Matrix) -> Vector:
            values = features
            for weights, bias in hidden:
                values = np.tanh(values @ weights + bias)
            return values @ last

        return score

    return drawn


def make_waves(count: int, frequency: float) -> Callable[[np.random.Generator], Score]:
    """Return a function that draws a sum of `count` random Fourier features."""

    def drawn(rng: np.random.Generator) -> Score:
        directions = rng.normal(0.0, frequency, (FEATURES, count))
        phases = rng.uniform(0.0, 2 * np.pi, count)
        heights = rng.standard_normal(count)

        def score(features: Matrix) -> Vector:
            return np.cos(features @ directions + phases) @ heights

        return score

    return drawn


PRIORS = {
    "tree": LabelPrior(0, make_trees(count=32, depth=8, reach=1.0)),
    "nn": LabelPrior(2, make_network(width=16, layers=2, gain=1.25)),
    "rff": LabelPrior(0, make_waves(count=64, frequency=1.0)),
}


CLASSES = 20
ROWS = 150_000
_REGIONS_SEED = 0
_REGIONS_OF_CLASS = 3
_LABEL_FEATURES = 4


def make_regions_schema() -> Schema:
    """Return the public schema.

    Example:
        >>> len(make_regions_schema().class_names)
        20
    """
    features = (column for column in make_scm_schema().columns if column.name != SCM_LABEL)
    return Schema((*features, Categorical(SCM_LABEL, tuple(range(CLASSES)))), label=SCM_LABEL)


def draw_regions_table(rows: int = ROWS) -> pa.Table:
    """Return rows of the table.

    Args:
        rows: How many. The first rows do not depend on it.

    Example:
        >>> draw_regions_table(100).slice(0, 50).equals(draw_regions_table(50))
        True
    """
    plan, gauge, rng = map(np.random.default_rng, np.random.SeedSequence(_REGIONS_SEED).spawn(3))
    graph = draw_graph(plan, gauge)
    points = compute_features(graph, plan.standard_normal((_REGIONS_OF_CLASS * CLASSES, FEATURES)))
    blocks = [
        compute_features(graph, rng.standard_normal((BLOCK, FEATURES)))
        for _ in range(math.ceil(rows / BLOCK))
    ]
    features = np.concatenate(blocks)[:rows]
    columns = dict(zip(make_regions_schema().names, features.T, strict=False))
    return pa.table({**columns, SCM_LABEL: _find_nearest(features, points) % CLASSES})


def _find_nearest(features: Matrix, points: Matrix) -> NDArray[np.int64]:
    distances = np.zeros((len(features), len(points)))
    for place in range(_LABEL_FEATURES):
        distances += np.subtract.outer(features[:, place], points[:, place]) ** 2
    nearest: NDArray[np.int64] = np.argmin(distances, axis=1)
    return nearest

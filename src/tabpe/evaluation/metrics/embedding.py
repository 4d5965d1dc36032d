"""Rows as points of a learned space: pictures, precision, recall, density and coverage.

Rows as points of a space that is learned from the real rows.

`autoencoder` is what the paper uses. `linear` takes the principal directions of the rows instead:
the best that an autoencoder without hidden layers could learn, where torch is not installed.

Equal rows are equal points, to the last bit, wherever they stand in a table. Points lie on a grid
so fine that it does not matter and so coarse that their squared distances are exact.

An autoencoder: two small networks that carry a row through a narrow passage and back.

Trained to make of each row the same row again: the squared error of each number, and the surprise
(cross-entropy) at each category. How far apart two rows are where the passage is narrowest says how
different they are in what columns have to do with each other.

The result is the same on one machine for the same rows and seed, whatever the number of threads:
training runs in one, and chance comes from numpy alone. Of torch nothing is left changed.

Rows as points of a plane, for a picture.

The plane is the one in which the real rows lie furthest apart. `tabpe.evaluation.table_arrays` says
what a row is as a vector: a cell far out, beyond its bounds or not, counts for at most so much, so
that one of them can not squeeze all other points together.

Precision, recall, density and coverage: whether two sets of points lie in the same places.

Around each point of a set there is a ball that reaches to its k-th nearest neighbour among the
*other* points of the set: the balls together stand for where the set lies. A point is not its own
neighbour, as in the usual implementations, so that k = 1 means something; an equal point is one, so
that a point with k copies has a ball of radius 0, which holds its copies and nothing else. Where a
set has fewer than k other points the furthest of them counts, and a point alone has radius 0.

Distances are sums of squared differences and never the difference of two large products, so that
equal points are at distance 0 exactly and what holds with equality is counted.

Representation: whether synthetic rows lie where real rows lie, and reach all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabpe._utils import validation
from tabpe.errors import ParameterError
from tabpe.evaluation.table_arrays import (
    CategoricalCells,
    RowFeatures,
    RowVectorizer,
    TableArrays,
    assign_row_ids,
    fit_vectorizer,
)

ENCODERS = ("auto", "autoencoder", "linear")
SIZE = 16
_TRAINED_ON, _CELLS_TRAINED_ON = 20_000, 20_000_000
_GRID = 2.0**-16
_ROWS_AT_ONCE = 2048
_EXACT_WIDTH, _SPARE, _ITERATIONS = 1024, 10, 8

Encode = Callable[[NDArray[np.float32]], NDArray[np.float64]]


def choose_encoder(encoder: str) -> str:
    """Return the encoder that a name stands for: `auto` takes the best that is installed.

    Raises:
        ParameterError: If there is none of this name, or torch is needed and not installed.

    Example:
        >>> choose_encoder("linear")
        'linear'
    """
    validation.check_one_of("encoder", encoder, ENCODERS)
    if encoder == "linear":
        return encoder
    if find_spec("torch") is not None:
        return "autoencoder"
    if encoder == "autoencoder":
        do = "install it with `pip install tabpe[torch]`, or take encoder='linear'"
        raise ParameterError(f"encoder='autoencoder' needs torch, which is not installed: {do}.")
    return "linear"


def embed(
    real: TableArrays,
    tables: Sequence[TableArrays],
    *,
    encoder: str = "auto",
    random_state: int | np.random.Generator | None = 0,
) -> list[NDArray[np.float64]]:
    """Return the rows of each table as points of a space that is learned from `real`.

    Args:
        real: The rows to learn from, or a sample of 20,000 of them; fewer of wide ones.
        tables: The tables whose rows are wanted, made by the same call of `build_table_arrays` as `real`.
        encoder: `autoencoder`, `linear`, or `auto` for the first if torch is installed.
        random_state: Seed or source of the sample and of what the autoencoder starts from.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If the encoder is not known, or not installed.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Integer, Schema
        >>> real, = build_table_arrays(Schema((Integer("age", 0, 100),)), [pa.table({"age": [20, 40, 60]})])
        >>> embed(real, [real], encoder="linear")[0].round(2)
        array([[-1.22],
               [ 0.  ],
               [ 1.22]])
    """
    name, rng = choose_encoder(encoder), np.random.default_rng(random_state)
    coding = fit_vectorizer([real, *tables])
    most = min(_TRAINED_ON, _CELLS_TRAINED_ON // coding.width)
    rows = coding(real.sample_rows(max(most, 1), rng))
    size = min(SIZE, len(coding.means) + sum(coding.lengths) * (coding.places - 1))
    encode = (_fit_linear if name == "linear" else _fit_autoencoder)(coding, rows, size, rng)
    ids = np.concatenate(assign_row_ids(tables))
    _, first = np.unique(ids, return_index=True)
    points = _encode_rows(
        encode, coding, _stack_features([coding(table) for table in tables]).take(first)
    )
    return np.split(points[ids], np.cumsum([len(table) for table in tables])[:-1])


def find_principal_directions(
    rows: NDArray[np.floating], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean, the directions in which rows differ most, and each one's share of variance.

    Directions are columns, in order, at most `count` and no more than there are. Each points to
    where its largest loading, the first of equal ones, is positive.

    Example:
        >>> rows = np.array([[0.0, 0.0], [-4.0, -4.0], [-8.0, -8.0]])
        >>> _, directions, shares = find_principal_directions(rows, 2, np.random.default_rng(0))
        >>> np.abs(directions[:, 0].round(3)), shares.round(3)
        (array([0.707, 0.707]), array([1., 0.]))
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    centred = rows - mean
    count, total = min(count, rows.shape[1]), float(np.square(centred).sum())
    if rows.shape[1] <= _EXACT_WIDTH:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    else:
        values, vectors = _find_leading_eigenvectors(centred, count, rng)
    shares = np.clip(values, 0, None) / (total or 1.0)
    return mean, vectors * _find_signs(vectors), shares


def _find_leading_eigenvectors(
    centred: NDArray[np.float64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a wide matrix's products, and vectors, by iteration."""
    basis = rng.normal(size=(centred.shape[1], count + _SPARE))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, values, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    return values[:count] ** 2, basis @ turned[:count].T


def _find_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _fit_linear(
    coding: RowVectorizer, rows: RowFeatures, size: int, rng: np.random.Generator
) -> Encode:
    mean, directions, _ = find_principal_directions(coding.to_dense(rows), size, rng)
    return lambda vectors: (vectors - mean) @ directions


def _fit_autoencoder(
    coding: RowVectorizer, rows: RowFeatures, size: int, rng: np.random.Generator
) -> Encode:

    trained = train_autoencoder(coding, rows, size, rng)
    points = trained(coding.to_dense(rows))
    unit = float(points.std(axis=0).mean()) or 1.0
    return lambda vectors: trained(vectors) / unit


def _encode_rows(encode: Encode, coding: RowVectorizer, rows: RowFeatures) -> NDArray[np.float64]:
    parts = [
        encode(coding.to_dense(rows.take(np.arange(start, min(start + _ROWS_AT_ONCE, len(rows))))))
        for start in range(0, len(rows), _ROWS_AT_ONCE)
    ]
    points: NDArray[np.float64] = np.rint(np.concatenate(parts) / _GRID) * _GRID + 0.0
    return points


def _stack_features(parts: Sequence[RowFeatures]) -> RowFeatures:
    return RowFeatures(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.digits for part in parts]),
    )


HIDDEN = 96
BATCH = 256
STEPS, FEWEST_STEPS = 800, 120
_WORK = 320_000  # steps times width: what takes some seconds on one core
_RATE = 6e-3

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """The first half of a trained autoencoder.

    Args:
        inward: Weights and offsets from a row to the hidden layer.
        narrow: Weights and offsets from there to the narrowest one.
    """

    inward: Layer
    narrow: Layer

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return where rows, as vectors, go through the passage."""
        (first, offset), (second, shift) = self.inward, self.narrow
        hidden = rows @ first + offset
        hidden /= 1 + np.exp(-np.maximum(hidden, -80))
        points: NDArray[np.float64] = hidden.astype(np.float64) @ second + shift
        return points


def train_autoencoder(
    coding: RowVectorizer, features: RowFeatures, size: int, rng: np.random.Generator
) -> Autoencoder:
    """Return an autoencoder for rows, with `size` numbers where it is narrowest.

    It takes a fixed number of steps, fewer where rows are wide, whatever the number of rows.
    """
    import torch

    sizes = [coding.width, HIDDEN, size, HIDDEN, coding.width]
    with _use_one_thread():
        weights = [
            torch.from_numpy(part).requires_grad_()
            for layer in pairwise(sizes)
            for part in _draw_layer(*layer, rng)
        ]
        optimizer = torch.optim.Adam(weights, fused=True)
        steps = max(FEWEST_STEPS, min(STEPS, _WORK // coding.width))
        for step, batch in enumerate(_draw_batches(len(features), steps, rng)):
            optimizer.param_groups[0]["lr"] = _RATE * (1 - step / steps)
            optimizer.zero_grad()
            _loss(coding, features.take(batch), weights).backward()
            optimizer.step()
        done = [part.detach().numpy() for part in weights]
    return Autoencoder((done[0], done[1]), (done[2], done[3]))


def _loss(coding: RowVectorizer, batch: RowFeatures, weights: list[Any]) -> Any:
    import torch
    from torch.nn.functional import linear, silu

    into, into_shift, narrow, narrow_shift, out, out_shift, back, back_shift = weights
    hidden = silu(torch.from_numpy(coding.to_dense(batch)) @ into + into_shift)
    hidden = silu((hidden @ narrow + narrow_shift) @ out + out_shift)
    again = linear(hidden, back.T, back_shift)
    count = batch.numbers.shape[1]
    errors = (again[:, :count] - torch.from_numpy(batch.numbers)).square().sum()
    scores = again[:, count:].reshape(len(batch), -1, coding.places)
    chosen = scores.gather(2, torch.from_numpy(batch.digits)[..., None])[..., 0]
    surprise = (scores.logsumexp(2) - chosen) @ torch.from_numpy(coding.weights)
    return (errors + surprise.sum()) / (len(batch) * len(coding.columns))


def _draw_layer(fan_in: int, fan_out: int, rng: np.random.Generator) -> Layer:
    limit = np.sqrt(3 / fan_in)
    weights = rng.uniform(-limit, limit, (fan_in, fan_out))
    return weights.astype(np.float32), np.zeros(fan_out, np.float32)


def _draw_batches(rows: int, steps: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each step: all of them in turn, in an order drawn anew each time."""
    waiting = np.empty(0, np.int64)
    for _ in range(steps):
        if len(waiting) < min(BATCH, rows):
            waiting = rng.permutation(rows)
        yield waiting[:BATCH]
        waiting = waiting[BATCH:]


@contextmanager
def _use_one_thread() -> Iterator[None]:
    """Learn in one thread, whatever the caller has set, and put that back."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(mode=False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(threads)


POINTS = 1500
MOST_CLASSES = 8
OTHERS, ALL = "others", "all rows"
_LEARNED_FROM, _CELLS_LEARNED_FROM = 5000, 10_000_000


@dataclass(frozen=True, eq=False)
class PlaneProjection:
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


def project_rows(
    real: TableArrays | None,
    synthetic: TableArrays,
    *,
    points: int = POINTS,
    random_state: int | None = 0,
) -> PlaneProjection:
    """Return at most `points` rows of each table on the principal plane of the real ones.

    Without real rows it is the plane of the synthetic ones. A categorical label gives the classes
    and takes no part in the plane, unless there is no other column. Each direction points to where
    its largest loading is positive, so that a picture is not mirrored by chance.

    Args:
        real: The real rows; None in a public report.
        synthetic: The synthetic rows, made by the same call of `build_table_arrays`.
        points: At most so many rows of each table, drawn at random.
        random_state: Seed of what is drawn.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If `points` is not a whole number of at least 1.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> real = pa.table({"age": [20, 40], "ill": [True, True]})
        >>> made = pa.table({"age": [30, 60], "ill": [True, False]})
        >>> found = project_rows(*build_table_arrays(schema, [real, made]))
        >>> found.synthetic[:, 0], found.class_names, found.explained
        (array([0., 3.]), ('True', 'False'), (1.0, 0.0))
    """
    validation.check_integer("points", points, least=1)
    rng = np.random.default_rng(random_state)
    first = synthetic if real is None else real
    place, explained = _fit_plane(first, synthetic, rng)
    common = _find_common_classes(first, synthetic)
    shown = None if real is None else real.sample_rows(points, rng)
    made = synthetic.sample_rows(points, rng)
    real_classes = None if shown is None else _index_classes(shown, common)
    synthetic_classes = _index_classes(made, common)
    return PlaneProjection(
        explained=explained,
        real=None if shown is None else place(shown),
        synthetic=place(made),
        real_classes=real_classes,
        synthetic_classes=synthetic_classes,
        class_names=_name_classes(first, common, (real_classes, synthetic_classes)),
    )


def _fit_plane(
    first: TableArrays, synthetic: TableArrays, rng: np.random.Generator
) -> tuple[Callable[[TableArrays], NDArray[np.float64]], tuple[float, float]]:
    """Return how rows are placed on the plane of `first`, and how much of them that shows."""
    coding = fit_vectorizer([first, synthetic], columns=_select_columns(first))
    most = min(_LEARNED_FROM, max(1, _CELLS_LEARNED_FROM // coding.width))
    rows = coding.to_dense(coding(first.sample_rows(most, rng)))
    mean, directions, shares = find_principal_directions(rows, 2, rng)
    missing = 2 - len(shares)  # a table with one number in it has one direction
    directions = np.pad(directions, ((0, 0), (0, missing)))
    explained = np.pad(shares, (0, missing))

    def place(view: TableArrays) -> NDArray[np.float64]:
        points = (coding.to_dense(coding(view)) - mean) @ directions
        return np.round(points, 6) + 0.0  # no -0.0

    return place, (float(explained[0]), float(explained[1]))


def _select_columns(view: TableArrays) -> tuple[str, ...]:
    names = tuple(cells.name for cells in view.features)
    return names if names and isinstance(view.label, CategoricalCells) else tuple(view.schema.names)


def _find_common_classes(first: TableArrays, synthetic: TableArrays) -> list[int]:
    """Return the codes of the most common classes of the first table, then of the second."""
    label, other = first.label, synthetic.label
    if not isinstance(label, CategoricalCells) or not isinstance(other, CategoricalCells):
        return []
    size = len(label.names)
    counts, others = (np.bincount(cells.present, minlength=size) for cells in (label, other))
    order = np.lexsort((np.arange(size), -others, -counts))
    return [int(code) for code in order if counts[code] or others[code]][:MOST_CLASSES]


def _index_classes(view: TableArrays, common: list[int]) -> NDArray[np.int64]:
    """Return the place of each row's class among the common ones, or the place after them."""
    label = view.label
    if not isinstance(label, CategoricalCells):
        return np.zeros(len(view), np.int64)
    places = np.full(len(label.names) + 1, len(common), np.int64)  # the last is that of null
    places[common] = np.arange(len(common))
    return places[label.codes]


def _name_classes(
    view: TableArrays, common: list[int], classes: Sequence[NDArray[np.int64] | None]
) -> tuple[str, ...]:
    label = view.label
    if not isinstance(label, CategoricalCells):
        return (ALL,)
    rest = any((found == len(common)).any() for found in classes if found is not None)
    return (*(label.names[code] for code in common), *((OTHERS,) if rest else ()))


MANIFOLD_NEIGHBOURS = 5
_PAIRS_AT_ONCE = 1 << 18  # distances that a core keeps in its cache


@dataclass(frozen=True)
class ManifoldOverlap:
    """How two sets of points lie to each other.

    Args:
        precision: Share of the synthetic points that lie in the ball of some real point.
        recall: Share of the real points that lie in the ball of some synthetic point.
        density: How many real balls a synthetic point lies in, over k; may exceed 1.
        coverage: Share of the real balls that hold a synthetic point.
    """

    precision: float
    recall: float
    density: float
    coverage: float


def measure_overlap(
    real: ArrayLike, synthetic: ArrayLike, k: int = MANIFOLD_NEIGHBOURS
) -> ManifoldOverlap:
    """Return how two sets of points, one row each, lie to each other.

    The time is proportional to the number of pairs of points; the memory is not.

    Raises:
        ParameterError: If a set is empty or holds something that is not a finite number, if the
            two differ in their number of columns, or if `k` is not a whole number of at least 1.

    Example:
        >>> measure_overlap([[0.0], [1.0], [2.0]], [[0.5], [9.0]], k=1)
        ManifoldOverlap(precision=0.5, recall=1.0, density=1.0, coverage=0.6666666666666666)
    """
    points, others = _check_points("real", real), _check_points("synthetic", synthetic)
    if points.shape[1] != others.shape[1]:
        given = f"real with {points.shape[1]} columns, synthetic with {others.shape[1]}"
        raise ParameterError(f"{given}: expected as many in both.")
    k = validation.check_integer("k", k, least=1)
    return _compute_overlap(points, others, k)


def compute_precision_recall(
    real: ArrayLike, synthetic: ArrayLike, k: int = MANIFOLD_NEIGHBOURS
) -> tuple[float, float]:
    """Return the precision and the recall of `overlap`.

    Example:
        >>> compute_precision_recall([[0.0], [1.0]], [[0.0], [1.0], [5.0], [6.0]], k=1)
        (0.5, 1.0)
    """
    both = measure_overlap(real, synthetic, k)
    return both.precision, both.recall


def compute_density_coverage(
    real: ArrayLike, synthetic: ArrayLike, k: int = MANIFOLD_NEIGHBOURS
) -> tuple[float, float]:
    """Return the density and the coverage of `overlap`.

    Example:
        >>> compute_density_coverage([[0.0], [1.0], [9.0]], [[0.5]], k=1)
        (2.0, 0.6666666666666666)
    """
    both = measure_overlap(real, synthetic, k)
    return both.density, both.coverage


def _compute_overlap(
    real: NDArray[np.float64], synthetic: NDArray[np.float64], k: int
) -> ManifoldOverlap:
    reach, other_reach = _compute_squared_radii(real, k), _compute_squared_radii(synthetic, k)
    held = np.zeros(len(synthetic), bool)
    reached = covered = balls = 0
    for rows in _split_blocks(len(real), len(synthetic)):
        squared = _compute_squared_distances(real[rows], synthetic)
        inside = squared <= reach[rows, None]
        held |= inside.any(axis=0)
        balls += int(inside.sum())
        covered += int(inside.any(axis=1).sum())
        reached += int((squared <= other_reach).any(axis=1).sum())
    return ManifoldOverlap(
        precision=float(held.mean()),
        recall=reached / len(real),
        density=balls / (k * len(synthetic)),
        coverage=covered / len(real),
    )


def _compute_squared_radii(points: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return how far each point is from its k-th nearest neighbour, squared."""
    # A point is at distance 0 from itself, the least there is: it takes place 0.
    place, radii = min(k, len(points) - 1), np.empty(len(points))
    for rows in _split_blocks(len(points), len(points)):
        squared = _compute_squared_distances(points[rows], points)
        radii[rows] = np.partition(squared, place, axis=1)[:, place]
    return radii


def _compute_squared_distances(
    points: NDArray[np.float64], others: NDArray[np.float64]
) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    squared: NDArray[np.float64] = cdist(points, others, "sqeuclidean")
    return squared


def _split_blocks(rows: int, columns: int) -> list[slice]:
    step = max(1, _PAIRS_AT_ONCE // columns)
    return [slice(start, start + step) for start in range(0, rows, step)]


def _check_points(name: str, given: Any) -> NDArray[np.float64]:
    try:
        points = np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():  # noqa: PLR2004
        allowed = "one row of finite numbers for each point, and at least one point"
        raise ParameterError(f"{name}: expected {allowed}.")
    return points


NEIGHBOURS, ROWS = 5, 5000


@dataclass(frozen=True)
class RepresentationScores:
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
    floor: ManifoldOverlap | None = None


def measure_representation(
    real: TableArrays,
    synthetic: TableArrays,
    other: TableArrays | None = None,
    *,
    neighbours: int = NEIGHBOURS,
    rows: int | None = ROWS,
    encoder: str = "auto",
    random_state: int | None = 0,
) -> RepresentationScores:
    """Return precision, recall, density and coverage in the space of an autoencoder.

    The space is learned from the real rows. `tabpe.evaluation.metrics.embedding` says what is
    counted in it. How many rows are compared matters: with fewer rows the balls are larger, so
    figures that are to be compared with each other need the same `rows`. So does what is learned
    from: with hundreds of columns and few rows the space suits the real rows better than any
    others, and recall is low even for other real rows.

    Args:
        real: The real rows.
        synthetic: The synthetic rows, made by the same call of `build_table_arrays`.
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
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Integer, Schema
        >>> schema = Schema((Integer("age", 0, 99),))
        >>> ages, half = pa.table({"age": range(100)}), pa.table({"age": range(50)})
        >>> found = measure_representation(*build_table_arrays(schema, [ages, half]), encoder="linear")
        >>> found.precision, found.recall
        (1.0, 0.55)
    """
    validation.check_integer("neighbours", neighbours, least=1)
    validation.check_optional(validation.check_integer, "rows", rows, least=1)
    rng = np.random.default_rng(random_state)
    tables = [real, synthetic, *filter(None, [other])]
    sampled = [table if rows is None else table.sample_rows(rows, rng) for table in tables]
    points, *others = embed(real, sampled, encoder=encoder, random_state=rng)
    found, *floor = [measure_overlap(points, made, neighbours) for made in others]
    return RepresentationScores(
        encoder=choose_encoder(encoder),
        neighbours=neighbours,
        rows=(len(sampled[0]), len(sampled[1])),
        precision=found.precision,
        recall=found.recall,
        density=found.density,
        coverage=found.coverage,
        floor=floor[0] if floor else None,
    )

"""Rows as points: learned embedding, projection, precision, recall, density, coverage.

*Embedding.* Rows become points of a space that is learned from the real rows. `autoencoder` is
what the paper uses: two small networks that carry a row through a narrow layer and back, trained
to reproduce it, with the squared error of numbers and the cross-entropy of categories. `linear`
takes the principal directions instead, the best that an autoencoder without hidden layers could
learn, where torch is not installed. Training runs in one thread and takes its randomness from
numpy alone, so the result is the same on one machine for the same rows and seed; torch's own
settings are left as they were. Equal rows are equal points, to the last bit. Points lie on a grid
so fine that it does not matter and so coarse that their squared distances are exact.

*Projection.* The plane in which the real rows lie furthest apart, for a picture.
`tabpe.evaluation.table_arrays` says how a row becomes a vector: an outlier counts for at most so
much, so one of them can not squeeze all other points together.

*Precision, recall, density, coverage.* Around each point of a set is a ball that reaches to its
k-th nearest neighbour among the *other* points of the set; the balls together stand for where the
set lies. A point is not its own neighbour, as in the usual implementations, so that k = 1 means
something; an equal point is one, so that a point with k copies has a ball of radius 0, which holds
its copies and nothing else. Where a set has fewer than k other points the furthest of them counts,
and a single point has radius 0. Distances are sums of squared differences and never the difference
of two large products, so equal points are at distance 0 exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tabpe._utils import validation
from tabpe.errors import ParameterError
from tabpe.evaluation.table_arrays import (
    CategoricalCells,
    Floats,
    Integers,
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

Encode = Callable[[NDArray[np.float32]], Floats]


def choose_encoder(encoder: str) -> str:
    """Return the encoder of a name; `auto` stands for the best that is installed.

    Raises:
        ParameterError: If the name is unknown, or torch is needed and not installed.
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
) -> list[Floats]:
    """Return the rows of each table as points of a space that is learned from `real`.

    Args:
        real: The rows to learn from; 20,000 of them are sampled, fewer if they are wide.
        tables: The tables to embed, from the same call of `build_table_arrays` as `real`.
        encoder: `autoencoder`, `linear`, or `auto` for the first if torch is installed.
        random_state: Seed or generator of the sample and of the initial weights.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If the encoder is unknown, or not installed.
    """
    name, rng = choose_encoder(encoder), np.random.default_rng(random_state)
    vectorizer = fit_vectorizer([real, *tables])
    most = min(_TRAINED_ON, _CELLS_TRAINED_ON // vectorizer.width)
    rows = vectorizer(real.sample_rows(max(most, 1), rng))
    size = min(SIZE, len(vectorizer.means) + sum(vectorizer.lengths) * (vectorizer.base - 1))
    fit = _fit_linear if name == "linear" else train_autoencoder
    encode = fit(vectorizer, rows, size, rng)
    ids = np.concatenate(assign_row_ids(tables))
    _, first = np.unique(ids, return_index=True)
    parts = [vectorizer(table) for table in tables]
    distinct = RowFeatures(
        np.concatenate([part.numbers for part in parts])[first],
        np.concatenate([part.digits for part in parts])[first],
    )
    blocks = np.split(np.arange(len(first)), range(_ROWS_AT_ONCE, len(first), _ROWS_AT_ONCE))
    points = np.concatenate([encode(vectorizer.to_dense(distinct.take(rows))) for rows in blocks])
    points = np.rint(points / _GRID) * _GRID + 0.0
    return np.split(points[ids], np.cumsum([len(table) for table in tables])[:-1])


def find_principal_directions(
    rows: NDArray[np.floating], count: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return the mean, the principal directions, and the share of variance of each.

    Directions are columns, in order, at most `count` and no more than there are. The sign of each
    is such that its largest loading, the first of equal ones, is positive.
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
    centred: Floats, count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the leading eigenvalues and eigenvectors of X^T X by subspace iteration."""
    basis = rng.normal(size=(centred.shape[1], count + _SPARE))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, values, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    return values[:count] ** 2, basis @ turned[:count].T


def _find_signs(vectors: Floats) -> Floats:
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _fit_linear(
    vectorizer: RowVectorizer, rows: RowFeatures, size: int, rng: np.random.Generator
) -> Encode:
    mean, directions, _ = find_principal_directions(vectorizer.to_dense(rows), size, rng)
    return lambda vectors: (vectors - mean) @ directions


HIDDEN = 96
BATCH = 256
STEPS, FEWEST_STEPS = 800, 120
_WORK = 320_000  # steps times width: what takes some seconds on one core
_RATE = 6e-3

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


def train_autoencoder(
    vectorizer: RowVectorizer, features: RowFeatures, size: int, rng: np.random.Generator
) -> Encode:
    """Return the encoder half of an autoencoder for rows, with `size` numbers in between.

    Its points have a mean standard deviation of 1. The number of training steps does not depend on
    the number of rows; it is smaller if rows are wide.
    """
    import torch

    sizes = [vectorizer.width, HIDDEN, size, HIDDEN, vectorizer.width]
    with _use_one_thread():
        weights = [
            torch.from_numpy(part).requires_grad_()
            for layer in pairwise(sizes)
            for part in _draw_layer(*layer, rng)
        ]
        moments = [(torch.zeros_like(part), torch.zeros_like(part)) for part in weights]
        steps = max(FEWEST_STEPS, min(STEPS, _WORK // vectorizer.width))
        for step, batch in enumerate(_draw_batches(len(features), steps, rng)):
            loss = _loss(vectorizer, features.take(batch), weights)
            gradients = torch.autograd.grad(loss, weights)
            _take_adam_step(weights, gradients, moments, step + 1, _RATE * (1 - step / steps))
        first, offset, second, shift = [part.detach().numpy() for part in weights[:4]]

    def encode(rows: NDArray[np.float32]) -> Floats:
        hidden = rows @ first + offset
        hidden /= 1 + np.exp(-np.maximum(hidden, -80))
        return np.asarray(hidden.astype(np.float64) @ second + shift)

    unit = float(encode(vectorizer.to_dense(features)).std(axis=0).mean()) or 1.0
    return lambda rows: encode(rows) / unit


def _take_adam_step(
    weights: Sequence[Any],
    gradients: Sequence[Any],
    moments: Sequence[tuple[Any, Any]],
    step: int,
    rate: float,
) -> None:
    """Take one step of Adam. `torch.optim` would load torch's compiler, for seconds."""
    import torch

    first_decay, second_decay, least = 0.9, 0.999, 1e-8
    with torch.no_grad():
        for weight, gradient, (mean, square) in zip(weights, gradients, moments, strict=True):
            mean.lerp_(gradient, 1 - first_decay)
            square.mul_(second_decay).addcmul_(gradient, gradient, value=1 - second_decay)
            root = (square / (1 - second_decay**step)).sqrt_().add_(least)
            weight.addcdiv_(mean, root, value=-rate / (1 - first_decay**step))


def _loss(vectorizer: RowVectorizer, batch: RowFeatures, weights: list[Any]) -> Any:
    import torch
    from torch.nn.functional import linear, silu

    into, into_shift, narrow, narrow_shift, out, out_shift, back, back_shift = weights
    hidden = silu(torch.from_numpy(vectorizer.to_dense(batch)) @ into + into_shift)
    hidden = silu((hidden @ narrow + narrow_shift) @ out + out_shift)
    again = linear(hidden, back.T, back_shift)
    count = batch.numbers.shape[1]
    errors = (again[:, :count] - torch.from_numpy(batch.numbers)).square().sum()
    scores = again[:, count:].reshape(len(batch), -1, vectorizer.base)
    chosen = scores.gather(2, torch.from_numpy(batch.digits)[..., None])[..., 0]
    cross_entropy = (scores.logsumexp(2) - chosen) @ torch.from_numpy(vectorizer.weights)
    return (errors + cross_entropy.sum()) / (len(batch) * len(vectorizer.columns))


def _draw_layer(fan_in: int, fan_out: int, rng: np.random.Generator) -> Layer:
    limit = np.sqrt(3 / fan_in)
    weights = rng.uniform(-limit, limit, (fan_in, fan_out))
    return weights.astype(np.float32), np.zeros(fan_out, np.float32)


def _draw_batches(rows: int, steps: int, rng: np.random.Generator) -> Iterator[Integers]:
    """Yield the rows of each step: all in turn, in an order that is drawn again each epoch."""
    waiting = np.empty(0, np.int64)
    for _ in range(steps):
        if len(waiting) < min(BATCH, rows):
            waiting = rng.permutation(rows)
        yield waiting[:BATCH]
        waiting = waiting[BATCH:]


@contextmanager
def _use_one_thread() -> Iterator[None]:
    """Train in one thread, and restore the caller's setting."""
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
    """Rows on the plane of the first two principal directions.

    Args:
        explained: Share of the variance of each direction.
        real: The real points, one per row; None in a public report.
        synthetic: The synthetic points.
        real_classes: The class of each real point; all 0 without a categorical label.
        synthetic_classes: The class of each synthetic point.
        class_names: Names of the classes: at most `MOST_CLASSES`, the most common first, and then
            `OTHERS` for the rest and for nulls, if there are any.
    """

    explained: tuple[float, float]
    real: Floats | None
    synthetic: Floats
    real_classes: Integers | None
    synthetic_classes: Integers
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
    and takes no part in the plane, unless there is no other column. The sign of each direction is
    such that its largest loading is positive, so that a picture is not mirrored at random.

    NOT PRIVATE if `real` is given.

    Args:
        real: The real rows; None in a public report.
        synthetic: The synthetic rows, from the same call of `build_table_arrays`.
        points: The most rows of each table, drawn at random.
        random_state: Seed of the subsamples.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If `points` is not an integer of at least 1.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> real = pa.table({"age": [20, 40], "ill": [True, True]})
        >>> synthetic = pa.table({"age": [30, 60], "ill": [True, False]})
        >>> plane = project_rows(*build_table_arrays(schema, [real, synthetic]))
        >>> plane.synthetic[:, 0], plane.class_names, plane.explained
        (array([0., 3.]), ('True', 'False'), (1.0, 0.0))
    """
    validation.check_integer("points", points, least=1)
    rng = np.random.default_rng(random_state)
    first = synthetic if real is None else real
    project, explained = _fit_plane(first, synthetic, rng)
    common = _find_common_classes(first, synthetic)
    real_sample = None if real is None else real.sample_rows(points, rng)
    synthetic_sample = synthetic.sample_rows(points, rng)
    real_classes = None if real_sample is None else _index_classes(real_sample, common)
    synthetic_classes = _index_classes(synthetic_sample, common)
    return PlaneProjection(
        explained=explained,
        real=None if real_sample is None else project(real_sample),
        synthetic=project(synthetic_sample),
        real_classes=real_classes,
        synthetic_classes=synthetic_classes,
        class_names=_name_classes(first, common, (real_classes, synthetic_classes)),
    )


def _fit_plane(
    first: TableArrays, synthetic: TableArrays, rng: np.random.Generator
) -> tuple[Callable[[TableArrays], Floats], tuple[float, float]]:
    """Return the projection onto the plane of `first`, and the share of variance of each axis."""
    vectorizer = fit_vectorizer([first, synthetic], columns=_select_columns(first))
    most = min(_LEARNED_FROM, max(1, _CELLS_LEARNED_FROM // vectorizer.width))
    rows = vectorizer.to_dense(vectorizer(first.sample_rows(most, rng)))
    mean, directions, shares = find_principal_directions(rows, 2, rng)
    missing = 2 - len(shares)  # a table with one number in it has one direction
    directions = np.pad(directions, ((0, 0), (0, missing)))
    explained = np.pad(shares, (0, missing))

    def project(view: TableArrays) -> Floats:
        points = (vectorizer.to_dense(vectorizer(view)) - mean) @ directions
        return np.round(points, 6) + 0.0  # no -0.0

    return project, (float(explained[0]), float(explained[1]))


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


def _index_classes(view: TableArrays, common: list[int]) -> Integers:
    """Return the index of each row's class among the common ones; the next index for others."""
    label = view.label
    if not isinstance(label, CategoricalCells):
        return np.zeros(len(view), np.int64)
    index = np.full(len(label.names) + 1, len(common), np.int64)  # the last is that of null
    index[common] = np.arange(len(common))
    return np.asarray(index[label.values])


def _name_classes(
    view: TableArrays, common: list[int], classes: Sequence[Integers | None]
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
    """Overlap of two sets of points.

    Args:
        precision: Share of the synthetic points that lie in the ball of some real point.
        recall: Share of the real points that lie in the ball of some synthetic point.
        density: Mean number of real balls that a synthetic point lies in, over k; may exceed 1.
        coverage: Share of the real balls that hold a synthetic point.
    """

    precision: float
    recall: float
    density: float
    coverage: float


def measure_overlap(
    real: ArrayLike, synthetic: ArrayLike, k: int = MANIFOLD_NEIGHBOURS
) -> ManifoldOverlap:
    """Return the overlap of two sets of points, one per row.

    The time is proportional to the number of pairs of points; the memory is not.

    Raises:
        ParameterError: If a set is empty or holds something that is not a finite number, if the
            two differ in their number of columns, or if `k` is not an integer of at least 1.

    Example:
        >>> measure_overlap([[0.0], [1.0], [2.0]], [[0.5], [9.0]], k=1)
        ManifoldOverlap(precision=0.5, recall=1.0, density=1.0, coverage=0.6666666666666666)
    """
    points, others = _check_points("real", real), _check_points("synthetic", synthetic)
    if points.shape[1] != others.shape[1]:
        given = f"real with {points.shape[1]} columns, synthetic with {others.shape[1]}"
        raise ParameterError(f"{given}: expected as many in both.")
    k = validation.check_integer("k", k, least=1)
    reach, other_reach = _compute_squared_radii(points, k), _compute_squared_radii(others, k)
    covered_synthetic = np.zeros(len(others), bool)
    reached = covered = balls = 0
    for rows in _split_blocks(len(points), len(others)):
        squared = _compute_squared_distances(points[rows], others)
        inside = squared <= reach[rows, None]
        covered_synthetic |= inside.any(axis=0)
        balls += int(inside.sum())
        covered += int(inside.any(axis=1).sum())
        reached += int((squared <= other_reach).any(axis=1).sum())
    return ManifoldOverlap(
        precision=float(covered_synthetic.mean()),
        recall=reached / len(points),
        density=balls / (k * len(others)),
        coverage=covered / len(points),
    )


def _compute_squared_radii(points: Floats, k: int) -> Floats:
    """Return the squared distance of each point to its k-th nearest neighbour."""
    # A point is at distance 0 from itself, the least there is: it has rank 0.
    rank, radii = min(k, len(points) - 1), np.empty(len(points))
    for rows in _split_blocks(len(points), len(points)):
        squared = _compute_squared_distances(points[rows], points)
        radii[rows] = np.partition(squared, rank, axis=1)[:, rank]
    return radii


def _compute_squared_distances(points: Floats, others: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(points, others, "sqeuclidean"))


def _split_blocks(rows: int, columns: int) -> list[slice]:
    step = max(1, _PAIRS_AT_ONCE // columns)
    return [slice(start, start + step) for start in range(0, rows, step)]


def _check_points(name: str, given: Any) -> Floats:
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
    """Overlap of real and synthetic rows in a learned space.

    Args:
        encoder: `autoencoder`, or `linear` where torch is not installed.
        neighbours: The k of the k-th nearest neighbour.
        rows: Numbers of rows that were compared: real, synthetic.
        precision: Share of the synthetic points that lie within the real ones.
        recall: Share of the real points that lie within the synthetic ones.
        density: Mean number of real neighbourhoods of a synthetic point, over k; may exceed 1.
        coverage: Share of the real neighbourhoods that hold a synthetic point.
        floor: The same for other real rows instead of the synthetic ones: what can be expected of
            so many rows; None without them.
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

    NOT PRIVATE. The space is learned from the real rows. With fewer rows the balls are larger, so
    figures that are to be compared with each other need the same `rows`. With hundreds of columns
    and few rows the space suits the real rows better than any others, and recall is low even for
    other real rows.

    Args:
        real: The real rows.
        synthetic: The synthetic rows, from the same call of `build_table_arrays`.
        other: Other real rows, about as many as synthetic ones, for the floor.
        neighbours: The k of the k-th nearest neighbour.
        rows: The most rows of each table that are compared, drawn at random; None for all. The
            time grows with their square.
        encoder: `autoencoder`, `linear`, or `auto` for the first if torch is installed.
        random_state: Seed of everything random.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If a parameter is out of range, or the encoder not installed.
    """
    validation.check_integer("neighbours", neighbours, least=1)
    validation.check_optional(validation.check_integer, "rows", rows, least=1)
    rng = np.random.default_rng(random_state)
    tables = [real, synthetic, *filter(None, [other])]
    sampled = [table.sample_rows(rows, rng) for table in tables]
    points, *others = embed(real, sampled, encoder=encoder, random_state=rng)
    overlap, *floor = [measure_overlap(points, other, neighbours) for other in others]
    return RepresentationScores(
        encoder=choose_encoder(encoder),
        neighbours=neighbours,
        rows=(len(sampled[0]), len(sampled[1])),
        **asdict(overlap),
        floor=floor[0] if floor else None,
    )

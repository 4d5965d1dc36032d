"""Rows as points of a space that is learned from the real rows.

`autoencoder` is what the paper uses. `linear` takes the principal directions of the rows instead:
the best that an autoencoder without hidden layers could learn, where torch is not installed.

Equal rows are equal points, to the last bit, wherever they stand in a table. Points lie on a grid
so fine that it does not matter and so coarse that their squared distances are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.errors import ParameterError
from tabpe.metrics.coding import Coding, Features, learned
from tabpe.metrics.sameness import row_ids
from tabpe.metrics.view import View

ENCODERS = ("auto", "autoencoder", "linear")
SIZE = 16
_TRAINED_ON, _CELLS_TRAINED_ON = 20_000, 20_000_000
_GRID = 2.0**-16
_ROWS_AT_ONCE = 2048
_EXACT_WIDTH, _SPARE, _ITERATIONS = 1024, 10, 8

Encode = Callable[[NDArray[np.float32]], NDArray[np.float64]]


def chosen(encoder: str) -> str:
    """Return the encoder that a name stands for: `auto` takes the best that is installed.

    Raises:
        ParameterError: If there is none of this name, or torch is needed and not installed.

    Example:
        >>> chosen("linear")
        'linear'
    """
    _validate.one_of("encoder", encoder, ENCODERS)
    if encoder == "linear":
        return encoder
    if find_spec("torch") is not None:
        return "autoencoder"
    if encoder == "autoencoder":
        do = "install it with `pip install tabpe[torch]`, or take encoder='linear'"
        raise ParameterError(f"encoder='autoencoder' needs torch, which is not installed: {do}.")
    return "linear"


def embed(
    real: View,
    tables: Sequence[View],
    *,
    encoder: str = "auto",
    random_state: int | np.random.Generator | None = 0,
) -> list[NDArray[np.float64]]:
    """Return the rows of each table as points of a space that is learned from `real`.

    Args:
        real: The rows to learn from, or a sample of 20,000 of them; fewer of wide ones.
        tables: The tables whose rows are wanted, made by the same call of `views` as `real`.
        encoder: `autoencoder`, `linear`, or `auto` for the first if torch is installed.
        random_state: Seed or source of the sample and of what the autoencoder starts from.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If the encoder is not known, or not installed.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Integer, Schema
        >>> real, = views(Schema((Integer("age", 0, 100),)), [pa.table({"age": [20, 40, 60]})])
        >>> embed(real, [real], encoder="linear")[0].round(2)
        array([[-1.22],
               [ 0.  ],
               [ 1.22]])
    """
    name, rng = chosen(encoder), np.random.default_rng(random_state)
    coding = learned([real, *tables])
    most = min(_TRAINED_ON, _CELLS_TRAINED_ON // coding.width)
    rows = coding(real.sampled(max(most, 1), rng))
    size = min(SIZE, len(coding.means) + sum(coding.lengths) * (coding.places - 1))
    encode = (_linear if name == "linear" else _autoencoder)(coding, rows, size, rng)
    ids = np.concatenate(row_ids(tables))
    _, first = np.unique(ids, return_index=True)
    points = _encoded(encode, coding, _stacked([coding(table) for table in tables]).take(first))
    return np.split(points[ids], np.cumsum([len(table) for table in tables])[:-1])


def principal(
    rows: NDArray[np.floating], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean, the directions in which rows differ most, and each one's share of variance.

    Directions are columns, in order, at most `count` and no more than there are. Each points to
    where its largest loading, the first of equal ones, is positive.

    Example:
        >>> rows = np.array([[0.0, 0.0], [-4.0, -4.0], [-8.0, -8.0]])
        >>> _, directions, shares = principal(rows, 2, np.random.default_rng(0))
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
        values, vectors = _leading(centred, count, rng)
    shares = np.clip(values, 0, None) / (total or 1.0)
    return mean, vectors * _signs(vectors), shares


def _leading(
    centred: NDArray[np.float64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues of a wide matrix's products, and vectors, by iteration."""
    basis = rng.normal(size=(centred.shape[1], count + _SPARE))
    for _ in range(_ITERATIONS):
        basis, _ = np.linalg.qr(centred.T @ (centred @ basis))
    _, values, turned = np.linalg.svd(centred @ basis, full_matrices=False)
    return values[:count] ** 2, basis @ turned[:count].T


def _signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    sizes = np.abs(vectors)
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def _linear(coding: Coding, rows: Features, size: int, rng: np.random.Generator) -> Encode:
    mean, directions, _ = principal(coding.dense(rows), size, rng)
    return lambda vectors: (vectors - mean) @ directions


def _autoencoder(coding: Coding, rows: Features, size: int, rng: np.random.Generator) -> Encode:
    from tabpe.metrics.autoencoder import train

    trained = train(coding, rows, size, rng)
    points = trained(coding.dense(rows))
    unit = float(points.std(axis=0).mean()) or 1.0
    return lambda vectors: trained(vectors) / unit


def _encoded(encode: Encode, coding: Coding, rows: Features) -> NDArray[np.float64]:
    parts = [
        encode(coding.dense(rows.take(np.arange(start, min(start + _ROWS_AT_ONCE, len(rows))))))
        for start in range(0, len(rows), _ROWS_AT_ONCE)
    ]
    points: NDArray[np.float64] = np.rint(np.concatenate(parts) / _GRID) * _GRID + 0.0
    return points


def _stacked(parts: Sequence[Features]) -> Features:
    return Features(
        np.concatenate([part.numbers for part in parts]),
        np.concatenate([part.digits for part in parts]),
    )

"""Tables to vote on: real ones where they are at hand, made-up ones of the same shape elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from scipy.special import ndtr

from tabpe import Categorical, Float, Integer, Schema
from tabpe.schema import Column

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TABPE_DATA", ROOT.parents[1] / "shared" / "data"))
FACTORS = 5
NOISE = 0.3
ACTIVITY_JITTER = 0.002
ADULT_SIZES = (8, 16, 7, 14, 6, 5, 2, 41)
PIXELS = 196


@dataclass(frozen=True, eq=False)
class Table:
    """A table, its schema, and where it comes from."""

    source: str
    data: pa.Table
    schema: Schema


@lru_cache(maxsize=2)
def made_up(rows: int, numbers: int, sizes: Sequence[int] = (), classes: int = 2) -> Table:
    """Columns that hang together: five hidden factors, a little noise, even or skewed margins.

    Seeded. Every third number is squared, which crowds it near 0. Categories and classes follow
    the factors too; the classes are equally large.
    """
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((FACTORS, numbers)) / np.sqrt(FACTORS)
    factors = rng.standard_normal((rows, FACTORS))
    mixed = factors @ weights + NOISE * rng.standard_normal((rows, numbers))
    values = ndtr(mixed / np.sqrt((weights**2).sum(axis=0) + NOISE**2))
    values[:, ::3] **= 2
    listed = [(_category(factors, size, rng), size) for size in sizes]
    score = factors[:, 0] * factors[:, 1] + NOISE * rng.standard_normal(rows)
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    source = f"made up: {FACTORS} factors, noise {NOISE}"
    return _table(source, values, listed, np.searchsorted(cuts, score))


@lru_cache(maxsize=1)
def uniform(rows: int, numbers: int, classes: int = 2) -> Table:
    """Independent uniform columns: nothing hangs together, which no real table is like."""
    rng = np.random.default_rng(0)
    values = rng.random((rows, numbers))
    return _table("made up: uniform", values, [], rng.integers(0, classes, rows))


def person_activity(rows: int) -> Table:
    """Person Activity, as many rows as wanted; the data folder has the validation and test splits.

    Rows are drawn from those at hand, and their numbers moved by 0.2% of the range so that no two
    are equal: merging copies would make the votes cheaper than they are.
    """
    path = DATA / "person_activity_49k.csv.gz"
    if not path.exists():
        return made_up(rows, 5, (5, 4), 11)
    rng = np.random.default_rng(0)
    read = csv.read_csv(path).drop_columns(["split"])
    drawn = read.take(rng.integers(0, read.num_rows, rows))
    schema = _schema(read, ("V1", "V2", "Class"), "Class")
    columns = {column.name: _moved(drawn, column, rng) for column in schema.columns}
    return Table("Person Activity, 49k rows enlarged", pa.table(columns), schema)


def adult(rows: int) -> Table:
    """Adult, the train split of the paper's authors."""
    path = DATA / "adult_tabpe_train.csv.gz"
    if not path.exists():
        return made_up(rows, 6, ADULT_SIZES, 2)
    data = csv.read_csv(path)
    listed = [field.name for field in data.schema if pa.types.is_string(field.type)]
    return Table("Adult", data.slice(0, rows), _schema(data, listed, "income"))


def digits(rows: int) -> Table:
    """MNIST, rescaled to 14 x 14 pixels."""
    path = DATA / "mnist14.npz"
    if not path.exists():
        return made_up(rows, PIXELS, (), 10)
    with np.load(path, allow_pickle=False) as arrays:
        pixels, labels = arrays["X_train"].reshape(-1, PIXELS), arrays["y_train"]
    names = [f"pixel {place}" for place in range(PIXELS)]
    columns = [Integer(name, 0, 255) for name in names]
    data = pa.table(dict(zip(names, pixels.T.copy(), strict=True)) | {"digit": labels})
    schema = Schema((*columns, Categorical("digit", tuple(range(10)))), label="digit")
    return Table("MNIST 14 x 14", data.slice(0, rows), schema)


def _category(factors: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    liking = factors @ rng.standard_normal((FACTORS, size))
    return (liking + rng.gumbel(size=liking.shape)).argmax(axis=1)


def _table(
    source: str, values: np.ndarray, listed: Sequence[tuple[np.ndarray, int]], label: np.ndarray
) -> Table:
    """Return numbers from 0 to 1, categories with their sizes, and the class."""
    numbers = {f"number {place}": column for place, column in enumerate(values.T.copy())}
    codes = {f"category {place}": column for place, (column, _) in enumerate(listed)}
    columns = [
        *(Float(name, 0.0, 1.0) for name in numbers),
        *(
            Categorical(name, tuple(range(size)))
            for name, (_, size) in zip(codes, listed, strict=True)
        ),
        Categorical("class", tuple(range(int(label.max()) + 1))),
    ]
    data = pa.table(numbers | codes | {"class": label})
    return Table(source, data, Schema(tuple(columns), label="class"))


def _schema(data: pa.Table, listed: Sequence[str], label: str) -> Schema:
    """Return the schema of a published table, whose domains are as public as its rows."""
    return Schema(tuple(_column(data, name, listed) for name in data.column_names), label=label)


def _column(data: pa.Table, name: str, listed: Sequence[str]) -> Column:
    if name in listed:
        return Categorical(name, tuple(sorted(data[name].unique().to_pylist())))
    values = data[name].to_numpy()
    if np.issubdtype(values.dtype, np.integer):
        return Integer(name, int(values.min()), int(values.max()))
    return Float(name, float(values.min()), float(values.max()))


def _moved(data: pa.Table, column: Column, rng: np.random.Generator) -> np.ndarray:
    values = data[column.name].to_numpy()
    if not isinstance(column, Integer):
        return values
    steps = rng.normal(0.0, ACTIVITY_JITTER * column.steps, len(values))
    return np.clip(np.rint(values + steps), column.min, column.max).astype(np.int64)

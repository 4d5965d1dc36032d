"""The cases: tables, their rows by class, and the populations that a real run votes on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv
from scipy.special import ndtr

from benchmarks.common import DATA
from tabpe import Categorical, Float, Integer, Schema
from tabpe.accounting import FakeNoise, Spend
from tabpe.accounting.pld import solve_gaussian_mu
from tabpe.encoding import Encoder, Records, RecordSpace
from tabpe.evolution import PRESETS, Evolution, apportion, evolve
from tabpe.evolution.proposals import UniformProposal
from tabpe.measurement import NoisyCounts
from tabpe.schema import Column

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
def simulate_table(rows: int, numbers: int, sizes: Sequence[int] = (), classes: int = 2) -> Table:
    """Simulate dependent columns: five hidden factors, a little noise, even or skewed margins.

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
def draw_uniform_table(rows: int, numbers: int, classes: int = 2) -> Table:
    """Draw independent uniform columns, which no real table is like."""
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
        return simulate_table(rows, 5, (5, 4), 11)
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
        return simulate_table(rows, 6, ADULT_SIZES, 2)
    data = csv.read_csv(path)
    listed = [field.name for field in data.schema if pa.types.is_string(field.type)]
    return Table("Adult", data.slice(0, rows), _schema(data, listed, "income"))


def digits(rows: int) -> Table:
    """MNIST, rescaled to 14 x 14 pixels."""
    path = DATA / "mnist14.npz"
    if not path.exists():
        return simulate_table(rows, PIXELS, (), 10)
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


EPSILON = 1.0
QUICK = 250
QUICK_SIZE = 20
Population = Sequence[Records]
Votes = list[NDArray[np.int64]]


@dataclass(frozen=True)
class Case:
    """A table and the number of rows that are evolved from it.

    Args:
        key: Short name.
        rows: Private rows of all classes.
        table: Makes a table of so many rows.
        size: Synthetic rows over all classes, N.
        config: Settings of the evolution.
        voting: The classes that vote; None for all.
    """

    key: str
    rows: int
    table: Callable[[int], Table]
    size: int
    config: Evolution = PRESETS["paper"]
    voting: tuple[int, ...] | None = None

    def quick(self) -> Case:
        """Return the case small enough for a smoke run."""
        return dataclasses.replace(
            self, rows=self.rows // QUICK, size=max(self.size // QUICK, QUICK_SIZE)
        )


@dataclass(frozen=True, eq=False)
class Loaded:
    """A case with its rows.

    Args:
        case: Which one.
        source: Where the table comes from.
        rows: The private rows of each voting class.
        spaces: The space of the candidates of each class.
        sizes: The synthetic rows of each class.
        sigma: The noise of epsilon 1.
    """

    case: Case
    source: str
    rows: list[Records]
    spaces: list[RecordSpace]
    sizes: list[int]
    sigma: float

    @property
    def weight(self) -> float:
        """What one differing category adds to a distance."""
        return self.case.config.category_weight

    @property
    def count(self) -> int:
        """Number of private rows that vote."""
        return sum(map(len, self.rows))

    def batch(self) -> tuple[Records, NDArray[np.int64]]:
        """Return all rows with their classes, as an engine takes them."""
        labels = np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.rows])
        return Records.concat(self.rows), labels

    def first(self, rows: int) -> Loaded:
        """Return the case with about the first `rows` rows, evenly over the classes."""
        share = min(1.0, rows / self.count)
        kept = [part.take(np.arange(math.ceil(share * len(part)))) for part in self.rows]
        return dataclasses.replace(self, rows=kept)


def load(case: Case) -> Loaded:
    """Return the case with its rows, encoded as a run would."""
    table = case.table(case.rows)
    encoder = Encoder(table.schema)
    rows, labels = encoder.encode(table.data)
    counts = np.bincount(labels, minlength=encoder.class_count)
    sizes, spaces = apportion(case.size, counts), encoder.spaces
    voting = range(encoder.class_count) if case.voting is None else case.voting
    return Loaded(
        case,
        table.source,
        [rows.take(labels == label) for label in voting],
        [spaces[label] for label in voting],
        [sizes[label] for label in voting],
        _sigma(len(rows), case.config.rounds),
    )


def populations(loaded: Loaded, count: Callable[[Population], Votes]) -> list[Population]:
    """Run the evolution with exact votes from `count`, and return what it asked about.

    The noise is of the right size and repeatable: NOT PRIVATE, and no reason to be.
    """
    asked: list[Population] = []
    noise = FakeNoise(seed=0)

    def vote(population: Population, _: int) -> NoisyCounts:
        asked.append(population)
        noisy = [exact + noise.draw(len(exact), loaded.sigma) for exact in count(population)]
        return NoisyCounts(noisy, Spend("votes", loaded.sigma, times=1))

    evolve(UniformProposal(loaded.spaces), loaded.sizes, loaded.case.config, vote, seed=0)
    return asked


def stage_rounds(config: Evolution) -> dict[str, int]:
    """Return which rounds stand for the sampling (S) and the ranking stage (R)."""
    grown = config.sampling_rounds + 1
    return {"S": grown - 1, "R": (grown + config.rounds - 1) // 2}


def _sigma(rows: int, rounds: int) -> float:
    """Return the noise of a run, without the verification that a guarantee needs."""
    return math.sqrt(rounds) / solve_gaussian_mu(EPSILON, 1 / (rows * math.log(rows)))


ten_numbers = partial(simulate_table, numbers=10)


def case_c(size: int) -> Case:
    """Return case c: one of two equal classes votes."""
    return Case(f"c, N {size / 1000:g}k", 500_000, ten_numbers, size, voting=(0,))


CASES = {
    case.key: case
    for case in (
        Case("a", 35_000, ten_numbers, 2_000),
        Case("b", 115_402, person_activity, 5_000),
        case_c(2_000),
        case_c(50_000),
        Case("d", 33_334, adult, 2_000),
        Case("e", 60_000, digits, 300, Evolution(variations=20)),
        Case("n 1M", 1_000_000, ten_numbers, 2_000),
        Case("n 5M", 5_000_000, ten_numbers, 2_000),
        Case("u", 35_000, partial(draw_uniform_table, numbers=10), 2_000),
    )
}

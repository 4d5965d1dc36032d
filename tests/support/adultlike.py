"""A small table in the manner of Adult: mixed columns that depend on each other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Categorical, Integer, Schema

EDUCATION = ("none", "school", "college", "bachelor", "master")
WORK = ("private", "state", "self", "none")
FAMILY = ("single", "married", "divorced")
REGIONS = ("north", "east", "south", "west")


def adult_schema() -> Schema:
    return Schema(
        (
            Integer("age", 17, 90),
            Categorical("education", EDUCATION),
            Categorical("work", WORK),
            Categorical("family", FAMILY),
            Categorical("region", REGIONS),
            Integer("hours", 0, 99),
            Boolean("rich"),
        ),
        label="rich",
    )


def adult_like(rows: int = 8000, seed: int = 0) -> tuple[pa.Table, Schema]:
    """Return correlated rows and their schema."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(6.0, 7.0, rows), 17, 90).astype(int)
    education = np.clip(rng.normal(1.0 + age / 30, 1.0, rows).round(), 0, 4).astype(int)
    family = np.where(age < 28, rng.random(rows) < 0.2, rng.random(rows) < 0.75).astype(int)
    family = np.where((age > 45) & (rng.random(rows) < 0.4), 2, family)
    work = np.where(education >= 3, rng.choice(4, rows, p=[0.3, 0.5, 0.2, 0.0]), 0)
    work = np.where(age > 66, 3, work)
    hours = np.where(work == 3, 5, 40) + rng.normal(0, 5, rows) + 3 * (education - 2)
    region = (work + rng.choice(4, rows, p=[0.7, 0.1, 0.1, 0.1])) % 4
    score = 0.9 * (education - 2) + 1.2 * (family == 1) + 0.05 * (hours - 40) - 0.8
    rich = rng.random(rows) < 1 / (1 + np.exp(-2 * score))
    table = pa.table(
        {
            "age": age,
            "education": np.array(EDUCATION)[education],
            "work": np.array(WORK)[work],
            "family": np.array(FAMILY)[family],
            "region": np.array(REGIONS)[region],
            "hours": np.clip(hours, 0, 99).astype(int),
            "rich": rich,
        }
    )
    return table, adult_schema()


def two_way_error(real: pa.Table, synthetic: pa.Table, bins: int = 6) -> float:
    """Return the mean total variation of all pairs of columns, numbers in a few equal bins."""
    codes = [_codes(table, bins) for table in (real, synthetic)]
    names, errors = real.column_names, []
    for first, one in enumerate(names):
        for other in names[first + 1 :]:
            shares = [_pair(code[one], code[other]) for code in codes]
            errors.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(errors))


def _codes(table: pa.Table, bins: int) -> dict[str, np.ndarray]:
    found = {}
    for column in adult_schema().columns:
        values = table[column.name].to_pylist()
        if isinstance(column, Integer):
            width = (column.max - column.min + 1) / bins
            found[column.name] = ((np.array(values) - column.min) // width).astype(int)
        else:
            places = {value: place for place, value in enumerate(column.values)}
            found[column.name] = np.array([places[value] for value in values])
    return found


def _pair(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    counts = np.zeros((8, 8))
    np.add.at(counts, (one, other), 1.0)
    return counts / len(one)

"""The data of a run: what a method is given, and what its rows are measured by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe import _validate
from tabpe.bench.grid import Run
from tabpe.errors import ParameterError
from tabpe.schema import Schema

TRAIN_ROWS = "train_rows"


@dataclass(frozen=True, eq=False)
class Task:
    """A data set, split.

    Args:
        schema: What is public about it.
        train: The rows that are taken to be private.
        validation: Rows to choose by.
        test: Rows to measure by.
        shares: The share of each class in the training rows; None without a label.
        delta: The delta of the promise.
    """

    schema: Schema
    train: pa.Table
    validation: pa.Table
    test: pa.Table
    shares: Mapping[Any, float] | None
    delta: float


def task_of(run: Run) -> Task:
    """Load the data of a run.

    Raises:
        ParameterError: If an option is not known.
        DataError: If the data is not there.
    """
    options = dict(run.data_options)
    wanted = options.pop(TRAIN_ROWS, None)
    found = _load(run.data, split_seed=run.seed if run.split == "seed" else None, **options)
    train, shares = found.train, found.shares
    if wanted is not None:
        train = _fewer(train, _validate.whole(TRAIN_ROWS, wanted, least=2), run.seed)
        shares = shares_of(train, found.schema.label)
    return Task(
        schema=found.schema,
        train=train,
        validation=found.validation,
        test=found.test,
        shares=shares,
        delta=usual_delta(train.num_rows) if run.delta is None else run.delta,
    )


def usual_delta(rows: int) -> float:
    """Return the delta of the paper: 1 / (n ln n).

    Example:
        >>> f"{usual_delta(7152):.2e}"
        '1.58e-05'
    """
    return 1 / (rows * math.log(max(rows, 3)))


def shares_of(table: pa.Table, label: str | None) -> dict[Any, float] | None:
    """Return the share of each class; None without a label.

    Example:
        >>> shares_of(pa.table({"ill": [True, False, False, False]}), "ill")
        {True: 0.25, False: 0.75}
    """
    if label is None:
        return None
    counted = table[label].value_counts().to_pylist()
    return {entry["values"]: entry["counts"] / table.num_rows for entry in counted}


def _load(name: str, *, split_seed: int | None, **options: Any) -> Any:
    if name == "hospital":
        return _hospital(0 if split_seed is None else split_seed, **options)
    from tabpe.datasets import load  # type: ignore[attr-defined]

    return load(name, split_seed=split_seed, **options)


def _fewer(table: pa.Table, rows: int, seed: int) -> pa.Table:
    if rows > table.num_rows:
        raise ParameterError(f"{TRAIN_ROWS}={rows}: there are {table.num_rows:,} training rows.")
    chosen = np.random.default_rng(seed).choice(table.num_rows, rows, replace=False)
    return table.take(pa.array(np.sort(chosen)))


def _hospital(seed: int, rows: int = 5000) -> Any:
    from types import SimpleNamespace

    from tabpe.datasets import hospital_schema, hospital_table

    table, schema = hospital_table(rows, seed + 7), hospital_schema()
    a, b = int(rows * 0.7), int(rows * 0.85)
    return SimpleNamespace(
        schema=schema,
        train=table[:a],
        validation=table[a:b],
        test=table[b:],
        shares=shares_of(table[:a], schema.label),
    )

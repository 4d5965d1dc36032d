"""The data of a run: the rows for a method, and those for its metrics."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe._utils import validation
from tabpe.errors import ParameterError, did_you_mean
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.schema import Schema
from tabpe_lab.datasets import Dataset, load, names
from tabpe_lab.datasets.catalog import is_file_name
from tabpe_lab.datasets.dataset import split
from tabpe_lab.grid import ExperimentRun

TRAIN_ROWS, HOSPITAL = "train_rows", "hospital"


@dataclass(frozen=True, eq=False)
class Task:
    """A data set, split.

    Args:
        schema: The public schema.
        train: The rows that count as private.
        validation: Rows to choose learners and settings by.
        test: Rows to test on.
        shares: The share of each class in the training rows.
        delta: The delta of the guarantee.
    """

    schema: Schema
    train: pa.Table
    validation: pa.Table
    test: pa.Table
    shares: Mapping[Any, float]
    delta: float


def load_task(run: ExperimentRun) -> Task:
    """Load the data of a run.

    Raises:
        ParameterError: If an option is unknown.
        DataError: If the data is missing.
    """
    options = dict(run.data_options)
    wanted = options.pop(TRAIN_ROWS, None)
    dataset = _load_dataset(
        run.data, split_seed=run.seed if run.split == "seed" else None, **options
    )
    if wanted is not None:
        validation.check_integer(TRAIN_ROWS, wanted, least=2)
        dataset = dataclasses.replace(
            dataset, train=_subsample_rows(dataset.train, wanted, run.seed)
        )
    return Task(
        schema=dataset.schema,
        train=dataset.train,
        validation=dataset.validation,
        test=dataset.test,
        shares=dataset.shares,
        delta=compute_default_delta(dataset.train.num_rows) if run.delta is None else run.delta,
    )


def compute_default_delta(rows: int) -> float:
    """Return the delta of the paper: 1 / (n ln n).

    Example:
        >>> f"{compute_default_delta(7152):.2e}"
        '1.58e-05'
    """
    return 1 / (rows * math.log(max(rows, 3)))


def check_data(name: str) -> None:
    """Refuse an unknown data set.

    Raises:
        ParameterError: If there is neither a data set nor a file of that name.
    """
    known = (HOSPITAL, *names())
    if name not in known and not (is_file_name(name) and Path(name).is_file()):
        raise ParameterError(f"data: {name!r}: {did_you_mean(name, known)}")


def _load_dataset(name: str, *, split_seed: int | None, **options: Any) -> Dataset:
    if name == HOSPITAL:
        return _load_hospital(split_seed or 0, **options)
    return load(name, split_seed=split_seed, **options)


def _subsample_rows(table: pa.Table, rows: int, seed: int) -> pa.Table:
    if rows > table.num_rows:
        raise ParameterError(f"{TRAIN_ROWS}={rows}: there are {table.num_rows:,} training rows.")
    chosen = np.random.default_rng(seed).choice(table.num_rows, rows, replace=False)
    return table.take(pa.array(np.sort(chosen)))


def _load_hospital(seed: int, rows: int = 5000) -> Dataset:
    """Return the split table of the demo: an experiment on it needs no files."""
    schema = hospital_schema()
    parts = split(hospital_table(rows), str(schema.label), seed)
    return Dataset(
        name=HOSPITAL,
        title="Hospital (made up)",
        schema=schema,
        train=parts.train,
        validation=parts.validation,
        test=parts.test,
        order="simulated",
        source="tabpe.io.example",
        licence="none needed: drawn by tabpe",
        split=f"70/15/15, stratified, seed {seed}",
    )

"""A made-up table of many classes: 20, each in three regions with narrow borders.

Eight features stand in a random graph of causes, as in `tabpe.datasets.scm`. Sixty points lie among
the rows, three for each class, and a row is of the class of the nearest point; four of the features
tell the distance. Nothing is like it among the data sets of the paper: it is there to choose by,
where those that may be chosen by have two classes.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.datasets.scm import BLOCK, FEATURES, LABEL, Matrix, drawn_graph, features_of, scm_schema
from tabpe.schema import Categorical, Schema

CLASSES = 20
ROWS = 150_000
_SEED = 0
_REGIONS_OF_CLASS = 3
_TELLING = 4


def regions_schema() -> Schema:
    """Return what is public about the table.

    Example:
        >>> len(regions_schema().class_names)
        20
    """
    features = (column for column in scm_schema().columns if column.name != LABEL)
    return Schema((*features, Categorical(LABEL, tuple(range(CLASSES)))), label=LABEL)


def regions_table(rows: int = ROWS) -> pa.Table:
    """Return rows of the table.

    Args:
        rows: How many. The first rows do not depend on it.

    Example:
        >>> regions_table(100).slice(0, 50).equals(regions_table(50))
        True
    """
    plan, gauge, rng = map(np.random.default_rng, np.random.SeedSequence(_SEED).spawn(3))
    graph = drawn_graph(plan, gauge)
    points = features_of(graph, plan.standard_normal((_REGIONS_OF_CLASS * CLASSES, FEATURES)))
    blocks = [
        features_of(graph, rng.standard_normal((BLOCK, FEATURES)))
        for _ in range(math.ceil(rows / BLOCK))
    ]
    features = np.concatenate(blocks)[:rows]
    columns = dict(zip(regions_schema().names, features.T, strict=False))
    return pa.table({**columns, LABEL: _nearest(features, points) % CLASSES})


def _nearest(features: Matrix, points: Matrix) -> NDArray[np.int64]:
    distances = np.zeros((len(features), len(points)))
    for place in range(_TELLING):
        distances += np.subtract.outer(features[:, place], points[:, place]) ** 2
    nearest: NDArray[np.int64] = np.argmin(distances, axis=1)
    return nearest

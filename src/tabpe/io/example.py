"""A simulated hospital table: the example that the demo synthesises.

No person is in it: every row is drawn by the code below. Ages, lengths of stay and laboratory
values have the shapes that such tables have. Whether somebody comes back within 30 days depends on
a pattern of third order: on a new drug, going home with support is what helps patients with poor
kidneys and what harms those with good ones; without the drug it is the other way round. Each of
the three alone is uninformative, and so is every pair of them: methods that measure 2-way
marginals can not see the pattern.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

WARDS = ("cardiology", "general", "orthopaedics", "surgery")
_WARD_SHARES = (0.22, 0.38, 0.15, 0.25)
_FEMALE, _EVEN = 0.52, 0.5
_KIDNEY_LIMIT = 60.0
_RISK = 0.08, 0.85


def hospital_schema() -> Schema:
    """Return what is public about the table."""
    return Schema(
        (
            Integer("age", 18, 100),
            Categorical("sex", ("female", "male")),
            Categorical("ward", WARDS),
            Integer("length_of_stay", 0, 60),
            Float("kidney_function", 5.0, 120.0, decimals=1),
            Float("haemoglobin", 5.0, 20.0, decimals=1),
            Boolean("new_drug"),
            Boolean("home_support"),
            Categorical("readmitted", ("no", "yes")),
        ),
        label="readmitted",
    )


def hospital_table(rows: int = 5000, seed: int = 7) -> pa.Table:
    """Return simulated patients.

    Example:
        >>> hospital_table(3).column_names[:3]
        ['age', 'sex', 'ward']
    """
    rng = np.random.default_rng(seed)
    age = np.clip(np.rint(rng.normal(64, 16, rows)), 18, 100).astype(np.int64)
    female = rng.random(rows) < _FEMALE
    kidney = np.where(rng.random(rows) < _EVEN, rng.normal(36, 9, rows), rng.normal(87, 11, rows))
    haemoglobin = rng.normal(np.where(female, 12.6, 13.9), 1.5)
    drug, support = rng.random(rows) < _EVEN, rng.random(rows) < _EVEN
    kidney = _clip_and_round(kidney, 5.0, 120.0)
    return pa.table(
        {
            "age": age,
            "sex": np.where(female, "female", "male"),
            "ward": rng.choice(WARDS, rows, p=_WARD_SHARES),
            "length_of_stay": np.clip(np.rint(rng.gamma(1.6, 3.6, rows)), 0, 60).astype(np.int64),
            "kidney_function": kidney,
            "haemoglobin": _clip_and_round(haemoglobin, 5.0, 20.0),
            "new_drug": drug,
            "home_support": support,
            "readmitted": np.where(_draw_readmissions(kidney, drug, support, rng), "yes", "no"),
        }
    )


def compute_pattern_share(table: pa.Table) -> float:
    """Return the share of patients whose readmission the third-order pattern predicts.

    Example:
        >>> round(compute_pattern_share(hospital_table()), 1)
        0.9
    """
    kidney = table["kidney_function"].cast(pa.float64()).to_numpy()
    drug, support = (_read_booleans(table[name]) for name in ("new_drug", "home_support"))
    back = np.array(table["readmitted"].to_pylist()) == "yes"
    return float((_find_at_risk(kidney, drug, support) == back).mean())


def _read_booleans(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    values: NDArray[np.bool_] = column.cast(pa.bool_()).to_numpy(zero_copy_only=False)
    return values


def _find_at_risk(
    kidney: NDArray[np.float64], drug: NDArray[np.bool_], support: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    risk: NDArray[np.bool_] = (kidney < _KIDNEY_LIMIT) ^ drug ^ support
    return risk


def _draw_readmissions(
    kidney: NDArray[np.float64],
    drug: NDArray[np.bool_],
    support: NDArray[np.bool_],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    risk = np.where(_find_at_risk(kidney, drug, support), _RISK[1], _RISK[0])
    back: NDArray[np.bool_] = rng.random(len(risk)) < risk
    return back


def _clip_and_round(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    rounded: NDArray[np.float64] = np.clip(values, low, high).round(1)
    return rounded

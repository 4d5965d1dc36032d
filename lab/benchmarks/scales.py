"""Errors of a skewed number on each scale of a column: `python -m benchmarks.scales`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy.stats import wasserstein_distance

from benchmarks.common import make_parser, write_record
from tabpe import Integer, Schema, TabPE

ROWS, SEEDS, MOST, PAID_NOTHING = 10_000, 3, 10**6, 0.3
SCALES = {
    "linear": {},
    "log": {"scale": "log"},
    "quantile": {"scale": "quantile", "quantiles": (0, 150, 500, 1100, 2500, 6000, MOST)},
}


def skewed() -> pa.Table:
    """Return rows with pay that is lognormal, or 0 in three of ten."""
    rng = np.random.default_rng(0)
    pay = np.round(np.exp(rng.normal(7, 1.5, ROWS))).clip(0, MOST).astype(np.int64)
    pay[rng.random(ROWS) < PAID_NOTHING] = 0
    return pa.table({"pay": pay, "age": rng.integers(18, 90, ROWS)})


def distance(table: pa.Table, preset: str, scale: str, seed: int) -> float:
    """Return the Wasserstein distance between the logarithms of real and synthetic pay."""
    schema = Schema((Integer("pay", 0, MOST, **SCALES[scale]), Integer("age", 0, 120)))
    model = TabPE(
        epsilon=1.0, delta=1e-6, preset=preset, n_samples=2000, random_state=seed, verbose=0
    )
    made = model.fit(table, schema).sample()
    return float(wasserstein_distance(*(np.log1p(t["pay"].to_numpy()) for t in (table, made))))


def main() -> None:
    """Write the mean over some seeds, for each preset and scale."""
    out, table = make_parser(__doc__, "scales").parse_args().out, skewed()
    found = {
        preset: {
            scale: float(np.mean([distance(table, preset, scale, seed) for seed in range(SEEDS)]))
            for scale in SCALES
        }
        for preset in ("paper", "best")
    }
    write_record(out, "scales", found)
    print(out.read_text())


if __name__ == "__main__":
    main()

"""How certain labels are, by the sharpness of the posterior: the pattern of the demo's hospital.

    python -m benchmarks.sharpness [--out benchmarks/results/sharpness.json]

Three columns of the simulated table determine the label of most rows; the others are random. Shown
is the share of rows that follow the pattern, real and synthetic, at epsilon 1.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import make_parser, write_record
from tabpe import Posterior, TabPE
from tabpe.io.example import compute_pattern_share, hospital_schema, hospital_table

ROWS, EPSILON, SEEDS = 20_000, 1.0, 3
POWERS = (0.0, 0.25, 0.5, 1.0)


def shares(power: float) -> list[float]:
    """Return the share of synthetic rows that follow the pattern, for each seed."""
    found = []
    for seed in range(SEEDS):
        model = TabPE(
            epsilon=EPSILON,
            preset=Posterior(sharpness=power),
            random_state=seed,
            verbose=0,
        )
        synthetic = model.fit(hospital_table(ROWS), hospital_schema()).sample()
        found.append(round(compute_pattern_share(synthetic), 4))
    return found


def main() -> None:
    arguments = make_parser(__doc__, "sharpness").parse_args()
    real = compute_pattern_share(hospital_table(ROWS))
    print(f"real           {real:.1%}")
    synthetic = {}
    for power in POWERS:
        synthetic[f"{power:g}"] = each = shares(power)
        print(f"sharpness {power:<4g} {np.mean(each):.1%}", flush=True)
    about = {"rows": ROWS, "epsilon": EPSILON, "real": round(real, 4), "synthetic": synthetic}
    write_record(arguments.out, "sharpness", about)


if __name__ == "__main__":
    main()

"""Draw candidates round by round, for the page that explains the algorithm.

    python docs/draw_rounds.py

A run of the paper's algorithm on a simulated table of two columns. The noise takes no seed, so the
picture differs a little each time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from tabpe import Float, Schema, TabPE
from tabpe.evolution.extensions import RoundPopulation

OUT = Path(__file__).parent / "pictures" / "how-rounds.svg"
SIDE, GAP, TOP = 190, 24, 34
SHOWN = (0, 2, 5, 14)
ROWS, CANDIDATES = 4000, 200
GREY, BLUE, INK, PAPER = "#c9ced8", "#2456a6", "#22293a", "#f7f8fa"


def draw_private_rows(rng: np.random.Generator) -> np.ndarray:
    """Return points of a ring and of a cluster within it."""
    angle = rng.uniform(0, 2 * np.pi, ROWS * 3 // 4)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 0.34
    cluster = rng.normal(0, 0.04, (ROWS // 4, 2))
    points = np.concatenate([ring + rng.normal(0, 0.025, ring.shape), cluster]) + 0.5
    return np.clip(points, 0, 1)


def run_rounds(rows: np.ndarray) -> list[np.ndarray]:
    """Return the candidates that each round selected."""
    seen: list[np.ndarray] = []

    def keep_round(population: RoundPopulation) -> None:
        table = population.to_table()
        seen.append(np.stack([table["x"].to_numpy(), table["y"].to_numpy()], axis=1))

    schema = Schema((Float("x", 0, 1, decimals=4), Float("y", 0, 1, decimals=4)))
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    model = TabPE(
        epsilon=1.0,
        delta=1e-6,
        preset="paper",
        n_samples=CANDIDATES,
        public_rows=len(rows),
        on_round=keep_round,
        random_state=0,
        verbose=0,
    )
    model.fit(table, schema)
    return seen


def draw_panel(left: int, title: str, rows: np.ndarray, points: np.ndarray) -> str:
    """Return one panel as SVG."""

    def dots(places: np.ndarray, radius: float, colour: str) -> str:
        return "".join(
            f'<circle cx="{left + x * SIDE:.1f}" cy="{TOP + (1 - y) * SIDE:.1f}" r="{radius}" '
            f'fill="{colour}"/>'
            for x, y in places
        )

    box = f'x="{left}" y="{TOP}" width="{SIDE}" height="{SIDE}"'
    label = f'x="{left + SIDE / 2}" y="{TOP - 12}" text-anchor="middle" font-size="14"'
    return (
        f'<rect {box} fill="#ffffff" stroke="{GREY}"/>'
        f'<text {label} fill="{INK}">{title}</text>'
        f"{dots(rows, 1.4, GREY)}{dots(points, 1.8, BLUE)}\n"
    )


def main() -> None:
    """Write the picture."""
    rng = np.random.default_rng(0)
    rows = draw_private_rows(rng)
    rounds = run_rounds(rows)
    width = len(SHOWN) * (SIDE + GAP) + GAP
    height = TOP + SIDE + GAP
    panels = "".join(
        draw_panel(
            GAP + place * (SIDE + GAP), f"after round {number + 1}", rows[:300], rounds[number]
        )
        for place, number in enumerate(SHOWN)
    )
    OUT.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif"><title>Candidates in four rounds</title>\n'
        f'<rect width="{width}" height="{height}" rx="12" fill="{PAPER}"/>\n{panels}</svg>\n',
        encoding="utf-8",
    )
    print(f"wrote {OUT}")


if __name__ == "__main__":
    main()

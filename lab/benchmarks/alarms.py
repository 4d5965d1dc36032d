"""False alarms of the report: `python -m benchmarks.alarms [--tables hospital adult]`.

Counts, over seeds, the reports of honest tables that have a card with a cause for alarm. Honest are
other real rows of the same source, and syntheses by the default preset at epsilon 1 and 3 with
noise from the operating system. The tables are the hospital example with and without its label,
and Adult. Bad tables are in `tests/unit/evaluation/report/test_bad_tables.py`. Most of what no
cause rests on is left out of the reports: the map, trees by depth, and many sets of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

import tabpe
from benchmarks.common import make_parser, publish, read_public_table, write_record
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.schema import Schema

SEEDS, MOST_ALARMS = 20, 1
FEW_SUBSETS = 3
HOSPITAL_ROWS, ADULT_ROWS = 4000, 16_000
EPSILONS = (1.0, 3.0)
TABLES = ("hospital", "hospital without a label", "adult")


def draw_hospital(seed: int) -> list[pd.DataFrame]:
    """Return two samples of the hospital example that share no row."""
    return [
        hospital_table(HOSPITAL_ROWS, seed=which).to_pandas() for which in (seed, 1_000_000 + seed)
    ]


def draw_adult(seed: int) -> list[pd.DataFrame]:
    """Return two disjoint samples of Adult."""
    table = read_public_table("adult_tabpe_train")
    rows = np.random.default_rng(seed).permutation(len(table))
    return [
        table.iloc[rows[start : start + ADULT_ROWS]].reset_index(drop=True)
        for start in (0, ADULT_ROWS)
    ]


def list_cases(seed: int) -> Iterator[tuple[str, list[pd.DataFrame], Schema]]:
    """Yield the name of each table, its real rows and other real rows, and its schema."""
    with_label, without, adult = TABLES
    hospital = hospital_schema()
    yield with_label, draw_hospital(seed), hospital
    yield without, draw_hospital(seed), Schema(hospital.columns)
    schema = publish(tabpe.draft_schema(read_public_table("adult_tabpe_train"), label="income"))
    yield adult, draw_adult(seed), schema


def make_honest_tables(
    real: pd.DataFrame, other: pd.DataFrame, schema: Schema, seed: int
) -> Iterator[tuple[str, Any]]:
    """Yield the name of each honest table, and its rows."""
    yield "other real rows", other
    for epsilon in EPSILONS:
        model = tabpe.TabPE(epsilon=epsilon, delta=1e-6, random_state=seed, verbose=0)
        yield f"epsilon {epsilon:g}", model.fit(real, schema).sample()


def leave_out_what_no_cause_rests_on() -> None:
    """Save most of the time of a report, in this process."""
    module = import_module("tabpe.evaluation.report.evaluate")
    module.SUBSETS = FEW_SUBSETS
    for name in ("measure_correlation_order", "project_rows"):
        setattr(module, name, lambda *_, **__: None)


def find_alarms(
    seed: int, tables: list[str]
) -> Iterator[tuple[str, str, list[str], dict[str, list[str]]]]:
    """Yield table, what it is compared with, the causes for alarm, and the figures of the cards."""
    for table, (real, other), schema in list_cases(seed):
        if table not in tables:
            continue
        for name, made in make_honest_tables(real, other, schema, seed):
            report = tabpe.evaluate(real, made, schema=schema, random_state=seed, verbose=0)
            causes = sorted({cause for card in report.cards for cause in card.causes})
            cards = {card.title: [card.figure, card.grade] for card in report.cards[1:]}
            yield table, name, causes, cards


def main() -> None:
    """Count the false alarms; write them after each report, so that a run can be ended."""
    parser = make_parser(__doc__, "alarms", seeds=SEEDS)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    arguments = parser.parse_args()
    leave_out_what_no_cause_rests_on()
    counts: dict[str, dict[str, dict[str, int]]] = {}
    alarms = []
    for seed in range(arguments.seeds):
        for table, name, causes, cards in find_alarms(seed, arguments.tables):
            count = counts.setdefault(table, {}).setdefault(name, {"reports": 0, "alarms": 0})
            count["reports"] += 1
            if causes:
                count["alarms"] += 1
                alarms.append(
                    {"table": table, "rows": name, "seed": seed, "causes": causes, "cards": cards}
                )
            found = {"most_alarms": MOST_ALARMS, "counts": counts, "alarms": alarms}
            write_record(arguments.out, "alarms", found)
            print(f"{seed:>2} {table:<26} {name:<16} {causes or '-'} {cards}", flush=True)
    for table, names in counts.items():
        for name, count in names.items():
            print(f"{table:<26} {name:<16} {count['alarms']} of {count['reports']}")


if __name__ == "__main__":
    main()

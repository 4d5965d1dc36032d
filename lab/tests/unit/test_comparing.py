"""Tables of methods against one of them."""

from dataclasses import replace

import pytest
from made_runs import run

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import TableEntry, parse_tables
from tabpe_lab.tables import build_table, markdown

EACH = TableEntry("gain", "Gain", ("accuracy", "1-wd"), rows=("case", "method"), against="Paper")
OVER = TableEntry("over", "Over", ("accuracy", "1-wd"), rows=("method",), against="Paper")
GAINS = {"adult": (0.10, 0.11, 0.12), "bank": (-0.05, 0.0, 0.05)}


def made():
    found = []
    for data, gains in GAINS.items():
        for seed, gain in enumerate(gains):
            base = 0.5 + 0.1 * seed
            found += [
                scored(data, "Paper", seed, base, 0.2),
                scored(data, "Best", seed, base + gain, 0.1),
            ]
    return found


def scored(data, called, seed, accuracy, distance, **more):
    metrics = {"accuracy": accuracy, "1-wd": distance}
    return run(data, "tabpe", seed, called=called, metrics=metrics, **more)


def texts(table):
    return {row[0]: list(row[1:]) for row in table.texts.itertuples(name=None)}


def test_differences_stand_beside_means():
    table = build_table(EACH, made())
    assert list(table.texts) == [
        "Accuracy ↑",
        "against Paper",
        "1-WD ↓",
        "against Paper",
    ]
    found = texts(table)
    assert found["Adult", "Paper"][1::2] == ["-", "-"]
    assert found["Adult", "Best"] == [
        "71.00 ± 11.00",
        "+11.00 (+8.52 to +13.48)",
        "0.100 ± 0.000",
        "x 0.50 (0.50 to 0.50)",
    ]
    assert found["Bank", "Best"][1] == "+0.00 (-12.42 to +12.42)"
    assert table.notes[-1].startswith("Against Paper: seed by seed, in points or as a factor")
    assert "+8.52 to +13.48" in markdown(table)


def test_the_budget_is_named_where_it_is_one():
    other = [
        scored(data, "Paper", seed, 0.5, 0.2, epsilon=3.0) for data in GAINS for seed in (0, 1)
    ]
    by_budget = replace(OVER, rows=("epsilon", "method"))
    first = [build_table(by_budget, runs).notes[0] for runs in (made(), [*made(), *other])]
    assert first[0] == "Means over data sets, of 3 seeds each, at epsilon 1."
    assert first[1].startswith("Means over data sets, of 3 seeds each. Fewer seeds:")


def test_rows_without_data_are_means_over_data_sets_each_of_which_counts_once():
    more = [scored("bank", called, 3, 0.9, 0.1) for called in ("Paper", "Best")]
    found = texts(build_table(OVER, [*made(), *more]))
    assert found["Best",][1].startswith("+5.50 (")
    assert found["Best",][2] == "1 / 0 / 2"
    assert found["Best",][5] == "1 / 0 / 2"
    assert found["Paper",][1:3] == ["-", "-"]


def test_a_smaller_distance_is_better():
    runs = [
        scored("adult", n, s, 0.5, d) for s in (0, 1) for n, d in (("Paper", 0.2), ("Best", 0.1))
    ]
    assert texts(build_table(OVER, runs))["Best",][5] == "1 / 0 / 1"


def test_data_that_one_method_lacks_does_not_count():
    runs = [*made(), scored("monk", "Best", 0, 0.9, 0.1)]
    assert texts(build_table(OVER, runs))["Best",][2] == "1 / 0 / 2"
    assert texts(build_table(EACH, runs))["Monk", "Best"][1] == "-"


def test_options_of_data_are_part_of_a_case():
    runs = [
        run(
            "xor", "tabpe", seed, called=name, data_options={"features": f}, metrics={"accuracy": a}
        )
        for f in (3, 4)
        for seed in (0, 1)
        for name, a in (("Paper", 0.5), ("Best", 0.6))
    ]
    assert (
        texts(build_table(EACH, runs))["XOR, 4 features", "Best"][1] == "+10.00 (+10.00 to +10.00)"
    )


def test_runs_that_were_not_made_are_said_to_be():
    runs = [run("adult", "tabpe", called=name, status="not run") for name in ("Paper", "Best")]
    for entry in (EACH, OVER):
        table = build_table(entry, runs)
        assert table.texts.iloc[0, 0] == "not run"
        assert table.notes[0] == "No run is done yet."


def test_a_method_that_there_is_not_is_named():
    entry = TableEntry("gain", "G", ("accuracy",), against="Papper")
    with pytest.raises(ParameterError, match=r"against='Papper'.*'Paper'"):
        build_table(entry, made())


def test_methods_must_be_told_apart_last():
    plain = {"name": "a", "title": "A", "metrics": ["accuracy"], "against": "Paper"}
    with pytest.raises(ParameterError, match=r"tables\[0\]: rows.*method"):
        parse_tables([plain | {"rows": ["method", "epsilon"]}], where="a.yaml")

"""The claims of the paper beside our records: figures follow from runs, verdicts have reasons."""

from typing import get_args

import pytest
from made_runs import run

from tabpe_lab.claims import (
    CLAIMS,
    RecordedFigures,
    Verdict,
    summarize_default_run,
    write_claims_page,
)


def scored(method, value, seed=0, **more):
    fields = {"experiment": "low-order", **more}
    return run("adult", method, seed, metrics={"accuracy": value, "1-wd": 1 - value}, **fields)


def describe(runs, metric="accuracy"):
    return RecordedFigures(runs).describe_best_other("low-order", "adult", metric)


def test_a_figure_has_its_deviation_and_its_seeds():
    runs = [scored("aim", value, seed) for seed, value in enumerate((0.5, 0.6, 0.7))]
    found = RecordedFigures(runs).describe_method("low-order", "adult", "aim", "accuracy")
    assert found == "AIM 60.00 ± 10.00 (3 seeds)"
    one = RecordedFigures(runs[:1]).describe_method("low-order", "adult", "aim", "accuracy")
    assert one == "AIM 50.00 (1 seed)"


def test_the_best_baseline_is_neither_ours_nor_real_rows_nor_a_variant():
    runs = [
        scored("aim", 0.6),
        scored("mst", 0.7),
        scored("tabpe", 0.9),
        scored("real", 0.95),
        run("adult", "aim", called="AIM, rare merged", metrics={"accuracy": 0.8}),
        scored("gem", 0.99, status="failed"),
        scored("privsyn", 0.99, experiment="high-order"),
    ]
    assert describe(runs) == "MST 70.00 (1 seed)"
    assert describe(runs, "1-wd") == "MST 0.300 (1 seed)"
    assert describe([]) == "no baseline run"


def test_times_are_ratios_of_the_same_experiment():
    def timed(method, seconds, **settings):
        return run(
            "scm-nn", method, experiment="runtime-degree", seconds=seconds, settings=settings
        )

    runs = [
        timed("tabpe", 2.0, n_samples=2000),
        timed("aim", 30.0, degree=2, inference="mbi"),
        timed("aim", 5.0, degree=2, inference="numpy"),
        timed("aim", 99.0, degree=3, inference="mbi"),
    ]
    found = RecordedFigures(runs).describe_seconds("scm-nn", "aim", "privmrf")
    assert found == "AIM with mbi 15.0x, AIM with numpy 2.5x"
    assert RecordedFigures([]).describe_seconds("scm-nn", "aim") == "not run"


def test_the_settings_of_the_paper_are_found_in_every_experiment():
    def made(seed, **settings):
        more = {"experiment": "gamma", "settings": {"n_samples": 1000, **settings}}
        return run("artificial-characters", "tabpe", seed, metrics={"accuracy": 0.5}, **more)

    same = [made(0), made(1, gamma=0.2), made(2, selection="two-stage"), made(3, oversample=1)]
    others = [
        made(4, gamma=0.5),
        made(5, oversample=2),
        made(6, shares="measured"),
        made(7, preset="reference"),
        made(8, n_samples=500),
    ]
    assert summarize_default_run([*same, *others]).seeds == 4
    assert summarize_default_run(others).seeds == 0


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.claim for claim in CLAIMS])
def test_a_claim_that_is_not_reproduced_has_a_remark(claim):
    assert claim.verdict in get_args(Verdict)
    assert claim.remark or claim.verdict == "reproduced"
    assert claim.printed
    assert all(claim.measure(RecordedFigures([])))


def test_without_records_the_page_says_so():
    page = write_claims_page([])
    assert page.count("not run") >= len(CLAIMS) // 2
    assert "0 of 432 runs" in page

"""Every mean for others to cite, and methods ranked over data sets."""

import json

import pytest
from made_runs import run

from tabpe_lab.leaderboard import (
    build_leaderboard,
    collect_results,
    compare_ranks,
    draw_ranks,
    write_leaderboard_page,
    write_results,
)


def scored(data, method, accuracy, experiment="high-order", **more):
    return run(data, method, metrics={"accuracy": accuracy}, experiment=experiment, **more)


def compared(places):
    """Runs of methods on data sets `d0`, `d1`, .., from the accuracy of each."""
    return [
        scored(f"d{place}", method, accuracy)
        for method, accuracies in places.items()
        for place, accuracy in enumerate(accuracies)
        if accuracy is not None
    ]


def test_a_result_has_all_that_a_reader_needs_to_cite_it():
    runs = [scored("adult", "aim", value, seed=seed) for seed, value in enumerate((0.5, 0.7))]
    (plain,) = json.loads(write_results(collect_results(runs)))
    assert plain == {
        "experiment": "high-order full",
        "method": "AIM",
        "settings": "",
        "data": "Adult",
        "epsilon": 1.0,
        "metric": "accuracy",
        "mean": 0.6,
        "std": pytest.approx(0.141421),
        "seeds": 2,
    }


def test_of_several_settings_the_validated_one_is_cited():
    def made(degree, validation, accuracy):
        metrics = {"validation_accuracy": validation, "accuracy": accuracy}
        return run("adult", "aim", settings={"degree": degree}, metrics=metrics)

    (found,) = collect_results([made(2, 0.9, 0.5), made(3, 0.8, 0.6)])
    assert (found.settings, found.mean) == ("degree 2", 0.5)


def test_runs_that_did_not_end_well_are_not_cited():
    assert collect_results([scored("adult", "aim", 0.5, status="failed")]) == []
    assert json.loads(write_results([])) == []


def test_methods_are_ranked_and_equals_share_a_place():
    board = build_leaderboard(
        compared({"aim": [0.9, 0.8, 0.5], "mst": [0.7, 0.8, 0.4], "gem": [0.1, 0.2, 0.3]})
    )
    assert dict(board.ranks) == {"AIM": pytest.approx(7 / 6, abs=1e-3), "MST": 1.833, "GEM": 3.0}
    assert list(board.ranks) == ["AIM", "MST", "GEM"]


def test_one_that_did_not_fit_is_last_and_one_that_was_not_run_is_not_ranked():
    runs = compared({"aim": [0.9, 0.8], "mst": [0.7, 0.8], "gem": [0.95, None]})
    failed = scored("d1", "gem", 0.0, status="did not fit")
    assert "GEM" not in build_leaderboard(runs).ranks
    board = build_leaderboard([*runs, failed])
    assert board.ranks["GEM"] == pytest.approx((1 + 3) / 2)
    page = write_leaderboard_page(board, "ranks.svg")
    assert "did not fit" in page
    assert "not run" not in page
    page = write_leaderboard_page(build_leaderboard(runs), "ranks.svg")
    assert "- GEM: no run on D1" in page


def test_real_rows_other_budgets_and_other_experiments_do_not_count():
    runs = compared({"aim": [0.9], "mst": [0.7]})
    more = [
        scored("d0", "real", 1.0),
        scored("d0", "privsyn", 1.0, epsilon=3.0),
        scored("d0", "gem", 1.0, experiment="search"),
        scored("xor", "rap++", 1.0, experiment="xor", data_options={"features": 2}),
    ]
    assert set(build_leaderboard([*runs, *more]).ranks) == {"AIM", "MST"}


def test_the_critical_difference_is_that_of_the_tables():
    """Published values of q at 5%: 1.960 for 2 methods, 2.343 for 3, 2.728 for 5, 3.164 for 10."""
    for count, reach in ((2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)):
        critical, _ = compare_ranks([1.0] * count, cases=7)
        assert critical == pytest.approx(reach * (count * (count + 1) / 42) ** 0.5, rel=2e-3)


def test_equal_methods_are_not_told_apart_and_unequal_ones_are():
    same = build_leaderboard(compared({"aim": [0.9, 0.1] * 3, "mst": [0.1, 0.9] * 3}))
    assert same.list_equals() == [("AIM", "MST")]
    assert same.chance > 0.9
    apart = build_leaderboard(compared({"aim": [0.9] * 12, "mst": [0.1] * 12}))
    assert apart.list_equals() == []
    assert apart.chance < 0.001


def test_the_picture_names_every_ranked_method():
    pytest.importorskip("matplotlib")
    board = build_leaderboard(compared({"aim": [0.9, 0.1], "mst": [0.1, 0.9], "gem": [0.5, 0.5]}))
    texts = [text.get_text() for text in draw_ranks(board).axes[0].texts]
    assert [text.split()[0] for text in texts] == list(board.ranks)

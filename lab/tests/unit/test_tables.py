"""From runs to tables: ranks, notes, and what is missing."""

import pytest
from made_runs import plausible, run

from tabpe_lab.exhibits import TableEntry
from tabpe_lab.tables import build_table, rank_cells

ENTRY = TableEntry("utility", "Utility", ("accuracy", "5-wd"))


def cells(table):
    texts, marks = (frame.itertuples(name=None) for frame in (table.texts, table.marks))
    pairs = zip(texts, marks, strict=True)
    return {one[0]: list(zip(one[1:], two[1:], strict=True)) for one, two in pairs}


def scored(method, accuracy, distance=0.1, seed=0, **more):
    return run("adult", method, seed, metrics={"accuracy": accuracy, "5-wd": distance}, **more)


def test_the_best_and_the_second_are_marked_and_ties_share_a_mark():
    runs = [scored("aim", 0.5), scored("mst", 0.5), scored("gem", 0.4), scored("tabpe", 0.3)]
    found = cells(build_table(ENTRY, runs))
    marks = [row[0][1] for row in found.values()]
    assert marks == ["best", "best", "second", "plain"]


def test_what_looks_the_same_ranks_the_same():
    runs = [scored("aim", 0.50001), scored("mst", 0.50002), scored("gem", 0.4)]
    assert [row[0][1] for row in cells(build_table(ENTRY, runs)).values()] == [
        "best",
        "best",
        "second",
    ]


def test_smaller_distances_are_better():
    runs = [scored("aim", 0.5, 0.2), scored("mst", 0.5, 0.1)]
    assert [row[1][1] for row in cells(build_table(ENTRY, runs)).values()] == ["second", "best"]


def test_real_rows_are_a_bound_and_not_ranked():
    runs = [scored("real", 0.9), scored("aim", 0.5), scored("mst", 0.4)]
    found = cells(build_table(ENTRY, runs))
    assert found["Adult", "Real rows"][0] == ("90.00", "bound")
    assert found["Adult", "AIM"][0][1] == "best"


def test_a_method_alone_is_not_called_the_best():
    found = cells(build_table(ENTRY, [scored("real", 0.9), scored("aim", 0.5)]))
    assert found["Adult", "AIM"][0][1] == "plain"


def test_methods_are_ranked_on_each_data_set_by_itself():
    runs = [
        run(data, "aim", metrics={"accuracy": a}) for data, a in (("adult", 0.9), ("bank", 0.1))
    ]
    runs += [run(data, "mst", metrics={"accuracy": 0.5}) for data in ("adult", "bank")]
    found = cells(build_table(ENTRY, runs))
    assert found["Adult", "AIM"][0][1] == found["Bank", "MST"][0][1] == "best"


def test_means_have_their_deviation_unless_there_is_one_seed():
    runs = [scored("aim", 0.5, seed=0), scored("aim", 0.6, seed=1), scored("mst", 0.4)]
    table = build_table(ENTRY, runs)
    assert cells(table)["Adult", "AIM"][0][0] == "55.00 ± 7.07"
    assert cells(table)["Adult", "MST"][0][0] == "40.00"
    assert table.notes[0].startswith("Means of 2 seeds")
    assert "Fewer seeds: Adult, MST: 1." in table.notes[0]


def test_one_seed_is_said_to_be_one():
    assert build_table(ENTRY, [scored("aim", 0.5)]).notes[0] == "Of one seed at epsilon 1."


def test_what_did_not_fit_is_said_once_in_a_row_with_its_limit_and_reason():
    reason = "memory: took more than 8 GB"
    gone = run("adult", "gem", status="did not fit", reason=reason, metrics={})
    table = build_table(ENTRY, [scored("aim", 0.5), gone])
    assert [cell[0] for cell in cells(table)["Adult", "GEM"]] == ["did not fit (8 GB)", "-"]
    assert f"Adult, GEM: did not fit: {reason}." in table.notes


def test_runs_that_were_not_made_are_shown_as_such():
    table = build_table(ENTRY, [scored("aim", 0.5), run("adult", "gem", status="not run")])
    assert cells(table)["Adult", "GEM"][0] == ("not run", "words")


def test_a_measure_that_no_run_has_gets_no_column():
    table = build_table(ENTRY, [run("adult", "aim", metrics={"accuracy": 0.5})])
    assert list(table.texts) == ["Accuracy ↑"]


def test_a_measure_that_one_run_lacks_is_a_dash():
    table = build_table(ENTRY, [scored("aim", 0.5), run("adult", "mst", metrics={"accuracy": 0.4})])
    assert cells(table)["Adult", "MST"][1] == ("-", "words")


def test_the_chosen_setting_and_its_rule_are_told():
    runs = [scored("aim", 0.5, settings={"degree": 2}), scored("aim", 0.6, settings={"degree": 3})]
    table = build_table(ENTRY, runs)
    assert cells(table)["Adult", "AIM"][0][0] == "60.00"
    assert "Best setting of each method by accuracy: Adult, AIM: degree 3." in table.notes


def test_the_numbers_of_the_paper_stand_beside_ours():
    entry = TableEntry("utility", "U", ("accuracy", "2-wd"), paper="low-order-real")
    runs = [run("adult", method, metrics=plausible(method)) for method in ("aim", "mst")]
    table = build_table(entry, runs, beside_paper=True)
    assert list(table.texts) == ["Accuracy ↑", "paper", "2-WD ↓", "paper"]
    assert [cell[0] for cell in cells(table)["Adult", "AIM"]][1::2] == [
        "83.36 ± 0.41",
        "0.034 ± 0.001",
    ]
    assert [cell[0] for cell in cells(table)["Adult", "MST"]][1::2] == ["-", "-"]


def test_rows_by_a_setting_are_in_order_of_its_size():
    entry = TableEntry("weights", "W", ("accuracy",), rows=("settings.gamma",))
    runs = [run(settings={"gamma": g}, metrics={"accuracy": g}) for g in (1.0, 0.2, 0.5)]
    table = build_table(entry, runs)
    assert list(table.texts.index) == [("0.2",), ("0.5",), ("1",)]
    assert table.heads == ["Decay factor gamma"]


def test_what_is_neither_good_nor_bad_is_not_ranked():
    assert rank_cells(["1", "2"], ["plain"] * 2, [(), ()], "neither") == ["plain"] * 2


@pytest.mark.parametrize("statuses", [["not run"], ["failed", "not run"]])
def test_a_table_without_results_still_says_so(statuses):
    runs = [run("adult", "aim", n, status=each) for n, each in enumerate(statuses)]
    assert build_table(ENTRY, runs).notes[0] == "No run is done yet."


def test_quick_runs_are_said_to_be_no_comparison():
    runs = [run("adult", "aim", variant="quick")]
    assert any(note.startswith("Variant quick") for note in build_table(ENTRY, runs).notes)

"""The numbers of the paper: whole, readable, and those that the text of the paper quotes."""

import pytest

from tabpe_lab.exhibits import METHODS, find_metric
from tabpe_lab.summary import SeedStatistics, find_paper_table, load_paper_tables

TABLES = list(load_paper_tables().items())


@pytest.mark.parametrize(("label", "table"), TABLES, ids=[label for label, _ in TABLES])
def test_every_row_has_a_readable_value_for_each_metric(label, table):
    assert table.epsilon == 1
    for first, rows in table.values.items():
        for second, texts in rows.items() if isinstance(rows, dict) else [(None, rows)]:
            assert len(texts) == len(table.metrics)
            assert second is None or second in METHODS
            row = (first,) if second is None else (first, second)
            for metric, text in zip(table.metrics, texts, strict=True):
                value = table.find_value(row, metric)
                assert (value is None) == (text == "-")
                assert value is None or 0 <= value.mean <= 1
                assert find_metric(metric).name == metric


@pytest.mark.parametrize(
    "label", ["scm-table", "scm-table-wd", "high-order-real", "low-order-real"]
)
def test_the_large_tables_have_all_methods(label):
    methods = ["real", "privsyn", "privmrf", "gem", "rap++", "privgsd", "aim", "tabpe"]
    assert all(list(rows) == methods for rows in find_paper_table(label).values.values())


def test_values_are_in_our_units():
    found = find_paper_table("high-order-real").find_value(
        ("artificial-characters", "tabpe"), "5-wd"
    )
    assert found == SeedStatistics(0.158, 0.011, 3)
    assert find_paper_table("mnist").find_value(("mnist", "tabpe"), "accuracy") == SeedStatistics(
        0.5405
    )
    weights = find_paper_table("parameter-categorical-weight")
    assert weights.find_value((1 / 3,), "validation_auc") == SeedStatistics(0.631)


def test_what_is_not_printed_is_nothing():
    table = find_paper_table("scm-table")
    assert table.find_value(("scm-tree", "privsyn"), "auc") is None
    assert table.find_value(("scm-tree", "mst"), "auc") is None
    assert table.find_value(("adult", "aim"), "accuracy") is None
    assert table.find_value(("scm-tree", "aim"), "1-wd") is None


def test_gains_that_the_text_of_the_paper_quotes():
    characters = find_paper_table("high-order-real")

    def gain(metric):
        ours, best = (
            characters.find_value(("artificial-characters", method), metric).mean
            for method in ("tabpe", "privgsd")
        )
        return round(100 * (ours - best), 2)

    assert (gain("accuracy"), gain("macro_f1")) == (9.02, 8.99)


def test_distances_that_stand_in_two_tables_agree():
    for short, long in (("high-order-real", "high-order-real-wd"),):
        for data, rows in find_paper_table(short).values.items():
            for method in rows:
                for metric in ("5-wd", "6-wd", "7-wd"):
                    one, other = (
                        find_paper_table(t).find_value((data, method), metric)
                        for t in (short, long)
                    )
                    assert one == other, (data, method, metric)

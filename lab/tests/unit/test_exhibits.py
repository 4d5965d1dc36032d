"""Entries of tables and figures are read strictly, and errors name them."""

import pytest
from made_runs import run

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import NEEDS, keep_records, parse_figures, parse_tables

TABLE = {"name": "utility", "title": "Utility", "metrics": ["accuracy"]}
FIGURE = {"name": "curve", "title": "Curve", "kind": "lines", "x": "epsilon", "y": ["accuracy"]}


def test_a_table_has_rows_of_data_and_methods_if_nothing_else_is_said():
    (entry,) = parse_tables([TABLE], where="a.yaml")
    assert entry.rows == ("data", "method")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": ["auc"]}, r"a.yaml: tables\[0\]: unknown key 'metric': did you mean 'metrics'"),
        ({"metrics": ["acuracy"]}, r"tables\[0\]: metrics: 'acuracy': no metric"),
        ({"metrics": []}, r"metrics: empty"),
        ({"rows": ["metod"]}, r"rows: 'metod': no field of a run: did you mean 'method'"),
        ({"where": {"eps": 1}}, r"where: 'eps': no field of a run"),
        ({"title": 5}, r"title=5: expected text"),
        ({"name": "A b"}, r"name='A b': expected small letters"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_its_key(change, message):
    with pytest.raises(ParameterError, match=message):
        parse_tables([{**TABLE, **change}], where="a.yaml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "line"}, r"figures\[0\]: kind='line': did you mean 'lines'"),
        ({}, r"by: missing: a figure of kind 'lines' needs it"),
        ({"by": "method", "log": ["z"]}, r"log='z'"),
        ({"by": "method", "x": "seconds"}, r"x: 'seconds': no field of a run"),
        ({"by": "method", "y": ["auk"]}, r"y: 'auk': no metric"),
        ({"by": "method", "colour": "red"}, r"unknown key 'colour'"),
    ],
)
def test_a_figure_that_does_not_fit_is_refused_by_its_key(change, message):
    with pytest.raises(ParameterError, match=message):
        parse_figures([{**FIGURE, **change}], where="a.yaml")


def test_a_scatter_has_a_measure_across():
    parse_figures([{**FIGURE, "kind": "scatter", "by": "method", "x": "seconds"}], where="a.yaml")
    with pytest.raises(ParameterError, match="x: 'epsilon'"):
        parse_figures([{**FIGURE, "kind": "scatter", "by": "method"}], where="a.yaml")


def test_two_entries_of_one_name_are_refused():
    with pytest.raises(ParameterError, match=r"tables: .*'utility'"):
        parse_tables([TABLE, TABLE], where="a.yaml")


def test_every_kind_says_what_it_needs():
    for kind, needs in NEEDS.items():
        for key in needs:
            plain = {"name": "a", "title": "A", "kind": kind}
            with pytest.raises(ParameterError, match=rf"missing: .*'{kind}'"):
                parse_figures([plain], where=key)


def test_where_keeps_one_value_or_one_of_several_and_real_rows_at_every_budget():
    runs = [run(epsilon=0.1), run(epsilon=1.0), run(method="real"), run(data="bank")]
    assert keep_records(runs, {"epsilon": 1.0, "data": "adult"}) == [runs[1], runs[2]]
    assert keep_records(runs, {"data": ["adult", "bank"]}) == runs

"""Reports as data frames and as plain values."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from contents import custodian, minimal, public
from tabpe.errors import OutputError, ParameterError
from tabpe.evaluation.report import Report
from tabpe.evaluation.report import report as plots
from tabpe.evaluation.report.report import PARTS, plain_value

REPORTS = {"custodian": custodian, "public": public, "minimal": minimal}


@pytest.fixture(params=REPORTS)
def report(request):
    return Report(REPORTS[request.param]())


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_every_part_is_a_frame_of_every_library(report, part, library, kind):
    assert isinstance(report.to_frame(part, library=library), kind)


def test_a_frame_is_pandas_where_that_is_installed():
    assert isinstance(Report(custodian()).to_frame(), pd.DataFrame)


def test_columns_hold_one_row_each():
    report = Report(custodian())
    frame = report.to_frame("columns")
    assert list(frame["column"]) == [column.name for column in report.contents.columns]
    scores = {score.column: score.score for score in report.contents.quality.columns}
    assert dict(zip(frame["column"], frame["score"], strict=True)) == pytest.approx(scores)


def test_all_figures_are_one_long_frame():
    report = Report(custodian())
    frame = report.to_frame()
    assert list(frame.columns) == ["part", "of", "measure", "value"]
    assert np.isfinite(frame["value"]).all()
    assert {"columns", "pairs", "k-way", "utility", "representation"} <= set(frame["part"])
    wanted = report.contents.wasserstein[0].distance
    row = frame[(frame["part"] == "k-way") & (frame["measure"] == "synthetic")].iloc[0]
    assert row["value"] == wanted


def test_a_part_that_does_not_exist_is_named():
    with pytest.raises(ParameterError, match="columns"):
        Report(minimal()).to_frame("colums")
    with pytest.raises(ParameterError, match="library='dask'"):
        Report(minimal()).to_frame(library="dask")


def test_json_holds_everything_and_no_odd_number(report):
    plain = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert plain["format"] == "tabpe report 1"
    assert plain["mode"] == report.contents.mode
    assert ("warning" in plain) == (report.contents.mode == "custodian")
    assert len(plain["columns"]) == len(report.contents.columns)
    assert plain["verdict"] == report.verdict


def test_plain_values_of_odd_things():
    odd = {"a": (1, math.nan, -math.inf), 2: np.int64(3), "b": np.array([[True]]), "c": None}
    assert plain_value(odd) == {"a": [1, None, None], "2": 3, "b": [[True]], "c": None}


def test_it_is_saved_by_its_suffix(tmp_path, report):
    page = report.save(tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.startswith(("<!doctype html>", "<!DOCTYPE html>"))
    assert json.loads(report.save(tmp_path / "r.json").read_text())["mode"] == report.contents.mode
    with pytest.raises(OutputError, match=r"r\.pdf.*\.html.*\.json"):
        report.save(tmp_path / "r.pdf")


def test_it_tells_what_it_found(report):
    text = repr(report)
    assert report.verdict in text
    assert all(card.figure in text for card in report.cards)


def test_in_a_notebook_it_is_a_frame_of_its_own(report):
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "<script" not in shown
    assert 'sandbox="allow-scripts"' in shown


@pytest.mark.parametrize("part", plots.PLOTS)
def test_every_part_has_pictures(part):
    assert "<svg" in Report(custodian()).plot(part)._repr_html_()


@pytest.mark.parametrize("part", [part for part in plots.PLOTS if part != "columns"])
def test_a_part_that_was_not_measured_has_none(part):
    with pytest.raises(ParameterError, match=part):
        Report(minimal()).plot(part)


def test_one_column_alone_can_be_saved(tmp_path):
    report = Report(custodian())
    name = report.contents.columns[0].name
    alone = report.plot(column=name)
    assert [title for title, _ in alone.pictures] == [name]
    assert alone.save(tmp_path / "one.svg").read_text().startswith("<svg")
    with pytest.raises(OutputError, match=r"\.svg"):
        report.plot().save(tmp_path / "all.svg")
    with pytest.raises(ParameterError, match="column='nope'"):
        report.plot(column="nope")


def test_the_worst_column_comes_first():
    report = Report(custodian())
    worst = max(report.contents.columns, key=lambda column: column.difference)
    assert report.plot().pictures[0][0] == worst.name


def test_a_plot_says_what_it_shows():
    assert (
        repr(Report(custodian()).plot("k-way")) == "Plot(k-way Wasserstein, k-way total variation)"
    )

"""Pictures: well-formed, named, escaped, and true to their values."""

import dataclasses
import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import contents as made
from tabpe.evaluation.metrics.columns import ColumnComparison, ColumnShape
from tabpe.evaluation.report import charts
from tabpe.evaluation.report import charts as svg
from tabpe.evaluation.report.guarantee import AttackerBound

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "".join(made.HOSTILE)
WHOLE = made.custodian()
DRAWN = {
    "number": lambda: charts.column(WHOLE.columns[0]),
    "category": lambda: charts.column(WHOLE.columns[-1]),
    "band": lambda: charts.column(made.public().columns[0]),
    "hostile": lambda: charts.column(made.hostile().columns[1]),
    "distances": lambda: charts.distances(WHOLE.closeness),
    "heat": lambda: charts.heat([NASTY, "b"], np.array([[1.0, np.nan], [-1.0, 0.0]]), NASTY),
    "orders": lambda: charts.orders(
        WHOLE.wasserstein, WHOLE.wasserstein_floor, WHOLE.wasserstein_ceiling, NASTY
    ),
    "no orders": lambda: charts.orders((), (), (), "none"),
    "depths": lambda: charts.depths(WHOLE.order),
    "rounds": lambda: charts.rounds([{NASTY: 1.0}, {}], NASTY),
    "stacked": lambda: charts.stacked([(NASTY, 0.4), ("b", 0.6)], NASTY),
    "odds": lambda: charts.odds(AttackerBound(1000.0, 0.1)),
    "between": lambda: charts.between([(NASTY, 0.5, None, math.nan), ("b", -3.0, 0.1, 0.4)], NASTY),
    "lengths": lambda: charts.lengths({NASTY: 1.0, "b": 0.0}, NASTY),
    "gauge": lambda: charts.gauge(1.7, NASTY),
    "cloud": lambda: charts.cloud(WHOLE.projection),
    "classes": lambda: charts.classes(WHOLE.projection),
}


def parsed(chart):
    return ET.fromstring(str(chart))


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_well_formed_named_and_harmless(name):
    root = parsed(DRAWN[name]())
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in {
            *("svg", "g", "title", "text", "rect", "path", "line", "circle")
        }
        assert "style" not in element.attrib
        assert not any(key.startswith("on") or "href" in key for key in element.attrib)
        assert not any(re.search(r"\b(nan|inf)\b", value) for value in element.attrib.values())


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_has_its_colours_by_itself(name):
    for colour in re.findall(r"var\(([^)]*)\)", str(DRAWN[name]())):
        assert re.fullmatch(r"--\w+, #[0-9a-f]{6}", colour)


def test_a_notebook_shows_a_picture():
    chart = charts.gauge(0.5, "half")
    assert chart._repr_svg_() == chart._repr_html_() == str(chart)
    assert chart._repr_svg_().startswith("<svg")


def bars(chart, colour):
    found = parsed(chart).iter(f"{SVG}rect")
    return [float(one.get("width")) for one in found if colour in one.get("fill")]


def test_bars_are_as_long_as_their_shares():
    real, synthetic = ColumnShape((0.5, 0.25, 0.25), 0.0), ColumnShape((0.25, 0.25, 0.5), 0.0)
    view = ColumnComparison("ward", "category", (), ("a", "b", "c"), real, synthetic, 0.25)
    greys, blues = bars(charts.column(view), "--real"), bars(charts.column(view), "--synthetic")
    assert greys[0] == pytest.approx(2 * greys[1], abs=0.2)
    assert blues == pytest.approx([greys[1], greys[2], greys[0]], abs=0.2)


def test_nulls_have_a_bar_of_their_own_where_there_are_any():
    view = WHOLE.columns[0]
    without = dataclasses.replace(
        view,
        real=dataclasses.replace(view.real, nulls=0.0),
        synthetic=dataclasses.replace(view.synthetic, nulls=0.0),
    )
    with_nulls = dataclasses.replace(view, real=dataclasses.replace(view.real, nulls=0.1))
    assert ">null<" not in str(charts.column(without))
    assert ">null<" in str(charts.column(with_nulls))


def test_a_public_column_is_synthetic_alone():
    alone = dataclasses.replace(WHOLE.columns[0], real=None, difference=None)
    assert "--real" not in str(charts.column(alone))


def test_a_band_is_drawn_around_what_is_noisy():
    plain = WHOLE.columns[0]
    noisy = dataclasses.replace(plain, band=0.01)
    assert str(charts.column(noisy)).count("<path") == str(charts.column(plain)).count("<path") + 1


def test_a_map_tells_signs_and_strengths_apart():
    values = np.array([[1.0, -0.5], [-0.5, 0.0]])
    cells = list(parsed(charts.heat(["a", "b"], values, "t")).iter(f"{SVG}rect"))
    assert ["--less" in cell.get("fill") for cell in cells] == [False, True, True, False]
    opacities = [float(cell.get("fill-opacity")) for cell in cells]
    assert opacities[0] > opacities[1] == opacities[2] > opacities[3]
    assert cells[1].find(f"{SVG}title").text == "a, b: -0.5"


def test_shares_of_the_privacy_spend_fill_the_bar():
    widths = bars(charts.stacked([("a", 0.25), ("b", 0.75)], "spend"), "--synthetic")
    assert widths[1] == pytest.approx(3 * widths[0], rel=0.02)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-5, 17), (0, 1e-9), (3, 3), (1e300, 1.1e300), (0, 48_842)]
)
def test_ticks_are_few_round_and_inside(low, high):
    ticks = svg.ChartScale(low, high, 0, 100).compute_ticks(5)
    assert 1 <= len(ticks) <= 12
    assert all(low - 1e-9 * abs(high) <= tick <= high + 1e-9 * abs(high) for tick in ticks)


def test_quantities_are_those_that_are_numbers():
    assert charts.quantities(made.history()) == (
        *("mutation_rate", "sigma", "population"),
        *("noisy_votes_total", "noisy_votes_largest"),
    )
    assert charts.quantities([{"round": 1, "flag": True, "late": None, "sigma": math.nan}]) == ()


def test_many_classes_share_a_colour():
    key = charts.class_key([f"class {k}" for k in range(12)])
    assert [name for name, _ in key][-1] == "5 others"


def test_labels_of_large_values_fit_left_of_the_axis():
    axis = svg.draw_left_axis(svg.ChartScale(0, 120_987, 100, 0), 44, 200)
    assert re.findall(">([^<]+)</text>", axis) == ["0", "50k", "100k"]
    assert ">2.5M<" in svg.draw_left_axis(svg.ChartScale(0, 2.5e6, 100, 0), 44, 200, ticks=1)


def test_the_middle_of_an_axis_that_is_all_but_zero_is_zero():
    shape = ColumnShape((0.5, 0.5), nulls=0.0)
    view = ColumnComparison("x", "number", (-2.80003, 0.1, 2.80001), (), shape, shape, 0.0)
    assert ">0</text>" in charts.column(view).svg

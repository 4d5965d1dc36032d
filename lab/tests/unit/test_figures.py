"""Figures: every kind is drawn, the same runs give the same file, and gaps are survived."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import run

from tabpe.errors import ArchiveError, OutputError, ParameterError
from tabpe_lab.exhibits import METHODS as METHOD_NAMES
from tabpe_lab.exhibits import FigureEntry
from tabpe_lab.figures import (
    MAX_DOTS,
    assign_styles,
    build_mosaic,
    read_depths,
    render_figure,
    sample_positions,
    save_figure,
    write_depths,
)
from tabpe_lab.records import get_extra_path, write_extra

pytest.importorskip("matplotlib")
METHODS = ("real", "tabpe", "aim", "mst")
LINES = FigureEntry("curve", "Curve", "lines", x="epsilon", y=("accuracy",), by="method")


def budgets():
    return [
        run("scm-nn", method, seed, epsilon=epsilon, metrics={"accuracy": 0.5 + 0.01 * seed})
        for method in METHODS
        for epsilon in ([None] if method == "real" else [0.1, 1.0, 10.0])
        for seed in range(2)
    ]


def with_extra(record, folder, content):
    kept = replace(record, extra=f"{record.key}.json")
    write_extra(get_extra_path(kept, folder), content)
    return kept


def rows(count, columns=2):
    draw = np.random.default_rng(0)
    names = [f"x{n}" for n in range(columns)]
    cells = {name: draw.uniform(0, 255, count).round(3).tolist() for name in names}
    return {**cells, "label": [n % 2 for n in range(count)]}


def evolved(folder):
    rounds = {
        str(n): {"rows": rows(20), "metrics": {"accuracy": 0.1 * n, "1-wd": 0.1}} for n in range(4)
    }
    content = {"rounds": rounds, "real_rows": rows(20)}
    return [
        with_extra(run(settings={"selection": each}, seed=seed), folder, content)
        for each in ("two-stage", "ranking")
        for seed in range(2)
    ]


def searched():
    return [
        run(
            epsilon=epsilon,
            settings={"rounds": t, "mutation_init": m},
            metrics={"accuracy": m / t + epsilon / 100},
        )
        for epsilon in (1.0, 3.0)
        for t in (15, 20)
        for m in (0.2, 0.5)
    ]


OF_RECORDS = {
    "lines": (LINES, budgets()),
    "panels": (replace(LINES, panel="data", log=("x",), chance=0.5), budgets()),
    "bars": (
        FigureEntry("bars", "Bars", "bars", y=("accuracy",), by="settings.operator"),
        [run(settings={"operator": each}, seed=n) for each in ("a", "b") for n in range(2)],
    ),
    "scatter": (
        FigureEntry("s", "S", "scatter", x="seconds", y=("accuracy",), by="method", log=("x",)),
        [run(method="real"), *(run(method="aim", settings={"degree": d}) for d in (2, 3))],
    ),
    "search": (
        FigureEntry(
            "s",
            "S",
            "search",
            y=("accuracy",),
            axes=("settings.rounds", "settings.mutation_init"),
            where={"epsilon": 1.0},
        ),
        searched(),
    ),
    "ranking": (FigureEntry("r", "R", "ranking", x="epsilon", y=("accuracy",)), searched()),
    "schedules": (
        FigureEntry("s", "S", "schedules", by="settings.schedule"),
        [run(settings={"schedule": each}, status="not run") for each in ("polynomial", "linear")],
    ),
}
OF_EXTRAS = {
    "progress": FigureEntry("p", "P", "progress", y=("accuracy", "1-wd"), by="settings.selection"),
    "rounds": FigureEntry("r", "R", "rounds"),
}


@pytest.mark.parametrize("kind", OF_RECORDS)
def test_every_kind_that_needs_records_is_drawn_the_same_each_time(kind):
    entry, runs = OF_RECORDS[kind]
    once, again = render_figure(entry, runs), render_figure(entry, runs)
    assert once == again
    assert once.startswith(b"<?xml")
    assert b"dc:date" not in once


@pytest.mark.parametrize("kind", OF_EXTRAS)
def test_every_kind_that_needs_what_is_kept_beside_is_drawn(kind, tmp_path):
    runs = evolved(tmp_path)
    once = render_figure(OF_EXTRAS[kind], runs, folder=tmp_path)
    assert once == render_figure(OF_EXTRAS[kind], runs, folder=tmp_path)


def test_a_schedule_is_of_an_evolution():
    entry, runs = OF_RECORDS["schedules"]
    with pytest.raises(ParameterError, match="kind: schedules"):
        render_figure(entry, [*runs, run(settings={"preset": "best", "schedule": "none"})])


def test_rows_are_drawn_as_pictures(tmp_path):
    content = {"rows": rows(12, 16), "real_rows": rows(12, 16)}
    runs = [with_extra(run("mnist", each), tmp_path, content) for each in ("tabpe", "gem")]
    entry = FigureEntry("samples", "Samples", "images", by="method")
    assert b"<image" in render_figure(entry, runs, folder=tmp_path)


def test_depths_are_drawn_and_kept(tmp_path):
    found = {"Adult": {2: 0.86, 3: 0.861}, "XOR, 3 features": {2: 0.5, 3: 0.99}}
    write_depths(tmp_path / "a" / "depths.json", found)
    assert read_depths(tmp_path / "a" / "depths.json") == found
    assert read_depths(tmp_path / "none.json") == {}
    assert render_figure(FigureEntry("d", "D", "order"), [], depths=found).startswith(b"<?xml")


def test_the_ending_of_the_file_decides_its_kind(tmp_path):
    for ending, first in ((".svg", b"<?xml"), (".png", b"\x89PNG")):
        save_figure(LINES, budgets(), tmp_path / f"curve{ending}")
        assert (tmp_path / f"curve{ending}").read_bytes().startswith(first)
    with pytest.raises(OutputError, match=r"curve.pdf: .*\.svg or \.png"):
        save_figure(LINES, budgets(), tmp_path / "curve.pdf")


def test_pictures_are_the_same_as_bytes_in_png_too(tmp_path):
    for name in ("a.png", "b.png"):
        save_figure(LINES, budgets(), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_runs_that_are_missing_or_did_not_fit_leave_a_gap():
    runs = [each for each in budgets() if (each.method, each.epsilon) != ("aim", 1.0)]
    runs.append(run("scm-nn", "gem", status="did not fit", epsilon=1.0, metrics={}))
    render_figure(LINES, runs)


def test_a_single_run_is_a_figure():
    render_figure(LINES, [run()])


def test_without_a_run_that_is_done_there_is_no_figure():
    with pytest.raises(ParameterError, match="curve: no run is done"):
        render_figure(LINES, [run(status="not run")])


def test_without_what_is_kept_beside_it_says_how_to_keep_it():
    with pytest.raises(ParameterError, match=r"keep: \[rounds"):
        render_figure(OF_EXTRAS["progress"], [run(settings={"selection": "ranking"})])


def test_a_file_beside_that_is_not_json_is_named(tmp_path):
    (record,) = evolved(tmp_path)[:1]
    get_extra_path(record, tmp_path).write_text("{")
    with pytest.raises(ArchiveError, match=r"\.json: "):
        render_figure(OF_EXTRAS["rounds"], [record], folder=tmp_path)


def test_columns_that_are_no_square_are_no_picture():
    with pytest.raises(ParameterError, match="15 columns"):
        build_mosaic(rows(4, 15), [0, 1])


def test_a_class_with_few_rows_is_filled_up():
    page = build_mosaic({"a": [7], "label": [1]}, [0, 1])
    assert page.shape == (5, 3)
    assert np.nansum(page) == 7


def test_methods_look_different_from_each_other():
    faces = assign_styles(list(METHOD_NAMES))
    assert len({face.colour for face in faces.values()}) == len(faces)
    assert len({face.marker for face in faces.values()}) == len(faces)


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    render_figure(LINES, budgets())
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("count", [1, 599, 600, 601, 2000])
def test_dots_are_few_and_from_all_over_the_table(count):
    places = sample_positions(count)
    assert len(places) <= MAX_DOTS
    assert places[-1] >= count - -(-count // MAX_DOTS)


def test_a_logarithmic_axis_leaves_out_what_takes_no_time():
    entry = FigureEntry(
        "t", "T", "lines", x="settings.degree", y=("accuracy", "seconds"), by="method", log=("y",)
    )
    runs = [run(method="real", seconds=0.0), run(method="aim", settings={"degree": 2})]
    render_figure(entry, runs)

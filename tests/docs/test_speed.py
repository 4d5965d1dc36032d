"""Times and sizes on pages are those of the records, also of records that are not there yet."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "write_speed.py"))


@pytest.mark.parametrize("page", TOOL["list_pages"]())
def test_the_page_is_what_the_records_say(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == TOOL["render_page"](page), "run python tools/write_speed.py"


def render(name, **records):
    """Return the lines of a page, with records that are given instead of those on disk."""
    of, known = TOOL[name], TOOL["read_record"]
    before = of.__globals__["read_record"]
    of.__globals__["read_record"] = lambda record: records.get(record, known(record))
    try:
        return list(of())
    finally:
        of.__globals__["read_record"] = before


def test_whole_runs_of_the_authors_are_compared():
    runs = {"authors": {"seconds": 9.0}, "paper": {"seconds": 0.2}}
    case = {"runs": runs, "times_faster": {"paper": 45.0}}
    lines = render("render_authors", authors={"cases": {"a": case, "d": case}})
    assert "| 35,000 rows, ten numbers | 9.00 s | 0.20 s | 45 |" in lines
    assert render("render_authors", authors={}) == []


RUN = {"seconds": 300.0, "round_s": 12.34, "peak_bytes": 5e8, "bound": "kernel", "of_bound": 1.04}
STREAMED = {
    "machine": {"cores": 2},
    "rows": 100_000_000,
    "columns": 10,
    "parquet_bytes": 4.1e9,
    "runs": {"paper, stream": RUN, "best, stream": RUN},
}


def test_the_largest_table_is_told_of():
    growth = {"presets": {name: {"rows": {"slope": 0.9}} for name in ("paper", "best")}}
    lines = render("render_large", **{"streaming-100m": STREAMED, "growth": growth})
    assert any("100 million rows, 10 columns, 4.1 GB" in line for line in lines)
    row = "| `best` | 5 min | 12.3 s | 500 MB | the search | 1.0 times that alone |"
    assert row in lines
    assert "| `paper` | 0.90 |" in lines
    assert render("render_large", **{"streaming-100m": {}, "streaming": {}, "growth": {}}) == []


def test_the_default_on_clusters_is_told_of_and_a_difference_too():
    record = json.loads((TOOL["RECORDS"] / "cluster.json").read_text())
    engines = {engine: {"seconds": 50.0} for engine in ("local", "ray", "spark")}
    for same, word in ((True, "were the same"), (False, "DIFFERED")):
        best = {"rows": 20_000_000, "same_tables": same, **engines}
        lines = render("render_clusters", cluster=record | {"compared, best": best})
        assert any("50 s on two workers of Ray" in line and word in line for line in lines)


def test_lines_of_prose_are_folded_and_links_stay_whole():
    line = "word " * 30 + "[a link](somewhere/far) `python -m one two`."
    folded = TOOL["_fold"](line).splitlines()
    assert max(map(len, folded)) <= TOOL["WIDTH"]
    assert any("[a link](somewhere/far)" in part for part in folded)
    assert any("`python -m one two`." in part for part in folded)

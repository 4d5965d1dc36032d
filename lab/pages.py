"""Update the tables and figures of the pages of results from records; remarks are kept.

    .venv/bin/python lab/pages.py [lab/results]

`paper.md` is about the experiments of the paper, `beyond.md` about those in
`lab/experiments/beyond`. A section is added for every experiment that has results and is not on its
page yet. `coverage.md` lists what of the paper was run, `claims.md` holds its claims against our
records, `leaderboard.md` ranks methods, and `results.json` has every mean; all of them are made.
`README.md` is the short story of them: its text is kept, its tables and figures are made.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tabpe_lab.claims import write_claims_page
from tabpe_lab.coverage import write_coverage_page
from tabpe_lab.exhibits import read_suite
from tabpe_lab.figures import render_drawing
from tabpe_lab.leaderboard import (
    Leaderboard,
    build_leaderboard,
    collect_results,
    draw_ranks,
    write_leaderboard_page,
    write_results,
)
from tabpe_lab.page import PageSources, remake_page, update_blocks
from tabpe_lab.records import read_all_records

LAB = Path(__file__).parent
EXPERIMENTS = LAB / "experiments"
# Pages by the suites that they are about.
PAGES = {
    EXPERIMENTS / "quick.yaml": LAB / "results" / "paper.md",
    EXPERIMENTS / "beyond" / "quick.yaml": LAB / "results" / "beyond.md",
}
PICTURES = LAB / "results" / "pictures"
COVERAGE = LAB / "results" / "coverage.md"
QUEUE = EXPERIMENTS / "queue.yaml"
RESULTS = LAB / "results" / "results.json"
STORY = LAB / "results" / "README.md"
CLAIMS = LAB / "results" / "claims.md"
BOARD = LAB / "results" / "leaderboard.md"
RANKS = "ranks.svg"


def sources(suite: Path, page: Path, results: Path) -> PageSources:
    """Return the sources of a page."""
    names = [each.name for each in read_suite(suite).experiments]
    link = Path(os.path.relpath(PICTURES, page.parent)).as_posix()
    return PageSources(EXPERIMENTS, names, results, PICTURES, link=link)


def make_coverage(results: Path) -> str:
    """Return the page on what of the paper was run."""
    return write_coverage_page(sources(EXPERIMENTS / "quick.yaml", COVERAGE, results), QUEUE)


def make_board(results: Path) -> tuple[Leaderboard, str]:
    """Return the ranks and their page."""
    board = build_leaderboard(read_all_records(results))
    return board, write_leaderboard_page(board, f"{PICTURES.name}/{RANKS}")


def make_story(results: Path) -> str:
    """Return the short story with its tables and figures updated."""
    text = STORY.read_text(encoding="utf-8")
    return update_blocks(text, sources(EXPERIMENTS / "quick.yaml", STORY, results))


def make_claims(results: Path) -> str:
    """Return the page of claims."""
    return write_claims_page(read_all_records(results))


def make_results(results: Path) -> str:
    """Return the list of every mean, as JSON."""
    return write_results(collect_results(read_all_records(results)))


def main() -> None:
    """Update the pages."""
    results = Path(sys.argv[1]) if sys.argv[1:] else LAB / "results"
    for suite, page in PAGES.items():
        text = page.read_text(encoding="utf-8")
        page.write_text(remake_page(text, sources(suite, page, results)), encoding="utf-8")
        print(f"wrote {page}")
    COVERAGE.write_text(make_coverage(results), encoding="utf-8")
    print(f"wrote {COVERAGE}")
    STORY.write_text(make_story(results), encoding="utf-8")
    CLAIMS.write_text(make_claims(results), encoding="utf-8")
    board, text = make_board(results)
    BOARD.write_text(text, encoding="utf-8")
    (PICTURES / RANKS).write_bytes(render_drawing(lambda: draw_ranks(board), "Mean ranks"))
    RESULTS.write_text(make_results(results), encoding="utf-8")
    print(f"wrote {CLAIMS}, {BOARD} and {RESULTS}")


if __name__ == "__main__":
    main()

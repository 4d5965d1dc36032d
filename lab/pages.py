"""Update the tables and figures of the pages of results from records; remarks are kept.

    .venv/bin/python lab/pages.py [lab/results]

`results.md` is about the experiments of the paper, `explanation/beyond.md` about those in
`lab/experiments/beyond`. A section is added for every experiment that has results and is not on its
page yet.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tabpe_lab.exhibits import read_suite
from tabpe_lab.page import PageSources, remake_page

LAB = Path(__file__).parent
ROOT = LAB.parent
EXPERIMENTS = LAB / "experiments"
# Pages by the suites that they are about.
PAGES = {
    EXPERIMENTS / "quick.yaml": ROOT / "docs" / "results.md",
    EXPERIMENTS / "beyond" / "quick.yaml": ROOT / "docs" / "explanation" / "beyond.md",
}
PICTURES = ROOT / "docs" / "pictures" / "results"


def sources(suite: Path, page: Path, results: Path) -> PageSources:
    """Return the sources of a page."""
    names = [each.name for each in read_suite(suite).experiments]
    link = Path(os.path.relpath(PICTURES, page.parent)).as_posix()
    return PageSources(EXPERIMENTS, names, results, PICTURES, link=link)


def main() -> None:
    """Update the pages."""
    results = Path(sys.argv[1]) if sys.argv[1:] else LAB / "results"
    for suite, page in PAGES.items():
        text = page.read_text(encoding="utf-8")
        page.write_text(remake_page(text, sources(suite, page, results)), encoding="utf-8")
        print(f"wrote {page}")


if __name__ == "__main__":
    main()

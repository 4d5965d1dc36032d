"""Make the tables and figures of `results.md` anew, from committed records; remarks are kept.

    .venv/bin/python docs/results.py [experiments/results]

A section is added for every experiment that has results and is not on the page yet.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tabpe.bench.files import read_suite
from tabpe.bench.page import Sources, remade

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"
HEAD = """\
# Results

The paper's numbers and ours, side by side. What stands between marks is made by `docs/results.py`
from the records in `experiments/results`.
"""


def main() -> None:
    """Make the page anew."""
    experiments, pictures = ROOT / "experiments", ROOT / "docs" / "pictures" / "results"
    sources = Sources(
        experiments,
        [each.name for each in read_suite(experiments / "quick.yaml").experiments],
        Path(sys.argv[1]) if sys.argv[1:] else experiments / "results",
        pictures,
        link="pictures/results",
    )
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else HEAD
    PAGE.write_text(remade(text, sources), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()

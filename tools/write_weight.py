"""Write the table of installed sizes into docs/how-to/install.md, from its record.

    python tools/write_weight.py

The record is made by `make weight`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "install.md"
RECORD = ROOT / "lab" / "benchmarks" / "results" / "weight.json"
BEGIN, END = "<!-- weight: begin (tools/write_weight.py) -->\n", "<!-- weight: end -->\n"
NAMED = 3


def render_page() -> str:
    """Return the page with the table of the record."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return before + BEGIN + "\n".join(_render(record)) + "\n" + END + after


def _render(record: dict[str, Any]) -> Iterator[str]:
    core, extras = record["core"], record["extras"]
    yield "| installed | MB | packages | the largest |"
    yield "|---|---|---|---|"
    yield _make_row("core", core, len(core["packages"]), core)
    for name, one in extras.items():
        yield _make_row(f"`{name}` adds", one, len(one["added_packages"]), core)
    yield ""
    yield "| CPU seconds | |"
    yield "|---|---|"
    for name, seconds in record["seconds"].items():
        yield f"| {'Python itself' if name == 'python' else f'`{name}`'} | {seconds:.2f} |"
    yield ""
    machine, python = record["machine"], record["machine"]["python"]
    yield f"Sizes are in MB of 2^20 bytes, with the newest versions, on Linux and Python {python}."
    yield f"Seconds are of whole processes on {machine['cpu']}, busy with"
    yield "other work as well. `torch` is the"
    yield "build that the index has first, with CUDA."


def _make_row(label: str, one: dict[str, Any], packages: int, core: dict[str, Any]) -> str:
    added = one is not core
    size = one["added_mb"] if added else one["mb"]
    folders = {
        name: size
        for name, size in one["largest_mb"].items()
        if not added or name not in core["largest_mb"]
    }
    named = ", ".join(f"{name} {size:,.0f}" for name, size in list(folders.items())[:NAMED])
    return f"| {label} | {size:,.0f} | {packages} | {named} |"


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")

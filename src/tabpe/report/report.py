"""`Report`: one evaluation as a page, as JSON, as data frames and as plots."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe import _atomic
from tabpe.errors import OutputError
from tabpe.report import frames, html, plain, plots
from tabpe.report.contents import Contents
from tabpe.report.plots import Plot
from tabpe.report.verdict import Card, cards, verdict

SUFFIXES = (".html", ".json")
_NOTEBOOK_HEIGHT = 720


@dataclass(frozen=True, eq=False)
class Report:
    """One evaluation of a synthetic table.

    In a notebook it shows itself.

    Args:
        contents: Everything that was measured.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import evaluate
        >>> table = pa.table({"age": [20, 70, 40] * 20, "ill": [False, True, False] * 20})
        >>> report = evaluate(table, table, verbose=0)
        >>> report.contents.mode
        'custodian'
        >>> report.to_frame("columns", library="pyarrow").column_names[:2]
        ['column', 'kind']
    """

    contents: Contents

    @property
    def cards(self) -> tuple[Card, ...]:
        """The findings at a glance."""
        return cards(self.contents)

    @property
    def verdict(self) -> str:
        """All of it in one or two sentences."""
        return verdict(self.contents)

    def to_html(self) -> str:
        """Return one self-contained page."""
        return html.page(self.contents)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a number that is none is None."""
        return plain.plain_of(self.contents, self.cards, self.verdict)

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_frame(self, part: str = "measures", *, library: str | None = None) -> Any:
        """Return a part of the report as a data frame.

        Args:
            part: `measures` for all single figures; or `columns`, `pairs`, `associations`,
                `k-way`, `utility`, `order`, `bill`, `history`, `sample`, `seconds`.
            library: `pandas`, `polars` or `pyarrow`; None for the first of them that is installed.
        """
        return frames.frame_of(self.contents, part, library)

    def plot(self, part: str = "columns", *, column: str | None = None) -> Plot:
        """Return pictures of a part of the report, which show in a notebook.

        Args:
            part: `columns`, `pairs`, `k-way`, `order`, `utility`, `nearest rows`, `map`, `promise`
                or `history`.
            column: Of `columns`: one column alone.
        """
        return plots.plot_of(self.contents, part, column)

    def save(self, path: str | Path) -> Path:
        """Write the report: a page if the path ends in .html, JSON if it ends in .json."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise OutputError(f"{path}: a report ends in {' or '.join(SUFFIXES)}.")
        _atomic.write_text(path, self.to_html() if path.suffix == ".html" else self.to_json())
        return path

    def __repr__(self) -> str:
        lines = [f"Report({self.contents.title!r}, {self.contents.mode})", self.verdict]
        lines += [f"  {card.title}: {card.figure} ({card.grade})" for card in self.cards]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from markupsafe import escape

        return (
            f'<iframe srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" width="100%" '
            f'height="{_NOTEBOOK_HEIGHT}" style="border: 0"></iframe>'
        )

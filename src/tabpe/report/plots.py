"""Plots of a report by name, for notebooks: the pictures of the page by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tabpe import _atomic, _validate
from tabpe.errors import OutputError, ParameterError
from tabpe.metrics.columns import worst_first
from tabpe.report import charts, tables
from tabpe.report.charts import Chart
from tabpe.report.contents import Contents
from tabpe.report.promise import Promise

Charts = Iterator[tuple[str, Chart]]


@dataclass(frozen=True, repr=False)
class Plot:
    """Pictures side by side, each under what it is called. In a notebook it shows itself.

    Args:
        pictures: What each is called, and the picture.
    """

    pictures: tuple[tuple[str, Chart], ...]

    def _repr_html_(self) -> str:
        figures = [
            charts.tag("figure", charts.tag("figcaption", name), chart.svg)
            for name, chart in self.pictures
        ]
        return str(charts.tag("div", *figures))

    def __repr__(self) -> str:
        return f"Plot({', '.join(name for name, _ in self.pictures)})"

    def save(self, path: str | Path) -> Path:
        """Write the picture, if it is a single one, as SVG."""
        path = Path(path)
        if path.suffix != ".svg" or len(self.pictures) != 1:
            raise OutputError(f"{path}: one picture is written, to a file that ends in .svg.")
        _atomic.write_text(path, str(self.pictures[0][1]))
        return path


def plot_of(contents: Contents, part: str, column: str | None) -> Plot:
    """Return the pictures of a part.

    Args:
        contents: The report.
        part: Its name, of `PARTS`.
        column: Of `columns`: one column alone.
    """
    _validate.one_of("part", part, list(PARTS))
    pictures = tuple(PARTS[part](contents))
    if column is not None:
        known = [name for name, _ in pictures]
        _validate.one_of("column", column, known)
        pictures = tuple(picture for picture in pictures if picture[0] == column)
    if not pictures:
        raise ParameterError(f"part={part!r}: this report holds none.")
    return Plot(pictures)


def _columns(contents: Contents) -> Charts:
    for view in worst_first(contents.columns):
        yield view.name, charts.column(view)


def _pairs(contents: Contents) -> Charts:
    if contents.association is not None:
        for title, columns, matrix, most in tables.maps(contents.association):
            yield title, charts.heat(columns, matrix, title, most)


def _k_way(contents: Contents) -> Charts:
    for name, found, floor in (
        ("k-way Wasserstein", contents.wasserstein, contents.wasserstein_floor),
        ("k-way total variation", contents.variation, contents.variation_floor),
    ):
        if found:
            yield name, charts.orders(found, floor, name)


def _order(contents: Contents) -> Charts:
    if contents.order is not None:
        yield "accuracy by depth", charts.depths(contents.order)


def _utility(contents: Contents) -> Charts:
    if contents.utility is not None:
        for score, rows in tables.utility_bounds(contents.utility).items():
            yield score, charts.between(rows, score)


def _nearest(contents: Contents) -> Charts:
    if contents.closeness is not None:
        yield "distance to the nearest real row", charts.distances(contents.closeness)


def _map(contents: Contents) -> Charts:
    if contents.projection is not None:
        yield "real and synthetic rows", charts.cloud(contents.projection)
        yield "classes", charts.classes(contents.projection)


def _promise(contents: Contents) -> Charts:
    found = contents.certificate
    if found is not None:
        yield "the bill", charts.stacked(tables.bill_parts(found), "the bill")
        if found.private:
            yield "how sure an attacker is", charts.odds(Promise.of(found))


def _history(contents: Contents) -> Charts:
    for name in charts.quantities(contents.history):
        yield name, charts.rounds(contents.history, name)


PARTS: dict[str, Callable[[Contents], Charts]] = {
    "columns": _columns,
    "pairs": _pairs,
    "k-way": _k_way,
    "order": _order,
    "utility": _utility,
    "nearest rows": _nearest,
    "map": _map,
    "promise": _promise,
    "history": _history,
}

"""`Report`: one evaluation as a page, as JSON, as data frames and as plots.

A data frame for each part of the contents, and one of all figures; plain values for programs; and
the charts of the page by name, for notebooks.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe._utils import files, validation
from tabpe.accounting import Certificate
from tabpe.errors import OutputError, ParameterError
from tabpe.evaluation.report import charts, html, tables, verdict
from tabpe.evaluation.report.charts import Chart
from tabpe.evaluation.report.contents import ReportContents
from tabpe.evaluation.report.guarantee import AttackerBound, list_doubts
from tabpe.evaluation.report.verdict import ReportCard, build_cards, write_verdict
from tabpe.io.frames import convert_to_frame

Row = dict[str, Any]
LIBRARIES = ("pandas", "polars", "pyarrow")


def _build_table(rows: list[Row]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _list_measures(contents: ReportContents) -> Iterator[Row]:
    """Yield every single figure with its part."""
    for part, rows in (
        ("columns", _list_columns(contents)),
        ("pairs", _list_scored_pairs(contents)),
        ("dependence", _list_dependence(contents)),
        ("k-way", _list_k_way(contents)),
        ("utility", _list_utility(contents)),
        ("order", _list_order(contents)),
        ("representation", _list_representation(contents)),
        ("nearest rows", _list_closeness(contents)),
    ):
        for row in rows:
            subject = " ".join(str(row[name]) for name in row if isinstance(row[name], str))
            for measure, value in row.items():
                if isinstance(value, float) and math.isfinite(value):
                    yield {"part": part, "of": subject, "measure": measure, "value": value}


def _list_columns(contents: ReportContents) -> Iterator[Row]:
    scored = tables.scores_by_column(contents.quality)
    for column in contents.columns:
        score = scored.get(column.name)
        row = {
            "column": column.name,
            "kind": column.kind,
            "difference": column.difference,
            "metric": None if score is None else score.metric,
            "score": None if score is None else score.score,
        }
        for name in ("nulls", "mean", "deviation", "least", "most"):
            row[f"{name} real"] = getattr(column.real, name, None)
            row[f"{name} synthetic"] = getattr(column.synthetic, name)
        yield row


def _list_scored_pairs(contents: ReportContents) -> Iterator[Row]:
    for score in () if contents.quality is None else contents.quality.pairs:
        one, two = score.columns
        yield {"column": one, "with": two, "metric": score.metric, "score": score.score}


def _list_utility(contents: ReportContents) -> Iterator[Row]:
    for score in () if contents.utility is None else contents.utility.scores:
        certainty = {} if score.certainty is None else dataclasses.asdict(score.certainty)
        yield {
            "learner": score.learner,
            "trained on": score.trained_on,
            **score.scores,
            **{name.replace("_", " "): value for name, value in certainty.items()},
        }


def _list_dependence(contents: ReportContents) -> Iterator[Row]:
    learned, pairs = contents.learned_dependence, contents.pair_dependence
    if learned is not None:
        yield {"of": "all columns", "kept": learned.kept, "error": learned.error}
    for pair in () if pairs is None else pairs.pairs:
        names = ", ".join(pair.columns)
        yield {"of": names, "kept": pair.kept, "weight": pair.weight, "distance": pair.distance}


def _list_associations(contents: ReportContents) -> Iterator[Row]:
    found = contents.association
    if found is None:
        return
    for (i, one), (j, two) in itertools.combinations(enumerate(found.columns), 2):
        real = None if found.real is None else float(found.real[i, j])
        yield {"column": one, "with": two, "real": real, "synthetic": float(found.synthetic[i, j])}


def _list_k_way(contents: ReportContents) -> Iterator[Row]:
    for name, measured, floor, ceiling in tables.list_distances(contents):
        floors = {one.order: one.distance for one in floor}
        ceilings = {one.order: one.distance for one in ceiling}
        for one in measured:
            yield {
                "distance": name,
                "k": f"k={one.order}",
                "synthetic": one.distance,
                "real": floors.get(one.order),
                "independent": ceilings.get(one.order),
                "spread": one.spread,
                "sets measured": one.measured,
                "sets possible": one.possible,
                "worst set": ", ".join(one.worst[0]),
                "worst": one.worst[1],
            }


def _list_order(contents: ReportContents) -> Iterator[Row]:
    if contents.order is not None:
        for depth, accuracy in zip(contents.order.depths, contents.order.accuracy, strict=True):
            yield {"depth": f"depth {depth}", "accuracy": accuracy}


def _list_representation(contents: ReportContents) -> Iterator[Row]:
    found = contents.representation
    if found is not None:
        for name in ("precision", "recall", "density", "coverage"):
            yield {"measure": name, "encoder": found.encoder, "value": getattr(found, name)}


def _list_closeness(contents: ReportContents) -> Iterator[Row]:
    found = contents.closeness
    if found is not None:
        yield {"of": "copies", "synthetic": found.copies, "other real": found.other_copies}
        if found.nearer_than_other is not None:
            yield {"of": "nearer than other real rows", "synthetic": found.nearer_than_other}
        if found.nearer_than_synthetic is not None:
            yield {"of": "nearer than other synthetic", "synthetic": found.nearer_than_synthetic}
        if found.closest_nearer is not None:
            yield {"of": "nearer, of the closest", "synthetic": found.closest_nearer}
        yield {"of": "repeats", "synthetic": found.repeats, "other real": found.other_repeats}


def _list_spends(contents: ReportContents) -> Iterator[Row]:
    if (certificate := contents.certificate) is not None:
        for spend in certificate.spends:
            row = {"item": spend.name, "sigma": spend.sigma, "times": spend.times}
            yield row | {"share": certificate.share(spend)}


def _list_sample(contents: ReportContents) -> Iterator[Row]:
    columns = contents.sample
    for cells in zip(*columns.values(), strict=True):
        yield dict(zip(columns, cells, strict=True))


PARTS: dict[str, Callable[[ReportContents], Iterator[Row]]] = {
    "measures": _list_measures,
    "columns": _list_columns,
    "pairs": _list_scored_pairs,
    "associations": _list_associations,
    "dependence": _list_dependence,
    "k-way": _list_k_way,
    "utility": _list_utility,
    "order": _list_order,
    "representation": _list_representation,
    "nearest rows": _list_closeness,
    "spends": _list_spends,
    "history": lambda contents: map(dict, contents.history),
    "sample": _list_sample,
    "seconds": lambda contents: (
        {"section": name, "seconds": spent} for name, spent in contents.seconds.items()
    ),
}


FORMAT = "tabpe report 1"
WARNING = "holds statistics of the real table that are not private: do not release"
# Properties of parts that are written to files too.
_DERIVED = {
    "quality": ("column_shapes", "column_pair_trends", "overall"),
    "order": ("gap", "words"),
    "association": ("difference",),
    "pair_dependence": ("kept", "kept_by_column"),
    "learned_dependence": ("kept", "error"),
    "closeness": ("nearer", "chance", "closest_chance"),
}


def plain_value(value: Any) -> Any:  # noqa: PLR0911 - one for each kind of value
    """Return a value as JSON holds it.

    Example:
        >>> plain_value({"a": (1, float("nan")), "b": np.array([0.5])})
        {'a': [1, None], 'b': [0.5]}
    """
    match value:
        case Certificate():
            return value.to_dict()
        case Mapping():
            return {str(key): plain_value(one) for key, one in value.items()}
        case list() | tuple():
            return [plain_value(one) for one in value]
        case np.ndarray() | np.generic():
            return plain_value(value.tolist())
        case float() if not math.isfinite(value):
            return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_value(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


Charts = Iterator[tuple[str, Chart]]


@dataclass(frozen=True, repr=False)
class Plot:
    """Charts side by side, each under its name. A notebook displays it.

    Args:
        pictures: The name and the chart of each.
    """

    pictures: tuple[tuple[str, Chart], ...]

    def _repr_html_(self) -> str:
        figures = [
            charts.make_tag("figure", charts.make_tag("figcaption", name), chart.svg)
            for name, chart in self.pictures
        ]
        return str(charts.make_tag("div", *figures))

    def __repr__(self) -> str:
        return f"Plot({', '.join(name for name, _ in self.pictures)})"

    def save(self, path: str | Path) -> Path:
        """Write a single chart as SVG."""
        path = Path(path)
        if path.suffix != ".svg" or len(self.pictures) != 1:
            raise OutputError(f"{path}: one picture is written, to a file that ends in .svg.")
        files.write_text(path, str(self.pictures[0][1]))
        return path


def _plot_columns(contents: ReportContents) -> Charts:
    for view in verdict.list_worst_first(contents):
        yield view.name, charts.column(view)


def _plot_pairs(contents: ReportContents) -> Charts:
    if contents.association is not None:
        for title, columns, matrix, most in tables.maps(contents.association):
            yield title, charts.heat(columns, matrix, title, most)


def _plot_k_way(contents: ReportContents) -> Charts:
    for name, found, floor, ceiling in tables.list_distances(contents):
        if found:
            yield name, charts.orders(found, floor, ceiling, name)


def _plot_order(contents: ReportContents) -> Charts:
    if contents.order is not None:
        yield "accuracy by depth", charts.depths(contents.order)


def _plot_utility(contents: ReportContents) -> Charts:
    if contents.utility is not None:
        for score, rows in tables.utility_bounds(contents.utility).items():
            yield score, charts.between(rows, score)


def _plot_nearest(contents: ReportContents) -> Charts:
    if contents.closeness is not None:
        yield "distance to the nearest real row", charts.distances(contents.closeness)


def _plot_map(contents: ReportContents) -> Charts:
    if contents.projection is not None:
        yield "real and synthetic rows", charts.cloud(contents.projection)
        yield "classes", charts.classes(contents.projection)


def _plot_guarantee(contents: ReportContents) -> Charts:
    found = contents.certificate
    if found is not None:
        yield "privacy spend", charts.stacked(tables.list_spend_shares(found), "privacy spend")
        if found.private:
            yield "how sure an attacker is", charts.odds(AttackerBound.from_certificate(found))


def _plot_history(contents: ReportContents) -> Charts:
    for name in charts.quantities(contents.history):
        yield name, charts.rounds(contents.history, name)


PLOTS: dict[str, Callable[[ReportContents], Charts]] = {
    "columns": _plot_columns,
    "pairs": _plot_pairs,
    "k-way": _plot_k_way,
    "order": _plot_order,
    "utility": _plot_utility,
    "nearest rows": _plot_nearest,
    "map": _plot_map,
    "guarantee": _plot_guarantee,
    "history": _plot_history,
}


SUFFIXES = (".html", ".json")
_NOTEBOOK_HEIGHT = 720


@dataclass(frozen=True, eq=False)
class Report:
    """One evaluation of a synthetic table. A notebook displays it.

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

    contents: ReportContents

    @property
    def cards(self) -> tuple[ReportCard, ...]:
        """The findings at a glance."""
        return build_cards(self.contents)

    @property
    def verdict(self) -> str:
        """All findings in one or two sentences."""
        return write_verdict(self.contents)

    def to_html(self) -> str:
        """Return one self-contained HTML page."""
        return html.render_page(self.contents)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; NaN and infinity become None."""
        contents = self.contents
        head: dict[str, Any] = {"format": FORMAT, "mode": contents.mode}
        if contents.mode == "custodian":
            head["warning"] = WARNING
        else:
            head["doubts"] = list(list_doubts(contents))
        head |= {"verdict": self.verdict, "cards": plain_value(self.cards)}
        parts = {f.name: getattr(contents, f.name) for f in dataclasses.fields(contents)}
        plain = {name: plain_value(part) for name, part in parts.items() if name != "mode"}
        for name, derived in _DERIVED.items():
            if parts[name] is not None:
                plain[name] |= {one: plain_value(getattr(parts[name], one)) for one in derived}
        return head | plain

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_frame(self, part: str = "measures", *, library: str | None = None) -> Any:
        """Return a part of the report as a data frame.

        Args:
            part: `measures` for all single figures; or `columns`, `pairs`, `associations`,
                `dependence`, `k-way`, `utility`, `order`, `representation`, `nearest rows`,
                `spends` (of privacy), `history`, `sample`, `seconds`.
            library: `pandas`, `polars` or `pyarrow`; None for the first that is installed.
        """
        validation.check_one_of("part", part, list(PARTS))
        if library is None:
            library = next(name for name in LIBRARIES if importlib.util.find_spec(name))
        validation.check_one_of("library", library, LIBRARIES)
        return convert_to_frame(_build_table(list(PARTS[part](self.contents))), library)

    def plot(self, part: str = "columns", *, column: str | None = None) -> Plot:
        """Return charts of a part of the report, which a notebook displays.

        Args:
            part: `columns`, `pairs`, `k-way`, `order`, `utility`, `nearest rows`, `map`,
            `guarantee`
                (the privacy guarantee) or `history`.
            column: For `columns`: one column alone.
        """
        validation.check_one_of("part", part, list(PLOTS))
        pictures = dict(PLOTS[part](self.contents))
        if column is not None:
            validation.check_one_of("column", column, list(pictures))
            pictures = {column: pictures[column]}
        if not pictures:
            raise ParameterError(f"part={part!r}: this report holds none.")
        return Plot(tuple(pictures.items()))

    def save(self, path: str | Path) -> Path:
        """Write the report: a page if the path ends in .html, JSON if it ends in .json."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise OutputError(f"{path}: a report ends in {' or '.join(SUFFIXES)}.")
        files.write_text(path, self.to_html() if path.suffix == ".html" else self.to_json())
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

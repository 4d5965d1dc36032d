"""A plan as a table for a terminal, and as an HTML page with curves."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from markupsafe import Markup

from tabpe.evaluation.planning.plan import Band, ColumnPlan, EpsilonPlan, Plan
from tabpe.evaluation.report.charts import make_tag

WIDTH = 80
LISTED = 12
NAME = 26
WHOLE_FROM = 10
PLOT_WIDTH, PLOT_HEIGHT, LEFT, BOTTOM = 360, 180, 46, 26
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
td, th { padding: .2rem .8rem; border-bottom: 1px solid #d0d7de; text-align: right }
td:first-child, th:first-child { text-align: left }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem } figure { margin: 0 }
figcaption { font-weight: 600 } text { font: 11px system-ui, sans-serif; fill: #57606a }
.band { fill: #0969da; opacity: .16 } .line { fill: none; stroke: #0969da; stroke-width: 2 }
.axis { stroke: #8c959f; stroke-width: 1 }
"""

Value = Callable[[EpsilonPlan], str]


def render_text(plan: Plan) -> str:
    """Return a plan as text of at most 80 columns."""
    lines = _wrap(_describe(plan))
    lines += ["", *_align([["", *(f"eps {one.epsilon:g}" for one in plan.epsilons)], *_rows(plan)])]
    for title, names in _list_columns(plan):
        lines += ["", *_wrap(f"{title}: {', '.join(names)}", indent="  ")]
    if plan.notes:
        lines += ["", *(line for note in plan.notes for line in _wrap(f"note: {note}.", "      "))]
    return "\n".join(lines) + "\n"


def render_page(plan: Plan) -> str:
    """Return a plan as an HTML page that loads nothing."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width"><title>Plan</title>'
        f"<style>{STYLE}</style></head><body><h1>What a run would give</h1>"
        f"{render_body(plan)}</body></html>\n"
    )


def render_body(plan: Plan) -> str:
    """Return the content of the page, for a notebook."""
    head = [make_tag("th", ""), *(make_tag("th", f"eps {o.epsilon:g}") for o in plan.epsilons)]
    rows = [make_tag("tr", *(make_tag("td", cell) for cell in cells)) for cells in _rows(plan)]
    charts = draw_curves(plan)
    listed = [
        make_tag("p", make_tag("strong", f"{title}: "), ", ".join(names))
        for title, names in _list_columns(plan)
    ]
    notes = [make_tag("p", f"Note: {note}.") for note in plan.notes]
    table = make_tag("table", make_tag("tr", *head), *rows)
    boxed = make_tag("div", *charts, class_="charts") if charts else Markup("")
    parts = [make_tag("p", _describe(plan)), table, boxed, *listed, *notes]
    return str(Markup("").join(parts))


def draw_curves(plan: Plan) -> list[Markup]:
    """Return a figure for each kind of quality, over the epsilons; none if none was simulated."""
    return [
        make_tag("figure", make_tag("figcaption", title), _draw_curve(plan, title, bands))
        for title, bands in _list_curves(plan)
    ]


def _describe(plan: Plan) -> str:
    tables = "a public stand-in" if plan.stand_in else "tables of the schema"
    simulated = f" Simulated on {tables}." if plan.simulated_rows else ""
    return (
        f"{plan.rows:,} rows, delta {plan.delta:.2g}; neighbours: {plan.relation}. No private row "
        f"was read.{simulated} About {plan.memory / 2**20:,.0f} MB of memory."
    )


def _rows(plan: Plan) -> list[list[str]]:
    """Return the lines of the table: the name and the value at each epsilon."""
    lines: list[tuple[str, Value]] = [
        (f"noise on {name}", lambda one, name=name: _find_sigma(one, name))  # type: ignore[misc]
        for name in dict.fromkeys(item.name for one in plan.epsilons for item in one.noise)
    ]
    lines += [
        ("smallest group seen, rows", lambda one: _format_count(one.smallest_group)),
        ("smallest class seen, rows", lambda one: _format_count(one.smallest_class)),
        ("columns good/coarse/lost", lambda one: _count_usable(one.columns)),
        ("pairs good/coarse/lost", _count_pairs),
        ("error of columns (TV)", lambda one: _format_band(one.column_error)),
        ("error of pairs (TV)", lambda one: _format_band(one.pair_error)),
        ("utility kept", lambda one: _format_band(one.kept)),
        ("score (AUC or R2)", lambda one: _format_band(one.score)),
        ("time at most, s", lambda one: _format_count(one.seconds)),
    ]
    cells = [[title, *(value(one) for one in plan.epsilons)] for title, value in lines]
    return [line for line in cells if any(cell != "-" for cell in line[1:])]


def _find_sigma(one: EpsilonPlan, name: str) -> str:
    found = [item for item in one.noise if item.name == name]
    return f"{found[0].sigma:,.3g}" if found else "-"


def _format_count(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= WHOLE_FROM else f"{value:.1f}"


def _format_band(band: Band | None) -> str:
    if band is None:
        return "-"
    return f"{max(band.low, 0):.2f}-{min(band.high, 1):.2f}"


def _count_usable(columns: Sequence[ColumnPlan]) -> str:
    if not columns:
        return "-"
    words = [column.usable for column in columns]
    return "/".join(str(words.count(word)) for word in ("good", "coarse", "lost in noise"))


def _count_pairs(one: EpsilonPlan) -> str:
    pairs = one.pairs
    return f"{pairs.good}/{pairs.coarse}/{pairs.lost}" if pairs.measured else "by votes"


def _list_columns(plan: Plan) -> list[tuple[str, list[str]]]:
    """Return which columns and pairs are not good, by epsilon."""
    found = []
    for one in plan.epsilons:
        names = [
            f"{column.name} ({column.usable})" for column in one.columns if column.usable != "good"
        ]
        names += [f"{name} (pair)" for name in one.pairs.worst]
        if names:
            more = [f"{len(names) - LISTED} more"] if len(names) > LISTED else []
            found.append((f"weak at eps {one.epsilon:g}", [*names[:LISTED], *more]))
    return found


def _align(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of equal columns, in several tables if one would be too wide."""
    width = max(10, *(len(cell) for line in lines for cell in line[1:])) + 1
    each = max(1, (WIDTH - NAME) // width)
    blocks = [
        [
            f"{line[0][:NAME]:<{NAME}}"
            + "".join(f"{cell:>{width}}" for cell in line[start : start + each])
            for line in lines
        ]
        for start in range(1, len(lines[0]), each)
    ]
    return [line for index, block in enumerate(blocks) for line in [*([""] * bool(index)), *block]]


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH - 1, subsequent_indent=indent)


def _list_curves(plan: Plan) -> list[tuple[str, list[tuple[float, Band]]]]:
    curves = {
        "Error of columns (total variation)": [one.column_error for one in plan.epsilons],
        "Error of pairs (total variation)": [one.pair_error for one in plan.epsilons],
        "Utility kept": [one.kept for one in plan.epsilons],
        "Score (AUC or R2)": [one.score for one in plan.epsilons],
    }
    found = []
    for title, bands in curves.items():
        known = [
            (one.epsilon, band)
            for one, band in zip(plan.epsilons, bands, strict=True)
            if band is not None
        ]
        if known:
            found.append((title, known))
    return found


def _draw_curve(plan: Plan, title: str, bands: Sequence[tuple[float, Band]]) -> Markup:
    """Draw a mean and its band over the epsilons, which are evenly spaced."""
    order = [one.epsilon for one in plan.epsilons]
    top = max(0.05, *(min(band.high, 1.0) for _, band in bands))
    right, base = PLOT_WIDTH - 12, PLOT_HEIGHT - BOTTOM

    def x(epsilon: float) -> float:
        if len(order) == 1:
            return (LEFT + right) / 2
        return LEFT + 12 + (right - LEFT - 24) * order.index(epsilon) / (len(order) - 1)

    def y(value: float) -> float:
        return base - (base - 10) * min(max(value, 0.0), top) / top

    upper = [(x(epsilon), y(band.high)) for epsilon, band in bands]
    lower = [(x(epsilon), y(band.low)) for epsilon, band in bands][::-1]
    middle = [(x(epsilon), y(band.middle)) for epsilon, band in bands]
    parts = [
        make_tag("polygon", points=_format_points([*upper, *lower]), class_="band"),
        make_tag("polyline", points=_format_points(middle), class_="line"),
        make_tag("line", x1=LEFT, y1=base, x2=right, y2=base, class_="axis"),
    ]
    parts += [
        make_tag("text", f"{value:.2f}", x=LEFT - 6, y=y(value) + 4, text_anchor="end")
        for value in (0.0, top / 2, top)
    ]
    parts += [
        make_tag("text", f"{epsilon:g}", x=x(epsilon), y=base + 16, text_anchor="middle")
        for epsilon in order
    ]
    return make_tag(
        "svg",
        make_tag("title", f"{title} by epsilon"),
        *parts,
        width=PLOT_WIDTH,
        height=PLOT_HEIGHT,
        viewBox=f"0 0 {PLOT_WIDTH} {PLOT_HEIGHT}",
        role="img",
    )


def _format_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)

"""Tables as text: for a terminal, as Markdown and as LaTeX. What they say is escaped."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tabpe.bench.cells import Cell, Row, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

FORMATS = ("terminal", "markdown", "latex")
_STYLES = {"best": "bold", "second": "underline", "bound": "italic", "words": "dim"}
_MARKDOWN = {"best": "**{}**", "second": "<u>{}</u>", "bound": "*{}*"}
_LATEX = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "bound": r"\textit{{{}}}"}
_LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {sign: f"\\{sign}" for sign in "&%$#_{}"}
_LATEX_ANY = re.compile("|".join(map(re.escape, _LATEX_SIGNS)))
_MARKDOWN_ANY = re.compile(r"([\\|*_<>`\[\]])")


def markdown(table: Table, *, title: bool = True) -> str:
    r"""Return a table as Markdown.

    Example:
        >>> from tabpe.bench.cells import Column
        >>> rows = (Row(("a|b",), (Cell("1.00", "best"),)), Row(("c",), (Cell("0.50", "second"),)))
        >>> print(markdown(Table("T", ("Method",), (Column("AUC", "↑"),), rows, ())), end="")
        **T**
        <BLANKLINE>
        | Method | AUC ↑ |
        |---|---:|
        | a\|b | **1.00** |
        | c | <u>0.50</u> |
    """
    heads = [*map(_plain_markdown, table.heads), *(str(column) for column in table.columns)]
    lines = [f"**{_plain_markdown(table.title)}**", ""] if title else []
    lines += [f"| {' | '.join(heads)} |"]
    lines += ["|" + "---|" * len(table.heads) + "---:|" * len(table.columns)]
    for heads_shown, row in _sparse(table.rows):
        cells = [_marked(cell, _MARKDOWN, _plain_markdown) for cell in row.cells]
        lines.append(f"| {' | '.join([*map(_plain_markdown, heads_shown), *cells])} |")
    lines += ["", *(f"{_plain_markdown(note)}  " for note in table.notes)] if table.notes else []
    return "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    r"""Return a table as LaTeX, for the package booktabs.

    Example:
        >>> from tabpe.bench.cells import Column
        >>> rows = (Row(("a_b",), (Cell("1.00 ± 0.10", "best"),)),)
        >>> text = latex(Table("50%", ("Method",), (Column("AUC", "↑"),), rows, ()))
        >>> "a\\_b & \\textbf{1.00 $\\pm$ 0.10}" in text
        True
    """
    letters = "l" * len(table.heads) + "r" * len(table.columns)
    heads = [*table.heads, *(str(column) for column in table.columns)]
    lines = [r"\begin{table}", r"  \centering", rf"  \begin{{tabular}}{{{letters}}}"]
    lines += [r"    \toprule", f"    {' & '.join(map(_plain_latex, heads))} \\\\", r"    \midrule"]
    for place, (heads_shown, row) in enumerate(_sparse(table.rows)):
        if place and len(heads_shown) > 1 and heads_shown[0]:
            lines.append(r"    \midrule")
        cells = [_marked(cell, _LATEX, _plain_latex) for cell in row.cells]
        lines.append(f"    {' & '.join([*map(_plain_latex, heads_shown), *cells])} \\\\")
    caption = " ".join((f"{table.title}.", *table.notes))
    lines += [r"    \bottomrule", r"  \end{tabular}", rf"  \caption{{{_plain_latex(caption)}}}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def show(table: Table, console: Console) -> None:
    """Print a table in a terminal; columns that are too many for its width go below the first.

    Args:
        table: The table.
        console: Where to; its width decides.
    """
    from rich.text import Text

    console.print(Text(table.title, style="bold"))
    for block in _blocks(table, console):
        console.print(_rich(table, block))
        console.print()
    for note in table.notes:
        console.print(Text(note, style="dim"))


def _blocks(table: Table, console: Console) -> Iterator[list[int]]:
    """Yield places of columns, as many at a time as the terminal is wide."""
    from rich.measure import Measurement

    options = console.options.update(max_width=10_000)
    block: list[int] = []
    for together in _together(table):
        grown = _rich(table, [*block, *together])
        if block and Measurement.get(console, options, grown).maximum > console.width:
            yield block
            block = []
        block += together
    yield block


def _together(table: Table) -> list[list[int]]:
    """Return places of columns that are not to be parted."""
    found: list[list[int]] = []
    for place, column in enumerate(table.columns):
        if column.beside:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _rich(table: Table, places: Sequence[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for head in table.heads:
        drawn.add_column(Text(head))
    for place in places:
        drawn.add_column(Text(str(table.columns[place])), justify="right", no_wrap=True)
    sparse = list(_sparse(table.rows))
    starts = [place for place, (heads, _) in enumerate(sparse) if heads[0]]
    stacked = _stacked([heads for heads, _ in sparse])
    for place, (_, row) in enumerate(sparse):
        cells = (_styled(row.cells[column]) for column in places)
        is_last = len(table.heads) > 1 and place + 1 in starts
        drawn.add_row(*map(Text, stacked[place]), *cells, end_section=is_last)
    return drawn


def _stacked(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return heads whose first one goes on in the empty places below it, to be narrow."""
    found: list[tuple[str, ...]] = []
    words: list[str] = []
    for place, heads in enumerate(rows):
        if heads[0]:
            below = itertools.takewhile(lambda later: not later[0], rows[place + 1 :])
            words = heads[0].split()
            if len(words) > 1 + sum(1 for _ in below):
                words = [heads[0]]
        found.append((words.pop(0) if words else "", *heads[1:]))
    return found


def _styled(cell: Cell) -> Text:
    from rich.text import Text

    return Text(cell.text, style=_STYLES.get(cell.mark, ""))


def _sparse(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, ...], Row]]:
    """Yield rows with their heads, where a head that stands above already is left out."""
    before: tuple[str, ...] = ()
    for row in rows:
        same = 0
        while same < len(row.heads) - 1 and row.heads[: same + 1] == before[: same + 1]:
            same += 1
        yield ("",) * same + row.heads[same:], row
        before = row.heads


def _marked(cell: Cell, marks: dict[str, str], escape: Callable[[str], str]) -> str:
    return marks.get(cell.mark, "{}").format(escape(cell.text))


def _plain_markdown(text: str) -> str:
    return _MARKDOWN_ANY.sub(r"\\\1", text)


def _plain_latex(text: str) -> str:
    return _LATEX_ANY.sub(lambda match: _LATEX_SIGNS[match[0]], text)

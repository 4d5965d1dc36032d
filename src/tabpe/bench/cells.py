"""Parts of a table, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal["plain", "best", "second", "bound", "words"]
NOTHING = "-"


@dataclass(frozen=True)
class Cell:
    """One cell: what it says, and how it stands among the others of its column.

    Args:
        text: What it says.
        mark: `best`, `second`, `bound` for what is not ranked, `words` for what is no number.
    """

    text: str
    mark: Mark = "plain"


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Args:
        title: The name of a measure.
        arrow: Which way is better.
        beside: Whether it belongs to the column before it.
    """

    title: str
    arrow: str = ""
    beside: bool = False

    def __str__(self) -> str:
        return f"{self.title} {self.arrow}".rstrip()


@dataclass(frozen=True)
class Row:
    """A row: what it is about, and its cells."""

    heads: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table, before it is written in any format.

    Args:
        title: What it shows.
        heads: Titles of the columns that say what a row is about.
        columns: Heads of the other columns.
        rows: The rows; those that differ in their last head alone are ranked together.
        notes: What the numbers are of.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

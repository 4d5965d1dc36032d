"""The text of questions to a database: a single SELECT of named columns.

Names are quoted, never pasted. A query is checked to be one statement that reads, and stands in
brackets, where SQL allows nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabpe.errors import ParameterError

# What stands in quotes or in a comment is no part of the grammar.
_OPAQUE = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/""",
    re.DOTALL,
)
_READS = ("select", "with", "values", "table", "from")
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


def quoted(name: str, mark: str = '"') -> str:
    """Return a name as an identifier of SQL, whatever is in it.

    Example:
        >>> print(quoted('visits"; DROP TABLE visits; --'))
        "visits""; DROP TABLE visits; --"
    """
    if "\x00" in name:
        raise ParameterError(f"table: {name!r}: no name in a database has NUL in it.")
    return f"{mark}{name.replace(mark, 2 * mark)}{mark}"


def table_name(given: Any) -> tuple[str, ...]:
    """Return the parts of the name of a table: itself, and where it is, first.

    Example:
        >>> table_name("ward.visits"), table_name('ward."visits.2024"'), table_name(["a.b"])
        (('ward', 'visits'), ('ward', 'visits.2024'), ('a.b',))
    """
    if isinstance(given, str):
        parts = _split(given)
    else:
        parts = tuple(given) if isinstance(given, Sequence) else ()
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ParameterError(
            f"table={given!r}: expected a name such as visits or ward.visits; put a part with a "
            f"dot in double quotes."
        )
    return parts


def _split(name: str) -> tuple[str, ...]:
    parts, place = [], 0
    while found := _NAME.match(name, place):
        parts.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        place = found.end()
        if place == len(name):
            return tuple(parts)
        if name[place] != ".":
            break
        place += 1
    return ()


def checked_query(given: Any) -> str:
    """Return a query that is one statement and reads.

    This is a first look, to refuse what is clearly something else. Databases are opened to be read
    only, where they can be.

    Raises:
        ParameterError: If it is not text, or not one SELECT.

    Example:
        >>> checked_query("SELECT age FROM visits WHERE ward = 'a;b' ;")
        "SELECT age FROM visits WHERE ward = 'a;b'"
    """
    if not isinstance(given, str):
        raise ParameterError(f"query: {type(given).__name__} is none: expected the text of one.")
    query = given.strip().rstrip(";").strip()
    bare = _OPAQUE.sub(" ", query)
    first = re.match(r"[\s(]*(\w*)", bare)
    if first is None or first[1].lower() not in _READS or ";" in bare or "\x00" in query:
        raise ParameterError("query: expected a single SELECT.")
    if not _is_closed(bare):
        raise ParameterError("query: a bracket, a quotation mark or a comment is left open.")
    return query


def _is_closed(bare: str) -> bool:
    """Whether brackets are closed in order, so that a query can not end the ones around it."""
    depth = 0
    for letter in bare:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return False
    return depth == 0 and not any(mark in bare for mark in ("'", '"', "`", "/*"))


@dataclass(frozen=True)
class Selection:
    """A table, or a query, that columns are selected from.

    Args:
        name: The parts of the name of a table; none for a query.
        query: A query that was checked; None for a table.
        mark: What this database quotes names with.
        after: What this database needs to hear after the name of a table.

    Example:
        >>> print(Selection(("ward", "visits")).select(["age", "sex"]))
        SELECT "age", "sex" FROM "ward"."visits"
    """

    name: tuple[str, ...] = ()
    query: str | None = None
    mark: str = '"'
    after: str = ""

    @property
    def title(self) -> str:
        """How errors call it."""
        return "query" if self.query is not None else ".".join(self.name)

    @property
    def table(self) -> str:
        """The table with its name quoted; a query in brackets, on lines of its own."""
        if self.query is not None:
            return f"(\n{self.query}\n) tabpe_rows"
        return ".".join(quoted(part, self.mark) for part in self.name) + self.after

    def select(self, names: Sequence[str]) -> str:
        """Return the question for some of its columns."""
        return self.select_terms([quoted(name, self.mark) for name in names])

    def select_terms(self, terms: Sequence[str]) -> str:
        """Return the question for terms of SQL that name its columns."""
        return f"SELECT {', '.join(terms)} FROM {self.table}"  # noqa: S608 - names are quoted

    def select_none(self) -> str:
        """Return the question for all columns and no row."""
        return f"{self.select_terms(['*'])} WHERE 1 = 0"

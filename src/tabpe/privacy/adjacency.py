"""Which two tables the promise does not tell apart."""

from __future__ import annotations

import enum
from typing import Any

from tabpe._validate import one_of


class Adjacency(enum.Enum):
    """The neighbouring relation of the promise.

    Every histogram here counts each row in at most one cell. So one row more or less moves one
    cell by one; another row in the place of one moves at most two cells by one each.

    Example:
        >>> Adjacency.of("replace-one").cells
        2
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def of(cls, given: Any) -> Adjacency:
        """Return the relation of that name."""
        if isinstance(given, cls):
            return given
        return cls(one_of("adjacency", given, [member.value for member in cls]))

    @property
    def cells(self) -> int:
        """The most cells of one histogram that differ, each by one, between neighbours."""
        return 1 if self is Adjacency.ADD_REMOVE else 2

    @property
    def meaning(self) -> str:
        """The relation in words."""
        if self is Adjacency.ADD_REMOVE:
            return "tables that differ by adding or removing one row"
        return "tables of the same size that differ in one row"

"""Which two tables the promise does not tell apart."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from tabpe._utils import validation
from tabpe._utils.validation import check_one_of
from tabpe.errors import ParameterError

# The votes of a user are whole numbers of parts; so many make up a vector of length one.
FIXED_POINT = 2**14
# Noise on such a grid is within this of rounded continuous noise, in total variation and for each
# draw, if sigma is at least `SMALLEST_USER_SIGMA` (claim 4 of docs/privacy.md).
FIXED_POINT_SAMPLING_ERROR = 2.5e-18
SMALLEST_USER_SIGMA = 0.5
MOST_ROWS_PER_USER = 10_000


class Adjacency(enum.Enum):
    """Whether neighbours have one more or less, or another in the place of one."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"

    @classmethod
    def from_name(cls, given: Any) -> Adjacency:
        """Return the relation of that name."""
        if isinstance(given, cls):
            return given
        return cls(check_one_of("adjacency", given, [member.value for member in cls]))


@dataclass(frozen=True)
class NeighboringRelation:
    """The neighbouring relation of the promise: tables that differ by one row, or by one user.

    Every histogram here counts a row in at most one cell; one in which a row has several votes is
    charged as so many, and moves as they do together (claim 10 of docs/privacy.md). So one row more
    or less moves one cell by one; another row in the place of one moves at most two cells by one
    each. A user counts with `max_rows` rows at most, and all cells of a user together form a vector
    without negative parts of length one at most. So one user more or less moves a histogram by a
    length of one at most, and another user in the place of one by at most the square root of two.

    Args:
        adjacency: One more or less, or another in the place of one.
        max_rows: The most rows of a user that count; None if every row is one of its own.

    Example:
        >>> users = NeighboringRelation(Adjacency.REPLACE_ONE, max_rows=5)
        >>> users.squared_distance, users.cells
        (2, 10)
        >>> print(users.meaning)
        tables with the same number of users that differ in the rows of one user
    """

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    max_rows: int | None = None

    def __post_init__(self) -> None:
        if self.max_rows is not None:
            most = validation.check_integer("max_rows_per_user", self.max_rows, least=1)
            object.__setattr__(self, "max_rows", most)
            if self.max_rows > MOST_ROWS_PER_USER:
                raise ParameterError(
                    f"max_rows_per_user={self.max_rows}: expected at most {MOST_ROWS_PER_USER:,}: "
                    f"with more, protect rows instead, or cut the table down first."
                )

    @property
    def is_user_level(self) -> bool:
        """Whether neighbours differ by a user instead of a row."""
        return self.max_rows is not None

    @property
    def squared_distance(self) -> int:
        """The largest squared length by which a histogram differs between neighbours."""
        return 1 if self.adjacency is Adjacency.ADD_REMOVE else 2

    @property
    def cells(self) -> int:
        """The most cells of one histogram that differ between neighbours."""
        return self.squared_distance * (self.max_rows or 1)

    @property
    def scale(self) -> int:
        """How many parts a count of one has in the integers that get noise."""
        return FIXED_POINT if self.is_user_level else 1

    @property
    def sampling_error(self) -> float:
        """How far noise on a cell may be from what the bill is composed for."""
        return FIXED_POINT_SAMPLING_ERROR if self.is_user_level else 0.0

    @property
    def meaning(self) -> str:
        """The relation in words."""
        if self.adjacency is Adjacency.ADD_REMOVE:
            one = "all rows of one user" if self.is_user_level else "one row"
            return f"tables that differ by adding or removing {one}"
        if self.is_user_level:
            return "tables with the same number of users that differ in the rows of one user"
        return "tables of the same size that differ in one row"


ROW_LEVEL = NeighboringRelation()

"""`NeighboringRelation`: which tables the guarantee makes indistinguishable."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from tabpe._utils import validation
from tabpe._utils.validation import check_one_of
from tabpe.errors import ParameterError

# The votes of a user are integers in units of 1 / FIXED_POINT, which a vector of norm one has.
FIXED_POINT = 2**14
# Noise on such a grid is within this of rounded continuous noise, in total variation and for each
# draw, if sigma is at least `SMALLEST_USER_SIGMA` (theorem 4 of docs/explanation/proofs.md).
FIXED_POINT_SAMPLING_ERROR = 2.5e-18
SMALLEST_USER_SIGMA = 0.5
MOST_ROWS_PER_USER = 10_000


class Adjacency(enum.Enum):
    """Add/remove-one, or replace-one."""

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
    """The neighboring relation of the guarantee: tables that differ by one row, or by one user.

    Every histogram here counts a row in at most one cell; one in which a row casts several votes is
    charged as that many, and has their joint sensitivity (theorem 10 of
    docs/explanation/proofs.md). So adding or removing a row changes one cell by one; replacing a
    row changes at most two cells by one each. A user contributes at most `max_rows` rows, and all
    cells of a user together form a nonnegative vector of L2 norm at most one. So adding or removing
    a user changes a histogram by an L2 norm of at most one, and replacing a user by at most the
    square root of two.

    Args:
        adjacency: Add/remove-one or replace-one.
        max_rows: The contribution bound of a user, in rows; None for row level.

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
        """Whether neighbors differ by a user instead of a row."""
        return self.max_rows is not None

    @property
    def squared_distance(self) -> int:
        """The squared L2 sensitivity of a histogram."""
        return 1 if self.adjacency is Adjacency.ADD_REMOVE else 2

    @property
    def cells(self) -> int:
        """The most cells of one histogram that differ between neighbors."""
        return self.squared_distance * (self.max_rows or 1)

    @property
    def scale(self) -> int:
        """The integer that stands for a count of one where noise is added."""
        return FIXED_POINT if self.is_user_level else 1

    @property
    def sampling_error(self) -> float:
        """The distance of noise on a cell from what is composed, in total variation."""
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

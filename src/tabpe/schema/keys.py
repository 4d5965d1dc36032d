"""`Id`: a column that tells rows apart and says nothing about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tabpe._validate import is_whole_text
from tabpe.schema.columns import Column, wrong
from tabpe.schema.whole import EXACT_INTEGERS


@dataclass(frozen=True)
class Id(Column):
    """A column of ids, such as numbers of patients: never read, and made up anew.

    Synthetic rows are numbered from `first` on, so no id occurs twice. The column of the private
    table is not read at all, and need not be there.

    Args:
        name: Name of the column.
        prefix: What stands before each number; without it ids are whole numbers.
        first: The first number.

    Example:
        >>> Id("patient", prefix="P").to_dict()
        {'name': 'patient', 'type': 'id', 'prefix': 'P', 'first': 1, 'source': 'public'}
    """

    prefix: str | None = None
    first: int = 1

    type_name: ClassVar[str] = "id"
    domain_fields: ClassVar[tuple[str, ...]] = ("prefix", "first")
    invalid_rules: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nullable:
            raise wrong(self, "nullable", self.nullable, "none: an id is made up for every row")
        if self.prefix is not None and not is_whole_text(self.prefix):
            raise wrong(self, "prefix", self.prefix, "a text, such as 'P'")
        if type(self.first) is not int or not 0 <= self.first < EXACT_INTEGERS:
            raise wrong(self, "first", self.first, "a whole number from 0 on")

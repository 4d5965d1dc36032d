"""Constraints (the rules of a schema): conditions over columns that hold in every row.

- `parser`: from text to a syntax tree; nothing is evaluated
- `check`: `Constraint`: a tree resolved for the columns of a schema, in numbers
"""

from tabpe.schema.constraints.check import Constraint

__all__ = ["Constraint"]

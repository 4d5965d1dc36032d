"""What is public about a table: its columns, their domains and its label.

- `columns`: the frozen column types `Categorical`, `Integer`, `Float`, `Boolean`
- `scales`: where numbers are near to each other; `whole`: how far whole numbers may reach
- `times`: `Date`, `Datetime`, `Time`; `keys`: `Id`; `kinds`: all types by name
- `table`: `Schema`, the columns together with the label
- `joint`, `numeric`: several labels, and labels that are numbers
- `partial_schema`: `PartialSchema`, a schema with gaps; `declared`: its columns; `gaps`: what only
  they may say
- `rules`: what holds in every row
- `foreign`: schemas of other tools; `editor`: the JSON Schema of schema files
- `files`: YAML and JSON in and out
"""

from tabpe.schema.columns import Boolean, Categorical, Column, Float, Id, Integer, Source
from tabpe.schema.partial import PartialColumn, PartialSchema
from tabpe.schema.schema import Schema
from tabpe.schema.temporal import Date, Datetime, Temporal, Time

__all__ = [
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Datetime",
    "Float",
    "Id",
    "Integer",
    "PartialColumn",
    "PartialSchema",
    "Schema",
    "Source",
    "Temporal",
    "Time",
]

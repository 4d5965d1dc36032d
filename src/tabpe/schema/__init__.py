"""What is public about a table: its columns, their domains and its label.

- `columns`: the frozen column types `Categorical`, `Integer`, `Float`, `Boolean`
- `times`: `Date`, `Datetime`, `Time`; `keys`: `Id`; `kinds`: all types by name
- `table`: `Schema`, the columns together with the label
- `outline`: `Outline`, a schema with gaps
- `foreign`: schemas of other tools; `editor`: the JSON Schema of schema files
- `files`: YAML and JSON in and out; `yaml12`: how the YAML of such files is read
"""

from tabpe.schema.columns import Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.keys import Id
from tabpe.schema.outline import Outline, Sketch, Storage
from tabpe.schema.table import Schema
from tabpe.schema.times import Date, Datetime, Temporal, Time

__all__ = [
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Datetime",
    "Float",
    "Id",
    "Integer",
    "Outline",
    "Schema",
    "Sketch",
    "Source",
    "Storage",
    "Temporal",
    "Time",
]

"""What is public about a table: its columns, their domains and its label.

- `columns`: the frozen column types `Categorical`, `Integer`, `Float`, `Boolean`, `Id`
- `temporal`: `Date`, `Datetime`, `Time`
- `schema`: `Schema`, the columns together with the label
- `table_format`: `TableFormat`, how a file is written; `number_format`: how numbers are
- `dictionaries`: public lists of values; `column_names`: what the name of a column says
- `partial`: `PartialSchema`, a schema with gaps to be estimated privately
- `constraints`: rules that hold in every row
- `files`: YAML and JSON; `json_schema`: the JSON Schema of schema files
- `importers`: schemas of other tools
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

"""What is public about a table: its columns, their domains and its label.

- `columns`: the frozen column types `Categorical`, `Integer`, `Float`, `Boolean`
- `table`: `Schema`, the columns together with the label
- `outline`: `Outline`, a schema with gaps
- `files`: YAML and JSON in and out; `yaml12`: how the YAML of such files is read
"""

from tabpe.schema.columns import Boolean, Categorical, Column, Float, Integer, Source
from tabpe.schema.outline import Outline, Sketch, Storage
from tabpe.schema.table import Schema

__all__ = [
    "Boolean",
    "Categorical",
    "Column",
    "Float",
    "Integer",
    "Outline",
    "Schema",
    "Sketch",
    "Source",
    "Storage",
]

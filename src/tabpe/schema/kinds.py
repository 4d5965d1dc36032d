"""The types of columns by the names that schema files have for them."""

from __future__ import annotations

from tabpe.schema.columns import Boolean, Categorical, Column, Float, Integer
from tabpe.schema.keys import Id
from tabpe.schema.times import Date, Datetime, Time

COLUMN_TYPES: dict[str, type[Column]] = {
    kind.type_name: kind
    for kind in (Categorical, Integer, Float, Boolean, Date, Datetime, Time, Id)
}
# What people and other tools call them, and what to write instead.
ELSEWHERE = {
    "text": "categorical with its values; free text can not be synthesised: leave it out",
    "string": "categorical with its values; free text can not be synthesised: leave it out",
    "timestamp": "datetime",
    "decimal": "float with decimals",
    "number": "float, or integer",
    "ordinal": "categorical with ordered: true",
    "key": "id",
    "uuid": "id",
    "duration": "integer or float, in a unit of your choice",
    "list": "a column for each part, or leave it out",
}

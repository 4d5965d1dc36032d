"""Apply the rules of a schema to cells: how numbers are written, and what stands for a null.

Guarantee: a cell is read by itself. What it becomes depends on that cell and on its rules.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tabpe._utils.arrays import is_text
from tabpe.io.canonical import NOT_LISTED, find_values, flatten_column
from tabpe.schema.table_format import CellRules


def normalize_texts(table: pa.Table, rules: Mapping[str, CellRules]) -> pa.Table:
    """Return a table with the numbers in its text written as Python writes them.

    Example:
        >>> from tabpe.schema.number_format import NumberFormat
        >>> euro = CellRules(numbers=NumberFormat(",", "."))
        >>> normalize_texts(pa.table({"fee": ["2.815,43", "free"]}), {"fee": euro}).to_pylist()
        [{'fee': '2815.43'}, {'fee': 'free'}]
    """
    for index, name in enumerate(table.schema.names):
        if name in rules and rules[name].numbers is not None:
            cells = table.column(index)
            if holds_text(cells.type):
                table = table.set_column(index, name, _normalize_column(cells, rules[name]))
    return table


def replace_nulls(table: pa.Table, rules: Mapping[str, CellRules]) -> pa.Table:
    """Return a table with nulls in the place of values that stand for them.

    Example:
        >>> rules = {"age": CellRules(nulls=("unknown", 999))}
        >>> replace_nulls(pa.table({"age": ["31", "999.0", "unknown"]}), rules).to_pylist()
        [{'age': '31'}, {'age': None}, {'age': None}]
    """
    for index, name in enumerate(table.schema.names):
        if name in rules and rules[name].nulls:
            array = flatten_column(table.column(index), name)
            found = find_values(array, [str(value) for value in rules[name].nulls])
            kept = pa.array(found == NOT_LISTED)
            if pa.types.is_dictionary(array.type):
                array = array.dictionary_decode()
            cells = pc.if_else(kept, array, pa.scalar(None, array.type))
            table = table.set_column(index, name, cells)
    return table


def holds_text(kind: pa.DataType) -> bool:
    """Return whether cells of a type are text, also by way of a dictionary."""
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _normalize_column(cells: pa.ChunkedArray, rules: CellRules) -> pa.ChunkedArray:
    encoded = flatten_column(cells).cast(pa.string()).dictionary_encode()
    texts = [
        None if text is None else rules.normalize(text) for text in encoded.dictionary.to_pylist()
    ]
    return pa.chunked_array([pc.take(pa.array(texts, pa.string()), encoded.indices)])

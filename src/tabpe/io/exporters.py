"""A released table described for people and for other programs.

`make_dictionary` lists the columns for people. `build_croissant` describes the file in Croissant
1.1, the metadata format of MLCommons that data catalogues and loaders read.

Privacy: both follow from the schema and from the released file alone. The schema is declared, or
estimated with budget; where it was read from the data, both say so, as the certificate does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe.io.writers import escape_names
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Float,
    Id,
    Integer,
    Schema,
    Source,
    Temporal,
    Time,
)

CROISSANT = "http://mlcommons.org/croissant/1.1"
_LISTED, _LONGEST_VALUE = 50, 80
_ENCODINGS = {
    ".csv": "text/csv",
    ".parquet": "application/x-parquet",
    ".pq": "application/x-parquet",
}
_SOURCES = {
    Source.PUBLIC: "declared public",
    Source.DATA: "read from the private data, not covered by the guarantee",
    Source.ESTIMATED: "estimated privately",
}
_TYPES: tuple[tuple[type[Column], str], ...] = (
    (Boolean, "sc:Boolean"),
    (Integer, "sc:Integer"),
    (Float, "sc:Float"),
    (Datetime, "sc:DateTime"),
    (Date, "sc:Date"),
    (Time, "sc:Time"),
)


@dataclass(frozen=True)
class ReleasedFile:
    """A file to describe.

    Args:
        file: Its name.
        sha256: The SHA-256 of its bytes.
        size_bytes: Its length.
        formulas_escaped: Whether an apostrophe stands before names that are formulas.
    """

    file: str
    sha256: str
    size_bytes: int
    formulas_escaped: bool = False


def make_dictionary(schema: Schema) -> pa.Table:
    """Return a data dictionary: one row a column, in words.

    Example:
        >>> age = Integer("age", 0, 120, nullable=True)
        >>> make_dictionary(Schema((age, Boolean("ill")))).to_pylist()[0]["values"]
        'whole numbers from 0 to 120'
    """
    entries = [
        {
            "column": column.name,
            "type": column.type_name,
            "values": describe_values(column),
            "may be missing": "yes" if column.nullable else "no",
            "role": _describe_role(schema, column),
            "domain": _describe_source(column),
        }
        for column in schema.columns
    ]
    return pa.Table.from_pylist(entries)


def describe_values(column: Column) -> str:
    """Return the values that a column can have, in words.

    Example:
        >>> describe_values(Categorical("ward", ("heart", "lung"), ordered=True))
        'one of, in this order: heart; lung'
        >>> describe_values(Float("bmi", 10.0, 60.0, decimals=1))
        'numbers from 10.0 to 60.0, with 1 decimal at most'
    """
    if isinstance(column, Categorical):
        order = ", in this order" if column.ordered else ""
        return f"one of{order}: {_list_values(column.values)}"
    if isinstance(column, Boolean):
        return "true or false"
    if isinstance(column, Id):
        return "without a meaning: numbered rows"
    if isinstance(column, Float):
        places = "" if column.decimals is None else _count_decimals(column.decimals)
        return f"numbers from {column.min} to {column.max}{places}"
    if isinstance(column, Integer):
        return f"whole numbers from {column.min} to {column.max}"
    return _describe_times(column)


def build_croissant(
    schema: Schema,
    table: ReleasedFile,
    *,
    description: str,
    published: str,
    creator: str | None = None,
    others: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Return the Croissant metadata of a released table.

    Args:
        schema: The schema of the table.
        table: Its file.
        description: What the data set is.
        published: The day of the release, as ISO text.
        creator: Who answers for it.
        others: Further files by name: their media type and SHA-256.

    Example:
        >>> table = ReleasedFile("out.csv", "ab" * 32, 1234)
        >>> found = build_croissant(
        ...     Schema((Integer("age", 0, 9),)), table, description="d", published="2026-01-31"
        ... )
        >>> found["recordSet"][0]["field"][0]["dataType"]
        'sc:Integer'
    """
    file = _describe_file(
        table.file, _ENCODINGS[Path(table.file).suffix.lower()], table.sha256, table.size_bytes
    )
    further = [_describe_file(name, *facts) for name, facts in (others or {}).items()]
    made = {"creator": {"@type": "Organization", "name": creator}} if creator else {}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "name": Path(table.file).stem,
        "description": description,
        "datePublished": published,
        "version": "1.0.0",
        "isLiveDataset": False,
        **made,
        "distribution": [file, *further],
        "recordSet": [_describe_records(schema, table)],
    }


def _describe_records(schema: Schema, table: ReleasedFile) -> dict[str, Any]:
    header = escape_names(schema.names) if table.formulas_escaped else schema.names
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{number}",
            "name": column.name,
            "description": f"{column.type_name}: {describe_values(column)}",
            "dataType": _choose_type(column),
            "source": {"fileObject": {"@id": table.file}, "extract": {"column": name}},
        }
        for number, (column, name) in enumerate(zip(schema.columns, header, strict=True))
    ]
    return {"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "field": fields}


def _describe_file(
    name: str, encoding: str, sha256: str, size_bytes: int | None = None
) -> dict[str, Any]:
    size = {} if size_bytes is None else {"contentSize": f"{size_bytes} B"}
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "encodingFormat": encoding,
        "sha256": sha256,
        **size,
    }


def _choose_type(column: Column) -> str:
    if isinstance(column, Temporal) and getattr(column, "format", None) is not None:
        return "sc:Text"  # written by a pattern of its own, which loaders do not know
    if isinstance(column, Id) and column.prefix is None:
        return "sc:Integer"
    if isinstance(column, Integer) and column.nullable:
        return "sc:Float"  # loaders know no whole number that may be missing
    if isinstance(column, Categorical):
        return _choose_category_type(column)
    return next((name for kind, name in _TYPES if isinstance(column, kind)), "sc:Text")


def _choose_category_type(column: Categorical) -> str:
    numbers = [isinstance(value, (int, float)) for value in column.values]
    if not all(numbers):
        return "sc:Text"
    whole = all(isinstance(value, int) for value in column.values) and not column.nullable
    return "sc:Integer" if whole else "sc:Float"


def _list_values(values: Sequence[Any]) -> str:
    shown = [_shorten(str(value)) for value in values[:_LISTED]]
    rest = len(values) - len(shown)
    return "; ".join(shown) + (f"; and {rest:,} more, in the schema" if rest else "")


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _count_decimals(decimals: int) -> str:
    return f", with {decimals} decimal{'' if decimals == 1 else 's'} at most"


def _describe_times(column: Column) -> str:
    facts = column.to_dict()
    words = f"from {facts['min']} to {facts['max']}"
    if "resolution" in facts:
        words += f", in steps of one {facts['resolution']}"
    if "timezone" in facts:
        words += f", in the time zone {facts['timezone']}"
    return words + (f", written as {facts['format']}" if "format" in facts else "")


def _describe_role(schema: Schema, column: Column) -> str:
    return "label" if column.name in schema.labels else ""


def _describe_source(column: Column) -> str:
    words = _SOURCES[column.source]
    return f"{words}: {', '.join(column.estimated)}" if column.estimated else words


_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

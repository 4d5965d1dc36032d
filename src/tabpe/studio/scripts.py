"""`write_script`: the Python script that makes the same release as the pages did."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from typing import Any

from tabpe.schema.files import DROP

_SCRIPT = '''"""Make a synthetic table with the settings of this release.

Noise is fresh in every run, so the rows are others. A run is a new charge to the budget.
"""

import pyarrow as pa
from pyarrow import csv

from tabpe import TabPE

PRIVATE = "DATA"  # the private table
SCHEMA = {schema}
SETTINGS = {settings}

model = TabPE(**SETTINGS).fit(PRIVATE, schema=SCHEMA)
csv.write_csv(pa.table(model.sample({rows})), "synthetic.csv")
with open("synthetic.certificate.json", "w", encoding="utf-8") as file:
    file.write(model.certificate.to_json())
'''


def write_script(
    schema: Mapping[str, Any], chosen: Mapping[str, Any], rows: int | None, *, private_schema: bool
) -> str:
    """Return the script. Columns that are left out are not named in it.

    Args:
        schema: The schema of the run.
        chosen: The options of the run by name.
        rows: How many rows are written.
        private_schema: Whether a part of the schema is estimated.

    Example:
        >>> text = write_script({"columns": []}, {"epsilon": 1.0}, None, private_schema=False)
        >>> compile(text, "make_release.py", "exec") is not None, "'epsilon': 1.0" in text
        (True, True)
    """
    settings = dict(chosen)
    if private_schema:
        settings["schema"] = "private"
    kept = [dict(entry) for entry in schema["columns"] if DROP not in entry]
    return _SCRIPT.format(
        schema=_format_plain({**schema, "columns": kept}),
        settings=_format_plain(settings),
        rows="" if rows is None else rows,
    )


def _format_plain(plain: Mapping[str, Any]) -> str:
    return pprint.pformat(plain, width=90, sort_dicts=False)

"""Differentially private synthetic tables by private evolution.

- `TabPE`: fit a private table, sample a synthetic one, read its certificate
- `Schema`, and its columns `Categorical`, `Integer`, `Float`, `Boolean`, `Date`, `Datetime`, `Time`
  and `Id`: what is public about a table
- `SqlTable`: a table that lives in a database
- `draft_schema`: a first schema from a table, to be checked
- `evaluate`, `evaluate_public`: how good a synthetic table is, as a `Report`
- `plan`: what a run would give, before a private row is read
- `Posterior`, `Evolution`: the settings of both strategies, for other than the presets
- `Adjacency`, `Certificate`: what is guaranteed
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabpe.accounting.certificate import Certificate
    from tabpe.accounting.neighboring import Adjacency
    from tabpe.evaluation.planning.plan import plan
    from tabpe.evaluation.report.evaluate import evaluate
    from tabpe.evaluation.report.evaluate_public import evaluate_public
    from tabpe.evaluation.report.report import Report
    from tabpe.evolution.config import Evolution, Posterior
    from tabpe.io.draft import draft_schema
    from tabpe.io.sql.table import SqlTable
    from tabpe.schema.columns import Boolean, Categorical, Float, Id, Integer
    from tabpe.schema.schema import Schema
    from tabpe.schema.temporal import Date, Datetime, Time
    from tabpe.synthesizers.tabpe import TabPE

logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__ = "0.1.0"
__all__ = [
    "Adjacency",
    "Boolean",
    "Categorical",
    "Certificate",
    "Date",
    "Datetime",
    "Evolution",
    "Float",
    "Id",
    "Integer",
    "Posterior",
    "Report",
    "Schema",
    "SqlTable",
    "TabPE",
    "Time",
    "__version__",
    "draft_schema",
    "evaluate",
    "evaluate_public",
    "plan",
]

# Where each name is defined: its module, and all that it needs, are loaded with its first use.
_MODULES = {
    "Adjacency": "tabpe.accounting.neighboring",
    "Boolean": "tabpe.schema.columns",
    "Categorical": "tabpe.schema.columns",
    "Certificate": "tabpe.accounting.certificate",
    "Date": "tabpe.schema.temporal",
    "Datetime": "tabpe.schema.temporal",
    "Evolution": "tabpe.evolution.config",
    "Float": "tabpe.schema.columns",
    "Id": "tabpe.schema.columns",
    "Integer": "tabpe.schema.columns",
    "Posterior": "tabpe.evolution.config",
    "Report": "tabpe.evaluation.report.report",
    "Schema": "tabpe.schema.schema",
    "SqlTable": "tabpe.io.sql.table",
    "TabPE": "tabpe.synthesizers.tabpe",
    "Time": "tabpe.schema.temporal",
    "draft_schema": "tabpe.io.draft",
    "evaluate": "tabpe.evaluation.report.evaluate",
    "evaluate_public": "tabpe.evaluation.report.evaluate_public",
    "plan": "tabpe.evaluation.planning.plan",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module 'tabpe' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted({*globals(), *__all__})

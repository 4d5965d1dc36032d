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

from typing import TYPE_CHECKING, Any

from tabpe.accounting.certificate import Certificate
from tabpe.accounting.neighboring import Adjacency
from tabpe.evolution.config import Evolution, Posterior
from tabpe.io.draft import draft_schema
from tabpe.io.sql.table import SqlTable
from tabpe.schema.columns import Boolean, Categorical, Float, Id, Integer
from tabpe.schema.schema import Schema
from tabpe.schema.temporal import Date, Datetime, Time
from tabpe.synthesizers.tabpe import TabPE

if TYPE_CHECKING:
    from tabpe.evaluation.planning.plan import plan
    from tabpe.evaluation.report.evaluate import evaluate
    from tabpe.evaluation.report.evaluate_public import evaluate_public
    from tabpe.evaluation.report.report import Report

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


def __getattr__(name: str) -> Any:
    """Load the rooms of reports when one of their names is asked for, and not before."""
    if name in {"Report", "evaluate", "evaluate_public"}:
        from tabpe.evaluation import report

        return getattr(report, name)
    if name == "plan":
        from tabpe.evaluation.planning.plan import plan

        return plan
    raise AttributeError(f"module 'tabpe' has no attribute {name!r}")

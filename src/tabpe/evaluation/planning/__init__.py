"""Plans: what a run can give, computed before a private row is read.

- `plan.plan`: noise, usable columns and pairs, smallest groups, expected quality, time and memory
- `simulate`: tables of a schema, drawn without any data, and runs on them
- `page`: a plan as text for a terminal and as an HTML page with curves

Privacy: nothing here takes a private table. A plan follows from a schema, a number of rows that the
user states, and a public stand-in if there is one.
"""

from __future__ import annotations

from tabpe.evaluation.planning.plan import Band, ColumnPlan, EpsilonPlan, PairPlan, Plan, plan

__all__ = ["Band", "ColumnPlan", "EpsilonPlan", "PairPlan", "Plan", "plan"]

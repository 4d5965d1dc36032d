"""The report: all measures of a synthetic table in one place, for people and for programs.

- `custodian`: `evaluate`, which measures all of it, for the custodian
- `public`: `evaluate_public`, which shows what may be released
- `inputs`: tables, schema and certificate, from whatever form they come in
- `contents`: `Contents`, everything a report holds, as values
- `report`: `Report`, the same as a page, as JSON, as data frames and as plots
- `verdict`: what the numbers mean, in words
- `promise`: what a certificate promises, for a reader in a hurry
- `load_status`: whether a report may say that it may be released
- `text`: values as text, the same everywhere
- `tables`: what the page shows in rows
- `charts`: pictures as SVG
- `html`: the page, from `templates`
- `frames`, `plots`, `plain`: data frames, pictures and plain values
"""

from tabpe.evaluation.report.evaluate import evaluate
from tabpe.evaluation.report.evaluate_public import evaluate_public
from tabpe.evaluation.report.report import Report

__all__ = ["Report", "evaluate", "evaluate_public"]

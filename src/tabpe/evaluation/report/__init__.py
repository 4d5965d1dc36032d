"""The report: all measures of a synthetic table in one place, for people and for programs.

- `evaluate`: `evaluate`, all measures for the custodian; inputs in whatever form they come
- `evaluate_public`: `evaluate_public`, a report that may be released
- `contents`: `ReportContents`, everything a report holds, as values
- `report`: `Report`, the same as a page, as JSON, as data frames and as plots
- `verdict`: grades of the findings, in words
- `guarantee`: the privacy guarantee in words, and whether a report may be released
- `sheet`: `render_sheet`, the certificate as a page to read and sign
- `text`, `tables`, `charts`, `html`: values as text, in rows, as SVG, and the page from `templates`
"""

from tabpe.evaluation.report.evaluate import evaluate
from tabpe.evaluation.report.evaluate_public import evaluate_public
from tabpe.evaluation.report.report import Report
from tabpe.evaluation.report.sheet import render_sheet

__all__ = ["Report", "evaluate", "evaluate_public", "render_sheet"]

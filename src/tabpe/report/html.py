"""The page: one file, no network, every value escaped."""

from __future__ import annotations

from tabpe.report.contents import Contents


def page(contents: Contents) -> str:
    """Return the report as one self-contained HTML page."""
    raise NotImplementedError

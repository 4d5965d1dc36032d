"""The page: one HTML file, no network, every value escaped.

Every value passes through `text.format_value`, so that numbers look alike and no character is
hidden, and is escaped. Style and script are constants. The content security policy allows only
these two, by their hashes, so that even a value that was not escaped could not run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tabpe.evaluation.report import charts, guarantee, tables, text, verdict
from tabpe.evaluation.report.contents import ReportContents

if TYPE_CHECKING:
    from jinja2 import Environment


_PACKAGE, _FOLDER = "tabpe.evaluation.report", "templates"


def render_page(contents: ReportContents) -> str:
    """Return the report as one self-contained HTML page."""
    style, script = read_asset("style.css"), read_asset("page.js")
    return (
        build_environment()
        .get_template("page.html.j2")
        .render(
            contents=contents,
            sections=_list_sections(contents),
            cards=verdict.build_cards(contents),
            verdict=verdict.write_verdict(contents),
            doubts=guarantee.list_doubts(contents),
            failures=guarantee.list_failures(contents),
            fields_from_data=guarantee.list_fields_from_data(contents),
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=_build_policy(style, script),
        )
    )


def _list_sections(contents: ReportContents) -> dict[str, str]:
    """Return the titles of the sections of which the report holds something, by their ids."""
    sections: dict[str, tuple[str, Any]] = {
        "privacy": ("Privacy", True),
        "columns": ("Columns", contents.columns),
        "pairs": ("Pairs", contents.association),
        "high-order": ("High order", contents.wasserstein or contents.variation or contents.order),
        "utility": (
            "Utility",
            contents.utility or (contents.private_measures and contents.private_measures.accuracy),
        ),
        "representation": ("Representation", contents.representation),
        "map": ("Map", contents.projection),
        "evolution": ("Evolution", contents.history),
        "sample": ("Sample rows", contents.sample),
        "about": ("About", True),
    }
    return {key: title for key, (title, part) in sections.items() if part}


def _build_policy(style: str, script: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{hash_source(style)}'",
            f"script-src '{hash_source(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def hash_source(source: str) -> str:
    """Return the hash of a style or script, as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def read_asset(name: str) -> str:
    """Return the text of a file in the folder of templates."""
    return resources.files(_PACKAGE).joinpath(_FOLDER, name).read_text(encoding="utf-8")


@functools.cache
def build_environment() -> Environment:
    """Return what renders the templates; every value is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_PACKAGE, _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.format_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": text.format_percent,
        "number": text.format_number,
        "two": text.format_two_decimals,
        "three": text.format_three_decimals,
        "plain": text.format_plain,
        "up": text.format_rounded_up,
        "sure": guarantee.format_certainty,
    }
    environment.globals |= {
        "charts": charts,
        "tables": tables,
        "spend_shares": tables.list_spend_shares,
        "total_guarantee": verdict.compute_total_guarantee,
        "common": guarantee.COMMON,
        "is_compared": guarantee.is_compared,
        "worst_first": verdict.list_worst_first,
        "rate_columns": verdict.rate_columns,
        "describe_total": guarantee.describe_total,
    }
    return environment

"""The page: one file, no network, every value escaped.

The templates hold the words. What they put in comes through `text.shown`, so that no number looks
different from another and no character is hidden, and is escaped. Style and script are constants:
the policy of the page lets in nothing but these two, by their hashes, so that even a value that
was not escaped could not run.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tabpe.evaluation.metrics.columns import worst_first
from tabpe.evaluation.report import charts, guarantee, tables, text, verdict
from tabpe.evaluation.report.contents import Contents

if TYPE_CHECKING:
    from jinja2 import Environment


_PACKAGE, _FOLDER = "tabpe.evaluation.report", "templates"
SECTIONS = {
    "privacy": "Privacy",
    "columns": "Columns",
    "pairs": "Pairs",
    "high-order": "High order",
    "utility": "Utility",
    "representation": "Representation",
    "map": "Map",
    "evolution": "Evolution",
    "sample": "Sample rows",
    "about": "About",
}


def page(contents: Contents) -> str:
    """Return the report as one self-contained HTML page.

    Example:
        >>> html = page(Contents("public", "<b>", {"synthetic": 9}, None, (), {}))
        >>> "&lt;b&gt;" in html, "<b>" in html
        (True, False)
    """
    style, script = _asset("style.css"), _asset("page.js")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            contents=contents,
            sections={key: SECTIONS[key] for key in SECTIONS if key in _present(contents)},
            cards=verdict.cards(contents),
            verdict=verdict.verdict(contents),
            doubts=guarantee.doubts(contents),
            failures=guarantee.failures(contents),
            fields_from_data=guarantee.fields_from_data(contents),
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=_policy(style, script),
        )
    )


def _present(contents: Contents) -> set[str]:
    measured: dict[str, Any] = {
        "privacy": True,
        "columns": contents.columns,
        "pairs": contents.association,
        "high-order": contents.wasserstein or contents.variation or contents.order,
        "utility": contents.utility or (contents.bought and contents.bought.accuracy),
        "representation": contents.representation,
        "map": contents.projection,
        "evolution": contents.history,
        "sample": contents.sample,
        "about": True,
    }
    return {name for name, part in measured.items() if part}


def _policy(style: str, script: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _asset(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(_FOLDER, name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_PACKAGE, _FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": text.percent,
        "number": text.number,
        "two": text.two,
        "three": text.three,
        "plain": text.plain,
        "up": text.up,
        "sure": guarantee.sure,
    }
    environment.globals |= {
        "charts": charts,
        "tables": tables,
        "bill_parts": tables.bill_parts,
        "total_promise": verdict.total_promise,
        "common": guarantee.COMMON,
        "worst_first": worst_first,
    }
    return environment

"""A real browser, without a network, that tells what a page did."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tabpe.evaluation.report.html import render_page as html_of

PATIENCE = 600_000  # milliseconds: a machine that does other work as well is slow, not wrong


@dataclass
class Visit:
    """A page that is open, and what it did."""

    page: Any
    address: str
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.address)

    def _on_console(self, message):
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)

    def texts(self, selector):
        """The whole text of all elements that are shown."""
        shown = self.page.locator(selector).filter(visible=True)
        return shown.evaluate_all("found => found.map(one => one.textContent.trim())")


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page of these contents, in a fresh profile."""
    contexts = []

    def opened(contents, *, width=1280, **options):
        path = tmp_path / "report.html"
        path.write_text(html_of(contents), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        return Visit(context.new_page(), path.as_uri())

    yield opened
    for context in contexts:
        context.close()

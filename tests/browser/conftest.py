"""A real browser, without a network, that tells what a page did."""

import os
import shutil
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest

from tabpe.evaluation.report.html import render_page as html_of

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 600_000  # milliseconds: a machine that does other work as well is slow, not wrong
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


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


def not_tested(why):
    say = pytest.fail if os.environ.get("TABPE_EXPECT_BROWSER") == "1" else pytest.skip
    say(f"NOT TESTED in a browser: {why}")


@pytest.fixture(scope="session")
def browser():
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        not_tested(f"none of {', '.join(CHROMIUM)} is installed")
    if find_spec("playwright") is None:
        not_tested("playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=found, args=list(ARGUMENTS), timeout=PATIENCE
        )
        yield started
        started.close()


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

"""Take the pictures of the report that the pages show, from the demo.

    make demo && .venv/bin/python docs/screenshots.py

Needs what the tests in a browser need: playwright, and a Chromium on the system.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "pictures"
SHOW = "section => document.querySelector(section).scrollIntoView({behavior: 'instant'})"
PICTURES = {
    "report-light": ("light", 1280, 1180, "#findings"),
    "report-dark": ("dark", 1280, 1180, "#columns"),
    "report-high-order": ("light", 1280, 760, "#high-order"),
    "report-phone": ("light", 400, 800, "#findings"),
}


def taken(page: Page, name: str, section: str) -> Path:
    """Show a section of the page and take its picture."""
    if section != "#findings":
        page.evaluate(SHOW, section)
    page.screenshot(path=OUT / f"{name}.png")
    return OUT / f"{name}.png"


def main() -> None:
    """Take all pictures."""
    report = Path(sys.argv[1] if sys.argv[1:] else ROOT / "tabpe-demo" / "report.html").resolve()
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, (scheme, width, height, section) in PICTURES.items():
            size = {"width": width, "height": height}
            page = browser.new_page(color_scheme=scheme, viewport=size)
            page.goto(report.as_uri())
            print(taken(page, name, section))
        browser.close()


if __name__ == "__main__":
    main()

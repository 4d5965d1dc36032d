"""Take the pictures of the report that the pages show, from the demo.

    make pictures

Needs what the tests in a browser need: playwright, and a Chromium on the system. A digest of all
that the look of a page follows from is kept beside the pictures; a test fails when it is another.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "pictures"
SOURCES = OUT / "sources.json"
REPORT = ROOT / "src" / "tabpe" / "evaluation" / "report"
SHOW = "section => document.querySelector(section).scrollIntoView({behavior: 'instant'})"
PICTURES = {
    "report-light": ("light", 1280, 1180, "#head"),
    "report-dark": ("dark", 1280, 1180, "#columns"),
    "report-high-order": ("light", 1280, 1000, "#high-order"),
    "report-pairs": ("light", 1280, 1180, "#pairs"),
    "report-900": ("light", 900, 1180, "#head"),
    "report-phone": ("light", 400, 800, "#head"),
}
PAGES = {"report-page": "report.html", "certificate-page": "synthetic.certificate.html"}
MOST_PAGES = 2


def digest_sources() -> dict[str, str]:
    """Return the SHA-256 of each file that the look of a page follows from."""
    looks = [*REPORT.joinpath("templates").rglob("*"), REPORT / "charts.py", REPORT / "verdict.py"]
    return {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(looks)
        if path.is_file()
    }


def take_pictures(browser: Browser, report: Path) -> None:
    """Take a picture of each section and size."""
    for name, (scheme, width, height, section) in PICTURES.items():
        size = {"width": width, "height": height}
        page = browser.new_page(color_scheme=scheme, viewport=size)
        page.goto(report.as_uri())
        if section != "#head":
            page.evaluate(SHOW, section)
        page.screenshot(path=OUT / f"{name}.png")
        page.close()


def print_pages(browser: Browser, folder: Path) -> None:
    """Print the first pages on paper, and take a picture of each."""
    import pypdfium2

    for name, file in PAGES.items():
        page = browser.new_page()
        page.goto((folder / file).as_uri())
        printed = page.pdf(format="A4", print_background=True, prefer_css_page_size=True)
        page.close()
        for at, sheet in enumerate(pypdfium2.PdfDocument(printed)):
            if at < MOST_PAGES:
                sheet.render(scale=1.2).to_pil().save(OUT / f"{name}-{at + 1}.png")


def main() -> None:
    """Take all pictures."""
    folder = Path(sys.argv[1] if sys.argv[1:] else ROOT / "tabpe-demo").resolve()
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        take_pictures(browser, folder / "report.html")
        print_pages(browser, folder)
        browser.close()
    SOURCES.write_text(json.dumps(digest_sources(), indent=1) + "\n")


if __name__ == "__main__":
    main()

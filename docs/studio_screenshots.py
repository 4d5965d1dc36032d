"""Walk through the studio with the embedded example, and take a picture of every step.

    make pictures

Needs what the tests in a browser need: playwright, and a Chromium on the system.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

OUT = Path(__file__).parent / "pictures" / "studio"
PATIENCE = 1_200_000
SHOWN = 4  # the round that a run is shown in
HOLDING = Path(__file__).parents[1] / "tests" / "support" / "holding"
NARROW = {"width": 1024, "height": 800}
WIDE = {"width": 1280, "height": 900}
MESSY = """Patient;Aufnahme;Alter;Station;Kosten;Raucher
{rows}"""
ROW = "P{n:04d};{d:02d}.{m:02d}.2024;{age};{ward};{cost},{cents:02d} EUR;{smoker}\n"


def main() -> None:
    """Take all pictures."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        place = Path(name)
        write_messy_export(place / "klinik.csv")
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        words = [sys.executable, "-m", "tabpe", "studio", "project", "--no-browser"]
        server = subprocess.Popen(  # noqa: S603 (our own command)
            words,
            cwd=place,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {"XDG_DATA_HOME": str(place / "home"), "PYTHONUNBUFFERED": "1"}
            | {"PYTHONPATH": str(HOLDING), "TABPE_TEST_HOLD": str(place / "go")}
            | {"TABPE_TEST_HELD": str(SHOWN + 1)},
        )
        try:
            address = find_address(server)
            page = browser.new_page(viewport=WIDE, color_scheme="light")
            page.set_default_timeout(PATIENCE)
            page.goto(address)
            walk_messy(page)
            walk_example(page, place / "go")
        finally:
            server.terminate()
            server.wait()
            browser.close()


def write_messy_export(path: Path) -> None:
    """Write a small export as German hospitals have them; no person is in it."""
    wards = ("Chirurgie", "Innere", "Kardiologie")
    rows = "".join(
        ROW.format(
            n=n % 90,
            d=1 + n % 28,
            m=1 + n % 12,
            age="unbekannt" if n % 17 == 0 else 20 + n * 7 % 75,
            ward=wards[n * 5 % 3],
            cost=f"{1 + n % 9}.{n * 37 % 1000:03d}",
            cents=n % 100,
            smoker=("ja", "nein")[n % 3 == 0],
        )
        for n in range(300)
    )
    path.write_bytes(MESSY.format(rows=rows).encode("cp1252"))


def find_address(server: subprocess.Popen[str]) -> str:
    """Return the address that the server prints."""
    for line in server.stdout or ():
        found = re.search(r"http://\S+", line)
        if found:
            return found[0]
    raise SystemExit("the server did not start")


def walk_messy(page: Page) -> None:
    """Show what a messy export looks like: its first rows, its draft, persons, German."""
    take(page, "1-data")
    page.locator("#address").fill("klinik.csv")
    press(page, "Use this table")
    take(page, "2-schema-messy")
    press(page, "Check the table")
    page.locator("#fit section").wait_for()
    page.locator("#fit").scroll_into_view_if_needed()
    take(page, "2-schema-check", top=False)
    page.goto(re.sub("schema$", "data/preview", page.url))
    take(page, "1-data-chosen")
    page.goto(page.url.replace("data/preview", "protect"))
    press(page, "Show the share of rows that each bound keeps (private)")
    take(page, "3-protect-persons")
    page.goto(re.sub("protect/shares$", "schema", page.url))
    page.locator("#language").select_option("de")
    press(page, "Change")
    take(page, "2-schema-german")
    page.locator("#language").select_option("en")
    press(page, "Ändern")
    page.get_by_role("button", name="Change", exact=True).wait_for()


def walk_example(page: Page, go: Path) -> None:
    """Go from the embedded example to a bundle; the run waits for a file while it is shown."""
    page.goto(page.url.rpartition("/")[0] + "/data")
    press(page, "Use the example")
    page.emulate_media(color_scheme="dark")
    take(page, "2-schema-dark")
    page.emulate_media(color_scheme="light")
    press(page, "Go on")
    take(page, "3-protect")
    press(page, "Save and go on")
    page.locator("#total").fill("6")
    press(page, "Set the total")
    page.locator("#left").wait_for()
    press(page, "Simulate what each epsilon gives")
    page.locator(".curves svg").first.wait_for()
    take(page, "4-budget")
    page.locator("#plan").scroll_into_view_if_needed()
    take(page, "4-budget-plan", top=False)
    press(page, "Save and go on")
    take(page, "5-run")
    press(page, "Reserve the budget and start")
    page.get_by_text(f"Round {SHOWN} of").wait_for()
    take(page, "5-run-progress")
    go.touch()
    press(page, "Go on to the report")
    press(page, "Make the report")
    page.frame_locator("iframe.document").locator("h1").first.wait_for()
    take(page, "6-report")
    press(page, "Go on to the release")
    confirm(page)
    page.locator("#purpose").fill("Teaching: statistics for medical students")
    page.locator("#contact").fill("Data office, extension 4711")
    page.locator("#requested_by").fill("Ann Lee")
    take(page, "7-release-ask")
    press(page, "Ask a second person to approve")
    page.locator("summary", has_text="Make a key").click()
    press(page, "Make the key")
    page.locator("#approved_by").fill("ann lee")
    confirm(page)
    press(page, "Approve and write the bundle")
    take(page, "7-release-refused")
    page.locator("#approved_by").fill("Bo Ek")
    confirm(page)
    press(page, "Approve and write the bundle")
    page.frame_locator("iframe.document").first.locator("h1").first.wait_for()
    take(page, "7-release-bundle")
    press(page, "History and budgets")
    take(page, "8-history")
    page.set_viewport_size(NARROW)
    page.goto(re.sub("history$", "schema", page.url))
    take(page, "2-schema-1024")


def press(page: Page, name: str) -> None:
    """Press a button or follow a link by its words."""
    button = page.get_by_role("button", name=name, exact=True)
    button.or_(page.get_by_role("link", name=name, exact=True)).first.click()


def confirm(page: Page) -> None:
    """Tick every point of the checklist."""
    for one in page.locator("fieldset input[type=checkbox]").all():
        one.check()


def take(page: Page, name: str, *, top: bool = True) -> None:
    """Take a picture of what is in the window."""
    page.wait_for_load_state()
    if top:
        page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=OUT / f"{name}.png")


if __name__ == "__main__":
    main()

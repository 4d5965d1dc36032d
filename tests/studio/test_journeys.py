"""Journeys through the studio in a real browser, with a real server in a process of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from messy_exports import german_hospital, us_clinic
from studios import Proxy, serve_folder, stop_jobs
from tabpe.accounting.ledger import Ledger
from tabpe.studio.jobs import ENDED, PROCESS
from tabpe.verification import verify

PATIENCE = 900_000  # milliseconds: a machine that does other work as well is slow, not wrong
playwright = pytest.importorskip("playwright.sync_api")
AXE = Path(__file__).parents[2] / "build" / "axe" / "axe.min.js"


class Walk:
    """A person at the browser."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.requests, self.problems, self.responses = [], [], []
        self.listen(self.page)
        self.page.goto(address)

    def listen(self, page):
        """Hear what a page asks for and complains about."""
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message):
        refused = "the server responded with a status of 4" in message.text
        if message.type in ("error", "warning") and not refused:
            self.problems.append(message.text)

    def press(self, name):
        """Press a button or follow a link by its words; wait for the page that it leads to."""
        button = self.page.get_by_role("button", name=name, exact=True)
        button = button.or_(self.page.get_by_role("link", name=name, exact=True)).first
        if button.get_attribute("hx-post") is not None:  # it changes a part of this page
            button.click()
            return
        # Whatever leads to another page: the answer to the form, or a look at how far a run is.
        self.page.evaluate("() => { window.isLeft = true; }")
        button.click(no_wait_after=True)
        until = time.monotonic() + PATIENCE / 1000
        while self._is_left() and time.monotonic() < until:
            time.sleep(0.02)
        self.page.wait_for_load_state("load")

    def _is_left(self):
        """Whether the page is still the one that was to be left."""
        try:
            return bool(self.page.evaluate("() => window.isLeft === true"))
        except playwright.Error:  # between two pages
            return True

    def fill(self, **fields):
        """Fill in fields by their ids."""
        for name, value in fields.items():
            self.page.locator(
                f"#{name.replace('_', '-') if name.startswith('total') else name}"
            ).fill(value)

    def wait_for(self, words):
        """Wait until words are on the page."""
        self.page.get_by_text(words).first.wait_for()

    def wait_for_alert(self, words):
        """Wait until the page says what went wrong, with these words."""
        self.page.locator(".alert:visible", has_text=words).first.wait_for()

    def start_run(self, hold=None):
        """Start the run; with the file that it waits for, see it in its first round for certain."""
        self.press("Reserve the budget and start")
        if hold is not None:
            self.wait_for("Round 1 of")
            self.page.locator("progress[value='1']").wait_for()

    def confirm(self):
        """Tick every point of the checklist, once it is there."""
        self.page.locator("fieldset input[type=checkbox]").first.wait_for()
        for one in self.page.locator("fieldset input[type=checkbox]").all():
            one.check()

    def set_budget(self, total, epsilon, dataset=None):
        """Set the total, then the budget of the run."""
        self.fill(total=total)
        if dataset:
            self.page.locator("#total-dataset").fill(dataset)
        self.press("Set the total")
        self.page.locator("#left").wait_for()
        self.fill(epsilon=epsilon)
        if dataset:
            self.fill(dataset=dataset)
        self.press("Save and go on")


@pytest.fixture
def place(tmp_path):
    """A folder for the data, a project and the user's own folder."""
    yield tmp_path
    stop_jobs(tmp_path / "ward")


@pytest.fixture
def serve(place):
    """Start the server on the project of the place."""
    return lambda **options: serve_folder(
        place / "ward", "--data", place, home=place / "home", **options
    )


@pytest.fixture
def hold(place):
    """The file that a run waits for in its second round."""
    return place / "go"


@pytest.fixture
def proxy(place):
    """What hears everything that leaves the machine."""
    proxy = Proxy(place / "calls.txt")
    yield proxy
    proxy.close()


@pytest.fixture
def walk(browser):
    """Open an address in a fresh profile, and look at what the pages did at the end."""
    walks = []

    def begin(address, **options):
        walks.append(Walk(browser, address, **options))
        return walks[-1]

    yield begin
    for one in walks:
        one.context.close()
        assert one.problems == []
        assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in one.requests)


def test_the_example_goes_from_the_start_to_a_signed_bundle_in_three_minutes(
    serve, walk, place, hold, proxy
):
    with serve(hold=hold, proxy=proxy) as server:
        began = time.monotonic()
        seen = walk(server.address, proxy={"server": proxy.address, "bypass": "127.0.0.1"})
        pages = [seen.page.title()]
        seen.press("Use the example")
        seen.press("Check the table")
        seen.wait_for("All cells of 5,000 rows fit")
        seen.press("Go on")
        seen.press("Save and go on")
        seen.set_budget("6", "3")
        seen.start_run(hold)
        hold.touch()
        seen.press("Go on to the report")
        seen.press("Make the report")
        frame = seen.page.frame_locator("iframe.document")
        frame.locator("h1").first.wait_for()
        seen.press("Go on to the release")
        seen.confirm()
        seen.fill(purpose="Teaching", contact="Data office", requested_by="Ann Lee")
        seen.press("Ask a second person to approve")
        seen.page.locator("summary", has_text="Make a key").click()
        seen.fill(again="correct horse")
        seen.page.locator("#new-passphrase").fill("correct horse")
        seen.press("Make the key")
        seen.page.locator("input[name=sign][value=project]").wait_for()
        seen.confirm()
        seen.fill(approved_by="ann lee", passphrase="correct horse")
        seen.press("Approve and write the bundle")
        seen.wait_for_alert("second person")
        seen.confirm()
        seen.fill(approved_by="Bo Ek", passphrase="correct horse")
        seen.press("Approve and write the bundle")
        bundle = Path(seen.page.locator("#bundle").inner_text())
        seconds = time.monotonic() - began
        seen.page.frame_locator("iframe.document").first.locator("h1").first.wait_for()
        pages.append(seen.page.title())
        seen.press("History and budgets")
        assert "released" in seen.page.locator("main").inner_text()
        assert (proxy.list_requests(), proxy.list_calls()) == ([], [])
        check_ears(seen, proxy)
    found = verify(
        bundle / "synthetic.certificate.json",
        bundle / "synthetic.csv",
        place / "ward" / "ledger.db",
        key=place / "ward" / "studio.pub",
    )
    assert found.holds, found.checks
    assert pages == ["Data – tabpe studio", "Release – tabpe studio"]  # noqa: RUF001 (a dash)
    print(f"from the start to the bundle: {seconds:.0f} s")
    # A shared machine may be many times slower than the one it is for; the work itself is short.
    work = json.loads((place / "ward" / "runs" / "1" / "job" / ENDED).read_text())
    assert seconds - work["seconds"] < PATIENCE / 1000
    assert not (place / "home" / "tabpe" / "ledger.db").exists()  # the example has its own


def check_ears(seen, proxy):
    """A proxy that hears nothing ever would prove nothing."""
    other = seen.context.new_page()
    with contextlib.suppress(Exception):  # it answers nothing
        other.goto("http://tabpe.example/page")
    assert proxy.list_requests()[:1] == ["GET http://tabpe.example/page HTTP/1.1"]
    program = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    environment = os.environ | proxy.make_environment()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=600)
    (call,) = proxy.list_calls()
    assert "('127.0.0.1', 9)" in call


@pytest.mark.parametrize("make", [german_hospital, us_clinic], ids=lambda make: make.__name__)
def test_a_messy_export_gets_a_certificate(serve, walk, place, make):
    export = make()
    export.write(place)
    with serve() as server:
        seen = walk(server.address)
        seen.page.locator("#address").fill(export.file)
        seen.press("Use this table")
        assert seen.page.locator("#undecided").is_visible()
        for row in seen.page.locator("tr.later").all()[:2]:
            row.get_by_label("drop").check()
        seen.press("Save")
        seen.page.get_by_text("I corrected what is listed").click()
        seen.press("Declare all undecided columns public")
        seen.page.locator("#undecided").wait_for(state="detached")
        seen.press("Go on")
        if export.unit is not None:
            assert seen.page.locator("#unit").input_value() == export.unit
        seen.press("Save and go on")
        seen.set_budget("10", "8")
        seen.press("Reserve the budget and start")
        seen.press("Go on to the report")
    plain = json.loads((place / "ward" / "runs" / "1" / "synthetic.certificate.json").read_text())
    assert plain["fields_from_data"] == []
    (entry,) = Ledger(place / "home" / "tabpe" / "ledger.db").entries()
    assert entry.state == "spent"
    assert (entry.unit is None) == (export.unit is None)


def test_a_run_outlives_a_killed_server_and_is_charged_once(serve, walk, place, hold):
    with serve(hold=hold) as server:
        left = begin_run(walk, server, hold)
        server.kill()
        left.wait_for_alert("does not answer")
        left.problems.clear()  # the browser found nobody at the address, and says so
        left.context.close()
    with serve() as server:
        seen = walk(server.address)
        seen.page.goto(seen.page.url.rpartition("/")[0] + "/run")
        seen.wait_for("Round 1 of")  # it goes on without the server, and this one finds it
        hold.touch()
        seen.press("Go on to the report")
    check_one_charge(place)


def test_a_killed_run_goes_on_where_it_was_and_is_charged_once(serve, walk, place, hold):
    folder = place / "ward" / "runs" / "1"
    with serve(hold=hold) as server:
        seen = begin_run(walk, server, hold)
        process = json.loads((folder / "job" / PROCESS).read_text())
        os.kill(process["pid"], signal.SIGKILL)
        seen.wait_for("The run was interrupted")
        seen.context.close()
    hold.touch()
    before = {path.name: path.read_bytes() for path in (folder / "run").glob("*.measured")}
    assert before
    assert not (folder / "job" / ENDED).exists()
    with serve() as server:
        seen = walk(server.address)
        seen.page.goto(seen.page.url.rpartition("/")[0] + "/run")
        seen.wait_for_alert("interrupted")
        seen.press("Go on with this run")
        seen.press("Go on to the report")
    after = {path.name: path.read_bytes() for path in (folder / "run").glob("*.measured")}
    assert before.items() < after.items()
    check_one_charge(place)


def begin_run(walk, server, hold):
    """Begin a run of the example, which then waits in its middle."""
    seen = walk(server.address)
    seen.press("Use the example")
    seen.press("Go on")
    seen.press("Save and go on")
    seen.set_budget("6", "3")
    seen.start_run(hold)
    return seen


def check_one_charge(place):
    (entry,) = Ledger(place / "ward" / "ledger.db").entries("example")
    assert entry.state == "spent"
    certificate = place / "ward" / "runs" / "1" / "synthetic.certificate.json"
    assert verify(
        certificate, certificate.with_name("synthetic.csv"), place / "ward/ledger.db"
    ).holds


def test_every_refusal_says_what_to_do(serve, walk, place):
    (place / "empty.csv").write_text("")
    (place / "small.csv").write_text("a,b\n" + "1,x\n2,y\n" * 20)
    with serve() as server:
        seen = walk(server.address)
        for address, words in (
            ("/etc/passwd", "outside of the folders"),
            ("nothing.csv", "no such file"),
            ("empty.csv", "empty"),
            ("postgresql://ann:secret@host/db", "password"),
            ("s3://bucket/x.csv", "files of this machine"),
        ):
            seen.fill(address=address)
            seen.press("Use this table")
            seen.wait_for_alert(words)
            assert seen.page.locator("#address").input_value() == address
        seen.fill(address="small.csv")
        seen.press("Use this table")
        row = seen.page.locator("tbody tr").first
        row.get_by_label("public").check()
        row.locator("#min-0").fill("many")
        seen.press("Save")
        seen.wait_for_alert("number")
        assert seen.page.locator("#min-0").input_value() == "many"
        for choice in ("drop", "drop"):
            for one in seen.page.locator("tbody tr").all():
                one.get_by_label(choice).check()
        seen.page.locator("#min-0").fill("1")
        seen.press("Save")
        base = seen.page.url.rpartition("/")[0]
        seen.page.goto(f"{base}/run")
        assert "Every column is left out" in seen.page.locator(".caution").first.inner_text()
        seen.page.goto(f"{base}/schema")
        seen.press("Undo the last change")
        seen.press("Estimate all undecided columns")
        seen.press("Go on")
        seen.page.get_by_label("perhaps several rows").check()
        seen.page.locator("#unit").select_option("a")
        seen.press("Save and go on")
        seen.wait_for_alert("leave it out")
        seen.page.locator("input[value=rows]").check()
        seen.press("Save and go on")
        seen.fill(rows="40")
        seen.press("Save and go on")
        seen.wait_for_alert("no total budget")
        seen.set_budget("1", "3")
        seen.wait_for_alert("more than what is left")
        seen.page.goto(f"{base}/report")
        assert "no finished run" in seen.page.locator("main").inner_text()
        seen.page.goto(f"{base}/release")
        assert "no finished run" in seen.page.locator("main").inner_text()


def test_two_tabs_do_not_undo_each_other(serve, walk, place):
    with serve() as server:
        seen = walk(server.address)
        seen.press("Use the example")
        other = seen.context.new_page()
        seen.listen(other)
        other.goto(seen.page.url)
        other.locator("tbody tr").nth(1).get_by_label("drop").check()
        other.get_by_role("button", name="Save", exact=True).click()
        other.locator("tr.drop").wait_for()
        seen.page.locator("#max-0").fill("90")
        seen.press("Save")
        seen.wait_for_alert("another tab")
        # What is shown is what is there now, so that to save it undoes nothing.
        assert seen.page.locator("tr.drop").count() == 1
        assert seen.page.locator("#max-0").input_value() == "100"


def test_an_exhausted_budget_starts_no_run(serve, walk, place):
    with serve() as server:
        seen = walk(server.address)
        seen.press("Use the example")
        seen.press("Go on")
        seen.press("Save and go on")
        seen.set_budget("3", "3")
        seen.press("Reserve the budget and start")
        seen.press("Go on to the report")
        base = seen.page.url.rpartition("/")[0]
        seen.page.goto(f"{base}/run")
        seen.press("Reserve the budget and start")
        seen.wait_for_alert("more than what is left")
        seen.page.goto(f"{base}/history")
        assert seen.page.locator("tbody").first.locator("tr").count() == 1
    assert len(Ledger(place / "ward" / "ledger.db").entries()) == 1


def test_a_run_is_stopped_in_good_order(serve, walk, place, hold):
    with serve(hold=hold) as server:
        seen = begin_run(walk, server, hold)
        seen.press("Stop the run")
        seen.wait_for_alert("stopped")
        (entry,) = Ledger(place / "ward" / "ledger.db").entries()
        assert entry.state == "reserved"
        hold.touch()
        seen.press("Go on with this run")
        seen.press("Go on to the report")
    check_one_charge(place)


def test_a_german_reads_german(serve, walk, place):
    with serve() as server:
        seen = walk(server.address, locale="de-DE")
        assert seen.page.title() == "Daten – tabpe studio"  # noqa: RUF001 (a dash)
        seen.press("Beispiel verwenden")
        seen.press("Tabelle prüfen")
        seen.wait_for("Alle Zellen von 5.000 Zeilen passen")
        seen.press("Weiter")
        seen.press("Speichern und weiter")
        seen.fill(total="2,5")
        seen.press("Gesamtbudget festlegen")
        assert seen.page.locator("#left").inner_text() == "2,5"
        seen.page.locator("#language").select_option("en")
        seen.press("Ändern")
        seen.wait_for("What epsilon means")


# What every page must have for a keyboard and a screen reader.
FAULTS = """() => {
  const found = [];
  const seen = new Set();
  for (const one of document.querySelectorAll('[id]')) {
    if (seen.has(one.id)) found.push('twice: ' + one.id);
    seen.add(one.id);
  }
  for (const one of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
    if (!one.labels.length && !one.ariaLabel) found.push('no label: ' + one.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll('button, a[href], summary'))
    if (!(one.textContent.trim() || one.ariaLabel)) found.push('no name: ' + one.outerHTML);
  for (const one of document.querySelectorAll('[aria-labelledby]'))
    if (!document.getElementById(one.getAttribute('aria-labelledby'))) found.push('points nowhere');
  for (const one of document.querySelectorAll('iframe'))
    if (!one.title) found.push('frame without a title');
  for (const name of ['main', 'header', 'nav', 'h1', 'footer'])
    if (document.querySelectorAll(name).length !== 1) found.push('not one ' + name);
  const levels = [...document.querySelectorAll('h1, h2, h3')].map(one => Number(one.tagName[1]));
  levels.forEach((level, at) => {
    if (at && level > levels[at - 1] + 1) found.push('level skipped');
  });
  if (document.documentElement.scrollWidth > innerWidth) found.push('wider than the window');
  return found;
}"""
# The contrast of text against the nearest background behind it, by WCAG 2.2.
CONTRASTS = """selector => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = channels(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = Array.from(document.querySelectorAll(selector));
  return found.filter(one => !one.disabled).map(element => {
    const pair = [channels(getComputedStyle(element).color), behind(element)].map(light);
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    return [ratio, element.tagName + '.' + element.className];
  });
}"""
COLOURED = "p, h1, h2, h3, dt, dd, td, th, li, label, legend, button, a, summary, .mark, .state"


@pytest.mark.parametrize(
    ("scheme", "width", "zoom"), [("light", 1280, 1), ("dark", 1024, 1), ("light", 1024, 2)]
)
def test_every_page_is_for_everybody(serve, walk, place, scheme, width, zoom):
    (place / "x.csv").write_text("age,ward\n" + "31,eye\n58,heart\n" * 30)
    with serve() as server:
        view = {"width": width // zoom, "height": 900}
        seen = walk(server.address, color_scheme=scheme, device_scale_factor=zoom)
        seen.page.set_viewport_size(view)
        seen.fill(address="x.csv")
        seen.press("Use this table")
        base = seen.page.url.rpartition("/")[0]
        pages = ["data", "data/preview", "schema", "protect", "budget", "run", "report", "history"]
        for name in pages:
            seen.page.goto(f"{base}/{name}")
            assert seen.page.evaluate(FAULTS) == [], name
            weak = [one for one in seen.page.evaluate(CONTRASTS, COLOURED) if one[0] < 4.5]
            assert weak == [], name
            if AXE.is_file():
                seen.page.evaluate(AXE.read_text())
                found = seen.page.evaluate("axe.run()")["violations"]
                assert [(one["id"], one["nodes"][0]["html"]) for one in found] == [], name


def test_the_way_is_possible_with_the_keyboard_alone(serve, walk, place):
    with serve() as server:
        seen = walk(server.address)
        press = seen.page.keyboard.press
        press("Tab")
        assert "skip" in seen.page.evaluate("document.activeElement.className")
        for _ in range(60):
            press("Tab")
            if seen.page.evaluate("document.activeElement.textContent") == "Use the example":
                break
        outline = seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        press("Enter")
        seen.page.locator("#columns").wait_for()


def test_the_command_says_what_is_missing_without_the_extra(monkeypatch, capsys):
    from tabpe._utils import extras
    from tabpe.cli.app import app

    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(SystemExit) as ended:
        app(["studio"])
    assert ended.value.code == 1
    assert "pip install 'tabpe[studio]'" in capsys.readouterr().err

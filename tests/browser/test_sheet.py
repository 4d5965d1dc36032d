"""The sheet in a real browser: two pages of paper, whatever the certificate holds, and silent."""

import dataclasses
import re

import pytest

from certificates import ENTRY, TABLE, USERS, honest
from tabpe.accounting import ReleaseStatement, Spend, SpentTotal
from tabpe.evaluation.report.sheet import render_sheet

STATED = honest(release=TABLE, ledger=ENTRY).with_statement(
    ReleaseStatement("Teaching statistics", "Data office", SpentTotal(2, 1.41, 1e-6, 2.0))
)


def make_full(text):
    """A certificate whose every text is as long as can be."""
    long, names = (text * 500)[:2000], tuple(f"{n}{text * 9}" for n in range(300))
    return dataclasses.replace(
        honest(neighbours=USERS, strict=True),
        statement=ReleaseStatement(
            long[:400].strip(), long[:200].strip(), SpentTotal(10**6, 1.23456, 1.2e-17, 99.9)
        ),
        release=dataclasses.replace(TABLE, file=f"{long[:240]}.csv", rows=10**12),
        ledger=dataclasses.replace(ENTRY, dataset=long, entry=long),
        schema={"columns": [{"name": name, "source": "public"} for name in names]},
        unit=long,
        estimated=names,
        fields_from_data=names,
        assumed_public=(long,) * 20,
        notes=(long,) * 20,
        configuration=dict.fromkeys(names, text),
        versions=dict.fromkeys(names, text),
        spends=tuple(Spend(long[:100], 10.0 + n, 10**8, 1e-12) for n in range(100)),
        accountant=long,
        noise=long,
        delta_source=long,
        seed_policy=long,
        sampling_delta=1e-9,
        created=long,
    )


SHEETS = {
    "usual": STATED,
    "nothing stated": honest(),
    "full of words": make_full("the quick brown fox "),
    "full of capitals": make_full("WMWM mmm "),
    "full of one word": make_full("abcdefghij"),
    "full of markup": make_full("<b onclick=x>&amp;"),
    "full of Chinese": make_full("隐私证书"),
}


@pytest.fixture
def open_sheet(browser, tmp_path):
    """Open the sheet of a certificate; close the page at the end."""
    pages = []

    def opened(certificate):
        path = tmp_path / "sheet.html"
        path.write_text(render_sheet(certificate), encoding="utf-8")
        page = browser.new_page()
        pages.append(page)
        problems = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path.as_uri())
        return page, problems

    yield opened
    for page in pages:
        page.close()


@pytest.mark.parametrize("kind", SHEETS)
@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_it_prints_on_two_pages(open_sheet, kind, paper):
    page, problems = open_sheet(SHEETS[kind])
    printed = page.pdf(format=paper)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    assert problems == []


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("kind", SHEETS)
def test_it_fits_a_screen(open_sheet, kind, width):
    page, _ = open_sheet(SHEETS[kind])
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width

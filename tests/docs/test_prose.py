"""Pages are short, lines fit a screen, no private word is left: `tools/check_prose.py`."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("check_prose", ROOT / "tools" / "check_prose.py")
prose = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prose)
PAGES = prose.list_pages()
PROOFS = (ROOT / "docs" / "explanation" / "proofs.md").read_text(encoding="utf-8")
# Pages whose subject is not a command or a setting: they need no example near the top.
PLAIN = {"glossary", "proofs", "architecture", "index"}
# Pages that the site makes of other files (`tools/site/hook.py`); its build checks links to them.
MADE_BY_SITE = re.compile(r"(?:notebooks|project|reference)/[\w/-]+\.md$")
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
WITH_EXAMPLES = [
    page for page in PAGES if page.stem not in PLAIN and not re.match(r"proofs-\d", page.stem)
]


@each_page
def test_a_page_breaks_no_rule(page):
    assert prose.list_broken_rules(page) == []


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_a_page_has_an_example_near_the_top(page):
    assert "```" in page.read_text(encoding="utf-8")[:3000]


@each_page
def test_a_page_has_one_title_and_headings_to_scan(page):
    lines = [line for _, line in prose.iterate_plain_lines(page.read_text(encoding="utf-8"))]
    assert sum(line.startswith("# ") for line in lines) == 1
    headings = [line for line in lines if line.startswith("## ")]
    assert headings or prose.count_words("\n".join(lines)) < 1000


@each_page
def test_links_lead_somewhere(page):
    text = "\n".join(line for _, line in prose.iterate_plain_lines(page.read_text("utf-8")))
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
        path = (page.parent / target).resolve() if target else page
        if MADE_BY_SITE.search(path.as_posix()) and not path.exists():
            continue
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in list_anchors(path), (target, anchor)


def list_anchors(path):
    """Return the anchors of a page, as forges and mkdocs make them of headings."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings]
    return {re.sub(r"\s", "-", heading) for heading in plain}


def test_the_sources_use_the_words_of_the_field():
    assert prose.list_broken_sources() == []


def test_what_people_read_elsewhere_uses_the_words_of_the_field():
    places = {place for place, _ in prose.list_other_texts()}
    assert {"CHANGELOG.md", "SECURITY.md", ".github/ISSUE_TEMPLATE/bug.yml"} <= places
    assert {"docs/reference/options.md", "docs/notebooks/compare.ipynb"} <= places
    assert prose.list_broken_elsewhere() == []


def test_lines_of_the_changelog_fit_a_screen():
    assert prose.find_long_lines((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "The promise is kept.",
        "It is an item of the bill.",
        "Counts are bought with budget.",
        "A slack of delta.",
        "What the pool foretells.",
        "It was foretold.",
        "The surprise of a round.",
        "The rooms of the code.",
        "The keeper asks the crew.",
        "Classes are evolved apart.",
        "At most 73% sure, but for a chance of 0.05%.",
        "Rows that are made up.",
        "A row counts once.",
        "A user weighs one.",
        "Tables of columns and\ntables of pairs.",
    ],
)
def test_a_private_word_is_noticed(text):
    assert prose.find_banned(text)


def test_usual_words_are_left_alone():
    text = (
        "A guarantee, the budget, a row adds 1 to a cell, no surprise, except with probability b."
    )
    assert prose.find_banned(text) == []


def test_lines_are_measured_outside_of_tables_code_and_single_links():
    long = "word " * 30
    fine = f"| {long} |\n\n```sh\n{long}\n```\n\n![{long}](a.png)\n"
    assert prose.find_long_lines(fine) == []
    assert prose.find_long_lines(f"a\n{long}\n") == [2]


def test_reading_ease_is_that_of_known_sentences():
    assert prose.compute_reading_ease("The cat sat on the mat. The dog ran.") > 100
    hard = "Institutional considerations necessitate sophisticated characterization."
    assert prose.compute_reading_ease(hard) < 0
    assert prose.compute_reading_ease("```\ncode\n```") == 0


def test_every_theorem_is_listed_proved_and_tested():
    pages = {path.name: path.read_text("utf-8") for path in PAGES if "proofs-" in path.name}
    rows = [line.strip("|").split("|") for line in PROOFS.splitlines() if line.startswith("| ")]
    claims = {cells[0].strip(): cells for cells in rows if "proofs-" in cells[2]}
    assert [f"Theorem {number}" in claims for number in range(1, 19)] == [True] * 18
    for name, cells in claims.items():
        (proof,) = re.findall(r"\((proofs-[\w-]+\.md)\)", cells[2])
        if name:
            assert f"**{name}" in pages[proof], (name, proof)
        tests = re.findall(r"`(tests/[\w/]+\.py)`", cells[3])
        assert tests, name
        assert all((ROOT / test).is_file() for test in tests), name


def test_every_proof_that_the_sources_name_is_there():
    listed = set(re.findall(r"Theorem (\d+)", PROOFS))
    for path in (ROOT / "src" / "tabpe").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for first, second in re.findall(r"[Tt]heorems? (\d+)(?:\s+and\s+(\d+))? of\s", text):
            assert {first, second} - {""} <= listed, path
        for page in re.findall(r"docs/explanation/[\w-]+\.md", text):
            assert (ROOT / page).is_file(), (path, page)

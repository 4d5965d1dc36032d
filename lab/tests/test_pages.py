"""The pages of results: their figures are those of the records."""

import importlib.util
import re
from pathlib import Path

from tabpe_lab.exhibits import read_suite
from tabpe_lab.page import remake_page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "lab" / "results" / "beyond.md"
SUITE = ROOT / "lab" / "experiments" / "beyond" / "quick.yaml"


def results():
    spec = importlib.util.spec_from_file_location("results", ROOT / "lab" / "pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_of_the_committed_records():
    text = PAGE.read_text(encoding="utf-8")
    sources = results().sources(SUITE, PAGE, ROOT / "lab" / "results")
    assert remake_page(text, sources) == text, "run: python lab/pages.py"


def test_every_experiment_beyond_the_paper_is_on_it():
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"<!-- made: runs (\S+) full -->", text))
    assert named == {experiment.name for experiment in read_suite(SUITE).experiments}


def test_what_it_links_to_is_there():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", PAGE.read_text(encoding="utf-8")):
        assert (PAGE.parent / link).exists(), link


def test_the_page_on_what_was_run_is_made_of_the_committed_records():
    made = results().make_coverage(ROOT / "lab" / "results")
    page = ROOT / "lab" / "results" / "coverage.md"
    assert page.read_text(encoding="utf-8") == made, "run: python lab/pages.py"


def test_claims_story_leaderboard_and_list_are_made_of_the_committed_records():
    folder = ROOT / "lab" / "results"
    module = results()
    _, page = module.make_board(folder)
    assert (folder / "leaderboard.md").read_text(encoding="utf-8") == page, "python lab/pages.py"
    claims = (folder / "claims.md").read_text(encoding="utf-8")
    assert claims == module.make_claims(folder), "python lab/pages.py"
    story = (folder / "README.md").read_text(encoding="utf-8")
    assert story == module.make_story(folder), "python lab/pages.py"
    made = module.make_results(folder)
    assert (folder / "results.json").read_text(encoding="utf-8") == made, "python lab/pages.py"
    assert (folder / "pictures" / "ranks.svg").is_file()


def test_the_story_links_to_what_is_there():
    folder = ROOT / "lab" / "results"
    text = (folder / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert len([link for link in links if link.endswith(".svg")]) == 5
    for link in links:
        assert (folder / link).exists(), link
    assert text.count("<details>") == text.count("</details>") == 5

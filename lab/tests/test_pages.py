"""The page on what goes beyond the paper: its figures are those of the records."""

import importlib.util
import re
from pathlib import Path

from tabpe_lab.exhibits import read_suite
from tabpe_lab.page import remake_page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "beyond.md"
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

"""What is said about packages, versions and files of the forge is what they are."""

import importlib.metadata
import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

import tabpe

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
MAKEFILE = (ROOT / "Makefile").read_text()
# Extras for those who work on tabpe itself.
DEVELOPMENT = {"dev", "docs", "notebooks", "peers"}
PAGE = (ROOT / "docs" / "how-to" / "install.md").read_text()
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def list_lower_bounds(requirements):
    return dict(re.match(r"([\w-]+)(?:\[.*\])?>=([\d.]+)", one).groups() for one in requirements)


def test_the_oldest_versions_that_are_tested_are_the_lower_bounds():
    (extras,) = re.findall(r"oldest-versions.txt '\.\[(.*?)\]'", MAKEFILE)
    declared = list(PROJECT["dependencies"])
    for extra in extras.split(","):
        declared += PROJECT["optional-dependencies"][extra]
    lines = (ROOT / "tools" / "oldest-versions.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert pinned == list_lower_bounds(declared)


def test_the_page_of_sizes_is_what_the_record_says():
    tool = runpy.run_path(str(ROOT / "tools" / "write_weight.py"))
    assert tool["PAGE"].read_text() == tool["render_page"](), "run python tools/write_weight.py"


def test_the_record_of_sizes_has_every_extra_and_the_dependencies_of_the_core():
    record = json.loads((ROOT / "lab/benchmarks/results/weight.json").read_text())
    assert set(record["extras"]) == set(PROJECT["optional-dependencies"]) - DEVELOPMENT
    needed = {name.lower() for name in list_lower_bounds(PROJECT["dependencies"])} - {"filelock"}
    assert needed <= set(record["core"]["packages"])
    assert record["seconds"]["import tabpe"] - record["seconds"]["python"] < 0.25


def test_the_page_names_every_extra():
    extras = set(PROJECT["optional-dependencies"]) - DEVELOPMENT
    assert [name for name in extras if f"`{name}`" not in PAGE] == []
    assert len(PAGE.split()) < 1200


def test_links_of_the_readme_are_absolute_where_an_index_shows_it():
    shown = importlib.metadata.metadata("tabpe").json["description"]
    link = r"(?:\]\(|src=\")([^)\"\s]*)"
    links = re.findall(link, shown)
    of_files = re.findall(link.replace("([", "(?!https?:|#)(["), (ROOT / "README.md").read_text())
    assert [link for link in links if not link.startswith("https://")] == []
    assert len(of_files) > 10
    for place in of_files:
        assert (ROOT / place.partition("#")[0]).exists()
        assert any(
            link.endswith(f"/tabpe/tabpe/{tree}main/{place}")
            for link in links
            for tree in ("", "blob/")
        )


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == tabpe.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == PROJECT["urls"]["Source"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_targets_that_exist(path):
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    asked = {target for one in commands for target in re.findall(r"\bmake ([\w-]+)", one)}
    assert asked
    assert [one for one in asked if not re.search(rf"^{one}:", MAKEFILE, re.MULTILINE)] == []


def test_the_image_runs_as_a_user_without_rights_and_without_a_compiler():
    text = (ROOT / "Dockerfile").read_text()
    _, last = text.rsplit("\nFROM ", 1)
    words = [line.split() for line in last.splitlines() if line]
    assert ["USER", "10001"] in words
    assert "apt-get" not in last
    assert not [word for line in words for word in line if word.startswith("root")]
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", text, re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
        assert f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines(), name


def test_wheels_are_built_for_what_the_classifiers_say():
    versions = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if ":: 3." in one}
    assert versions == {"3.11", "3.12", "3.13", "3.14"}
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == ["cp311-*", "cp312-*"]
    assert PYPROJECT["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    assert "promise" not in PROJECT["description"]

"""The documentation site builds strictly, is complete, and needs no network."""

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
import typer

from tabpe.cli.app import app

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools" / "site"
PACKAGES = (
    "tabpe",
    "tabpe.accounting",
    "tabpe.accounting.ledger",
    "tabpe.audit",
    "tabpe.baselines",
    "tabpe.evaluation.planning",
    "tabpe.evaluation.private_metrics",
    "tabpe.evaluation.report",
    "tabpe.measurement",
    "tabpe.verification",
)
# Values without a docstring, a type of text, and names for programs that build on it.
VALUES = {"__version__", "METHODS", "OK", "FAILED", "GIVEN"}
PATIENCE = 600_000  # milliseconds


def list_commands(command, words="tabpe"):
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from list_commands(below, f"{words} {name}")


def build_site(folder):
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | quiet,
        capture_output=True,
        text=True,
        check=False,
    )


def find_missing_names(folder):
    """Return public names that have no entry in the reference."""
    pages = "".join(page.read_text() for page in folder.glob("reference/api/*.html"))
    anchors = set(re.findall(r'id="(tabpe\.[\w.]+)"', pages))
    return [
        f"{package}.{name}"
        for package in PACKAGES
        for name in importlib.import_module(package).__all__
        if name not in VALUES and not any(one.endswith(f".{name}") for one in anchors)
    ]


def find_remote_loads(folder):
    """Return what pages load from elsewhere: scripts, styles, pictures, fonts."""
    found = []
    for page in folder.rglob("*.html"):
        tags = re.findall(
            r"<(?!a\b)\w+[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>", page.read_text()
        )
        found += [(page.name, tag) for tag in tags]
    for style in folder.rglob("*.css"):
        found += [(style.name, url) for url in re.findall(r"url\(\s*.?https?:", style.read_text())]
    return found


def visit_site(folder, browser):
    """Return what a browser asks of other hosts, its errors, and how much a search finds."""
    wrong = []
    with browser.new_page() as page:
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda one: one.url.startswith("http") and wrong.append(one.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        for name in ("reference/api/tabpe", "notebooks/quick-start", "index"):
            page.goto((folder / f"{name}.html").as_uri(), timeout=PATIENCE)
        page.locator(".md-search__input").fill("ledger")
        # Keys that come before the index is loaded are lost, so one is pressed again and again.
        page.wait_for_function(
            """() => {
                const field = document.querySelector(".md-search__input");
                field.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
                return document.querySelector(".md-search-result__item");
            }""",
            polling=500,
        )
        return wrong, page.locator(".md-search-result__meta").inner_text()


# One test, because the build takes long: 17 s of a core, most of it the reference of Python.
def test_the_site_builds_strictly_is_complete_and_needs_no_network(tmp_path, request):
    pytest.importorskip("mkdocs")
    built = build_site(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    assert find_missing_names(tmp_path) == []
    assert find_remote_loads(tmp_path) == []
    for name in ("changelog", "contributing"):
        assert len((tmp_path / "project" / f"{name}.html").read_text()) > 5000
    # Asked for here: what is above holds without a browser too.
    wrong, found = visit_site(tmp_path, request.getfixturevalue("browser"))
    assert wrong == []
    assert re.match(r"[1-9]\d* matching document", found)


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    return runpy.run_path(str(TOOLS / "reference_pages.py"))


def test_every_command_argument_and_option_is_in_the_reference(pages):
    text = pages["render_commands"]()
    for words, command in list_commands(typer.main.get_command(app)):
        (section,) = re.findall(
            rf"^## `{words}`\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE
        )
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert all(f"`{flag}`" in section for flag in parameter.opts), parameter.opts
            else:
                assert (parameter.metavar or parameter.name).upper() in section


def test_every_field_of_a_certificate_and_of_a_schema_is_in_the_reference(pages):
    certificate = pages["render_certificate"]()
    package = resources.files("tabpe.accounting")
    declared = json.loads(package.joinpath("certificate.schema.json").read_text())
    for field in declared["properties"]:
        assert re.search(rf"^\| `{field}` \|", certificate, flags=re.MULTILINE), field
    assert "## `spends[]`" in certificate
    assert "| `sigma` |" in certificate
    schema = pages["render_schema_fields"]()
    for kind in ("categorical", "integer", "float", "boolean", "date", "datetime", "time", "id"):
        assert f"## Type `{kind}`" in schema


def test_links_to_files_that_are_not_on_the_site_become_their_paths(monkeypatch):
    pytest.importorskip("mkdocs")
    monkeypatch.syspath_prepend(TOOLS)
    hook = runpy.run_path(str(TOOLS / "hook.py"))
    assert hook["describe_file"]("the code", "src/a.py") == "the code (`src/a.py`)"
    assert hook["describe_file"]("`deploy/`", "deploy") == "`deploy`"
    moved = hook["relocate_links"]("[a](docs/privacy.md#users), [b](CHANGELOG.md)", "project/a.md")
    assert moved == "[a](../privacy.md#users), [b](changelog.md)"
    kept = "`x`\n```md\n[a](docs/b.md)\n```\n"
    assert hook["relocate_links"](kept, "project/a.md") == kept

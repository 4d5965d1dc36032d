"""What the pages name is there: modules, functions and files."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def is_there(name):
    """Whether a dotted name is a module, or a member of one."""
    module, _, member = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return bool(module) and is_there(module) and hasattr(found(module), member)
    return True


def found(name):
    module, _, member = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return getattr(found(module), member)


def named(text):
    """Dotted names of the packages: in words, and imported by examples."""
    yield from re.findall(r"`((?:tabpe|tabpe_lab)(?:\.\w+)+)(?!\.\w)[`(]", text)
    for member, module in re.findall(r"`(\w+)(?:\(\))?` in `(tabpe[\w.]+)`", text):
        yield f"{module}.{member}"
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("tabpe"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@each_page
def test_names_are_there(page):
    assert [name for name in named(page.read_text()) if not is_there(name)] == []


@each_page
def test_files_are_there(page):
    paths = re.findall(r"`((?:src|tests|lab|docs|tools)/[a-z_\d/.-]+)`", page.read_text())
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_names_that_are_gone_would_be_noticed():
    text = "`tabpe.privacy.bill`, `told` in `tabpe.measurement`"
    code = "\n```python\nfrom tabpe import Bill, TabPE\n```"
    gone = [name for name in named(text + code) if not is_there(name)]
    assert gone == ["tabpe.privacy.bill", "tabpe.measurement.told", "tabpe.Bill"]

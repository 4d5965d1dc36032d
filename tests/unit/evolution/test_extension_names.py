"""Objects from outside by `module:object`."""

import json

import pytest

from tabpe.errors import ParameterError
from tabpe.evolution.extensions import (
    check_extension,
    compute_source_digest,
    is_extension_name,
    load_callable,
    load_object,
)


@pytest.mark.parametrize(
    "given", ["my_ops:walk", "a.b.c:d", "a:B.c", "__main__:walk"], ids=lambda given: given
)
def test_names(given):
    assert is_extension_name(given)


@pytest.mark.parametrize(
    "given", ["genetic", "a:", ":b", "a:b:c", "a b:c", "a:b()", "a/b:c", "3a:b", ".a:b", 3, None]
)
def test_other_values(given):
    assert not is_extension_name(given)


def test_a_function_or_a_class_gets_its_name():
    assert check_extension("operator", json.dumps, ["genetic"]) == "json:dumps"
    assert check_extension("operator", json.JSONEncoder, []) == "json.encoder:JSONEncoder"
    assert check_extension("operator", "genetic", ["genetic"]) == "genetic"


def test_text_is_not_imported_before_it_is_used():
    assert check_extension("operator", "no_such_module:walk", []) == "no_such_module:walk"


def local(rows):
    return rows


@pytest.mark.parametrize("given", [lambda rows: rows, json.JSONEncoder().encode])
def test_what_no_name_leads_to_is_refused(given):
    with pytest.raises(ParameterError, match="at the top of a module"):
        check_extension("operator", given, [])


def test_a_name_that_leads_to_something_else_is_refused(monkeypatch):
    mine = json.dumps
    monkeypatch.setattr(json, "dumps", local)
    with pytest.raises(ParameterError, match="no name that leads to it"):
        check_extension("operator", mine, [])


def test_unknown_names_are_refused_with_those_that_are_known():
    with pytest.raises(ParameterError, match="operator='genetc': did you mean 'genetic'"):
        check_extension("operator", "genetc", ["genetic"])


def test_modules_are_found_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "ops_in_the_working_folder.py").write_text(
        "class Walk:\n    def __call__(self):\n        return 3\nsize = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/usr/bin"])
    assert load_callable("operator", "ops_in_the_working_folder:Walk")() == 3
    assert load_object("preset", "ops_in_the_working_folder:size") == 3
    with pytest.raises(ParameterError, match="can not be called"):
        load_callable("operator", "ops_in_the_working_folder:size")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("no_such_module:walk", "can not import 'no_such_module'"),
        ("json:no_such_function", "the module has no 'no_such_function'"),
    ],
)
def test_what_is_not_there_is_refused(name, said):
    with pytest.raises(ParameterError, match=said):
        load_object("operator", name)


def test_a_module_that_fails_is_refused(tmp_path, monkeypatch):
    (tmp_path / "failing_ops.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ParameterError, match="ZeroDivisionError"):
        load_object("operator", "failing_ops:walk")


def test_the_digest_is_that_of_the_source(tmp_path, monkeypatch):
    (tmp_path / "first_ops.py").write_text("walk = len\n")
    (tmp_path / "second_ops.py").write_text("walk = max\n")
    monkeypatch.syspath_prepend(tmp_path)
    first, second = (compute_source_digest(f"{name}_ops:walk") for name in ("first", "second"))
    assert first != second
    assert compute_source_digest("math:sqrt") == compute_source_digest("sys:exit")

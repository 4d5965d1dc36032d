"""The names of the package, which are loaded when they are first used."""

import pytest

import tabpe


def test_every_public_name_is_there():
    for name in tabpe.__all__:
        assert getattr(tabpe, name) is vars(tabpe)[name], name
    assert set(tabpe.__all__) <= set(dir(tabpe))


def test_a_star_import_brings_all_of_them():
    names = {}
    exec("from tabpe import *", names)
    assert set(tabpe.__all__) <= set(names)


def test_an_unknown_name_is_refused_as_in_every_module():
    with pytest.raises(AttributeError, match="'tabpe' has no attribute 'nothing'"):
        tabpe.nothing  # noqa: B018
    with pytest.raises(ImportError, match="nothing"):
        exec("from tabpe import nothing", {})

"""Keepers of tables, for tests that choose by themselves whose the rows are."""

from tabpe._utils.resources import Resources
from tabpe.backends import LocalBackend
from tabpe.io import open_source


def keeper_of(data, users=None):
    """Return who counts in a table, with users that are known already."""
    source = data if hasattr(data, "batches") else open_source(data)
    keeper = LocalBackend(source, None, Resources.from_options())
    vars(keeper)["users"] = users
    return keeper

"""Backends of tables in this process, for tests that choose by themselves whose the rows are."""

from tabpe._utils.resources import Resources
from tabpe.backends import LocalBackend
from tabpe.io import open_source


class BackendOfUsers(LocalBackend):
    """A table whose users are known already.

    Args:
        source: The table.
        users: Whose the rows are.
    """

    def __init__(self, source, users):
        super().__init__(source, None, Resources.from_options())
        vars(self)["users"] = users

    @property
    def scale(self):
        """The most that the vector of one user counts."""
        return self.users.scale


def backend_of(data, users=None):
    """Return the backend of a table, with users that are known already."""
    source = data if hasattr(data, "batches") else open_source(data)
    if users is None:
        return LocalBackend(source, None, Resources.from_options())
    return BackendOfUsers(source, users)

"""Makes one call of the operating system or of SQLite fail, the one of a given number.

Only calls that tabpe makes for its ledger, its run folders and its outputs are counted.
"""

import errno
import importlib
import importlib.util
import os
import sqlite3
import sys

from tabpe._utils import files
from tabpe.accounting.ledger import file

WATCHED = (
    "tabpe._utils.files",
    "tabpe.measurement.checkpoint",
    "tabpe.accounting.ledger.file",
    "tabpe._utils.files",
)
CALLS = {os: ("open", "write", "fsync", "link", "replace", "unlink", "fdopen")}
if importlib.util.find_spec("fcntl") is not None:
    CALLS[importlib.import_module("fcntl")] = ("flock",)
# What has an effect that lasts: it may also fail after it had it.
LASTING = ("write", "link", "replace", "COMMIT")
_DEPTH = 6


class Faults:
    """One fault.

    Args:
        number: The call that fails, from 1.
        late: Whether it fails after it had its effect; then only such calls count whose effect
            lasts.
        patch: Puts it in the place of the calls.

    Attributes:
        hit: What failed, if anything did.
    """

    def __init__(self, number, *, late, patch):
        self._left, self._late, self.hit = number, late, None
        for module, names in CALLS.items():
            for name in names:
                patch.setattr(module, name, self._failing(name, getattr(module, name)))
        patch.setattr(files._PendingFile, "fill", self._failing("fill", files._PendingFile.fill))
        patch.setattr(file.sqlite3, "connect", self._connecting(sqlite3.connect))

    def _is_next(self, name):
        if self.hit is not None or (self._late and name not in LASTING):
            return False
        self._left -= 1
        if self._left:
            return False
        self.hit = name
        return True

    def _failing(self, name, call):
        def fail(*words, **options):
            if not _is_ours() or not self._is_next(name):
                return call(*words, **options)
            if self._late:
                call(*words, **options)
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        return fail

    def _connecting(self, connect):
        faults = self

        class Connection(sqlite3.Connection):
            def execute(self, statement, *words):
                if not faults._is_next(statement.split()[0]):
                    return super().execute(statement, *words)
                if faults._late:
                    super().execute(statement, *words)
                raise sqlite3.OperationalError("disk I/O error")

        def opened(*words, **options):
            if faults._is_next("connect"):
                raise sqlite3.OperationalError("unable to open database file")
            return connect(*words, **options, factory=Connection)

        return opened


def _is_ours():
    """Whether a module that is watched made this call, itself or through the standard library."""
    frame = sys._getframe(2)
    for _ in range(_DEPTH):
        if frame is None:
            return False
        name = frame.f_globals.get("__name__", "")
        if name in WATCHED:
            return True
        if name.startswith("tabpe"):
            return False
        frame = frame.f_back
    return False

"""Which files of this machine the studio opens: those below the folders that it was started with.

A path is resolved first, so neither `..` nor a link leads out of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from tabpe._utils.files import DATABASES, get_scheme
from tabpe.errors import ParameterError

MOST_LISTED = 500
_FILE_DATABASES = ("sqlite", "duckdb")
_REMOTE_DATABASES = tuple(name for name in DATABASES if name not in _FILE_DATABASES)


@dataclass(frozen=True)
class AllowedFolders:
    """The folders that files may be opened in.

    Args:
        roots: The folders, resolved.

    Example:
        >>> import tempfile
        >>> root = Path(tempfile.mkdtemp()).resolve()
        >>> _ = (root / "visits.csv").write_text("age")
        >>> folders = AllowedFolders((root,))
        >>> folders.resolve_file("visits.csv") == root / "visits.csv"
        True
        >>> folders.resolve_file("../../etc/passwd")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: ../../etc/passwd: is outside of the folders that ...
    """

    roots: tuple[Path, ...]

    @classmethod
    def from_paths(cls, paths: Sequence[Path]) -> AllowedFolders:
        """Return the folders of some paths."""
        for path in paths:
            if not path.is_dir():
                raise ParameterError(f"--data {path}: not a folder: name one that exists.")
        return cls(tuple(dict.fromkeys(path.resolve() for path in paths)))

    def resolve_file(self, given: str) -> Path:
        """Return a path that is in one of the folders, absolute and without links.

        A relative path starts from the first of them.

        Raises:
            ParameterError: If it is outside of them, or not there.
        """
        try:
            path = (self.roots[0] / Path(given).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError):
            raise ParameterError("The path is not valid text: enter another one.") from None
        if not any(path.is_relative_to(root) for root in self.roots):
            listed = ", ".join(map(str, self.roots))
            raise ParameterError(
                f"{given}: is outside of the folders that the studio may read ({listed}): copy it "
                f"there, or start 'tabpe studio --data FOLDER'."
            )
        if not path.exists():
            raise ParameterError(f"{given}: no such file: check its name, or upload it.")
        return path

    def resolve_address(self, given: str) -> str:
        """Return the path of a file, or the address of a database, if it may be opened.

        Raises:
            ParameterError: If it is a file outside of the folders, or an address of a store.
        """
        scheme = get_scheme(given)
        if scheme is None:
            return str(self.resolve_file(given))
        if scheme in _FILE_DATABASES:
            path = self.resolve_file(unquote(given.partition(":///")[2]))
            return f"{scheme}:///{path}"
        if scheme in _REMOTE_DATABASES:
            return given
        raise ParameterError(
            f"{scheme}: the studio opens files of this machine and databases: copy the file here, "
            f"or use 'tabpe synth'."
        )

    def list_folder(self, given: str) -> tuple[Path, list[Path], list[Path]]:
        """Return a folder, the folders in it and the files in it, without hidden ones."""
        folder = self.resolve_file(given) if given else self.roots[0]
        if not folder.is_dir():
            folder = folder.parent
        try:
            found = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
        except OSError:
            found = []
        found = found[:MOST_LISTED]
        return (
            folder,
            [one for one in found if one.is_dir()],
            [one for one in found if one.is_file()],
        )

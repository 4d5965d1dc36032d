"""Files from the public sources of data sets, checked before they are kept.

What comes from a source is converted to the form in which the loaders read it, and its content
must have a known SHA-256: a source that has changed, or that somebody else answers for, is refused.
Nothing is downloaded but data sets that are asked for by name.
"""

from __future__ import annotations

import hashlib
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tabpe import _atomic, _home
from tabpe.errors import DataError

SECONDS = 60.0
Opener = Callable[[str], BinaryIO]


@dataclass(frozen=True)
class Converted:
    """A file as it is kept.

    Args:
        file: Its bytes.
        content: What is in it, before it is packed: packing differs between versions.
    """

    file: bytes
    content: bytes


@dataclass(frozen=True)
class Remote:
    """A file that can be made of what others publish.

    Args:
        urls: Where the parts are.
        convert: Makes the file of the parts.
        sha256: SHA-256 of its content.
        most: Bytes that each part has at most.
    """

    urls: tuple[str, ...]
    convert: Callable[[Sequence[bytes]], Converted]
    sha256: str
    most: int = 64 * 2**20


def download(remote: Remote, path: Path, *, opener: Opener | None = None) -> Path:
    """Make a file of its remote parts, whole or not at all.

    Args:
        remote: Where the parts are and what becomes of them.
        path: Where the file goes; its folder is made.
        opener: Opens a URL; None for the network.

    Raises:
        DataError: If a part can not be had, is too large, or is not what it was.
    """
    parts = [_fetched(url, remote.most, opener or opened) for url in remote.urls]
    converted = _converted(remote, parts)
    if hashlib.sha256(converted.content).hexdigest() != remote.sha256:
        raise DataError(f"{remote.urls[0]}: the content has changed since it was last looked at.")
    _home.make_private_folder(path.parent)
    _atomic.write(path, _atomic.filler(converted.file))
    return path


def opened(url: str) -> BinaryIO:
    """Open a URL over the network."""
    if not url.startswith("https://"):
        raise DataError(f"{url}: expected a URL that begins with https.")
    answer: BinaryIO = urllib.request.urlopen(url, timeout=SECONDS)  # noqa: S310 - https, see above
    return answer


def _fetched(url: str, most: int, opener: Opener) -> bytes:
    try:
        with opener(url) as answer:
            content = answer.read(most + 1)
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: {reason}.") from None
    if len(content) > most:
        raise DataError(f"{url}: larger than {most:,} bytes.")
    return content


def _converted(remote: Remote, parts: Sequence[bytes]) -> Converted:
    try:
        return remote.convert(parts)
    except Exception as error:  # whatever is wrong with it, it is not what it was
        kind = type(error).__name__
    raise DataError(f"{remote.urls[0]}: not the kind of file that it was ({kind}).")

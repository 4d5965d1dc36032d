"""What others publish, made into the files that the loaders read: CSV with a header, or arrays."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.datasets.download import Converted

_MOST_UNPACKED = 256 * 2**20
_PEOPLE = 22
# Images are halved to so many pixels a side; these many bytes come before the first pixel or label.
PIXELS, _IMAGES_AT, _LABELS_AT = 14, 16, 8
ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income", "split"),
)
MONKS = ("problem", "split", "a1", "a2", "a3", "a4", "a5", "a6", "class")
ARRAYS = ("X_train", "y_train", "X_test", "y_test")


def unchanged(parts: Sequence[bytes]) -> Converted:
    """Keep a CSV file as it is, but for the ends of its lines."""
    (part,) = parts
    return _packed(part.replace(b"\r\n", b"\n"))


def insurance(parts: Sequence[bytes]) -> Converted:
    """Keep the table; decimals are written as Python writes them."""
    (part,) = parts
    header, *lines = csv.reader(io.StringIO(part.decode()))
    write = [_decimal if name in ("bmi", "charges") else str for name in header]
    return _csv(
        header, ([put(cell) for put, cell in zip(write, line, strict=True)] for line in lines)
    )


def adult(parts: Sequence[bytes]) -> Converted:
    """Join the two files of UCI Adult, and take the full stops off the labels of one."""
    (archive,) = parts
    rows: list[list[str]] = []
    for split, member in (("train", "adult.data"), ("test", "adult.test")):
        lines = csv.reader(io.StringIO(_member(archive, member)), skipinitialspace=True)
        found = (line for line in lines if len(line) == len(ADULT) - 1)
        rows += [[*line[:-1], line[-1].removesuffix("."), split] for line in found]
    return _csv(ADULT, rows)


def bank(parts: Sequence[bytes]) -> Converted:
    """Take the full table out of the archive in the archive, and commas for semicolons."""
    (archive,) = parts
    inner = _bytes(archive, "bank.zip")
    header, *rows = csv.reader(io.StringIO(_member(inner, "bank-full.csv")), delimiter=";")
    return _csv(header, rows)


def monks(parts: Sequence[bytes]) -> Converted:
    """Join the six files of the three problems; a name of the row at the end of a line is left."""
    (archive,) = parts
    rows = [
        [str(problem), split, *words[1:7], words[0]]
        for problem in (1, 2, 3)
        for split in ("train", "test")
        for words in map(str.split, _member(archive, f"monks-{problem}.{split}").splitlines())
        if words
    ]
    return _csv(MONKS, rows)


def walking(parts: Sequence[bytes]) -> Converted:
    """Join the files of all people; decimals are written as Python writes them."""
    (archive,) = parts
    rows = (
        [*map(_decimal, line), str(person)]
        for person in range(1, _PEOPLE + 1)
        for line in csv.reader(io.StringIO(_member(archive, f"{person}.csv")))
        if line
    )
    return _csv(["time", "x", "y", "z", "person"], rows)


def person_activity(parts: Sequence[bytes]) -> Converted:
    """Join validation and test rows of the authors."""
    rows: list[list[str]] = []
    header: list[str] = []
    for split, part in zip(("val", "test"), parts, strict=True):
        header, *lines = csv.reader(io.StringIO(part.decode()))
        rows += [[*line, split] for line in lines]
    return _csv([*header, "split"], rows)


def mnist(parts: Sequence[bytes]) -> Converted:
    """Take the mean of two by two pixels of images; parts are as in `ARRAYS`."""
    unpacked = [_gunzipped(part) for part in parts]
    arrays = [read(part) for read, part in zip((_images, _labels) * 2, unpacked, strict=True)]
    file = io.BytesIO()
    named: dict[str, Any] = dict(zip(ARRAYS, arrays, strict=True))
    np.savez_compressed(file, **named)
    return Converted(file.getvalue(), b"".join(array.tobytes() for array in arrays))


def _images(content: bytes) -> NDArray[np.uint8]:
    pixels = np.frombuffer(content, np.uint8, offset=_IMAGES_AT)
    sums = pixels.reshape(-1, PIXELS, 2, PIXELS, 2).sum(axis=(2, 4), dtype=np.uint16)
    means: NDArray[np.uint8] = np.rint(sums / 4).astype(np.uint8)
    return means


def _labels(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8, offset=_LABELS_AT)


def _decimal(cell: str) -> str:
    return repr(float(cell))


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Converted:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return _packed(text.getvalue().encode())


def _packed(content: bytes) -> Converted:
    return Converted(gzip.compress(content, mtime=0), content)


def _member(archive: bytes, name: str) -> str:
    return _bytes(archive, name).decode()


def _bytes(archive: bytes, name: str) -> bytes:
    """Return a file of an archive, in whichever folder it is."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        (found,) = (each for each in opened.namelist() if each.rpartition("/")[2] == name)
        with opened.open(found) as file:
            return _limited(file.read)


def _gunzipped(content: bytes) -> bytes:
    with gzip.open(io.BytesIO(content)) as file:
        return _limited(file.read)


def _limited(read: Callable[[int], bytes]) -> bytes:
    content = read(_MOST_UNPACKED + 1)
    if len(content) > _MOST_UNPACKED:
        raise ValueError("unpacks to too much")
    return content

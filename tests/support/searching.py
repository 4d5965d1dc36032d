"""Searches whatever a run left behind for what must not be there."""

import io
import re
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from planted import COUNTS

# So many cells of a histogram, of which so many differ, do not come about by chance.
WINDOW, DIFFERENT = 20, 8
# More often than that, noise does not hit one count in a run by chance.
LUCKY = 3
_WORDS = re.compile(rb"[\n -~]{24,}")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.0+)?(?![\w]|\.\d)")


def unfolded(name, content):
    """Yield the content of a file and, if it is packed, all that is in it, as bytes by name."""
    yield name, content
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for part in archive.namelist():
                yield from unfolded(f"{name}!{part}", archive.read(part))
    elif content[:6] == b"\x93NUMPY":
        array = np.load(io.BytesIO(content), allow_pickle=False)
        yield f"{name} as text", " ".join(map(repr, array.ravel().tolist())).encode()
    elif content[:4] == b"PAR1":
        read = pq.read_table(io.BytesIO(content))
        yield f"{name} as text", f"{read.schema.metadata} {read.to_pydict()}".encode()
    elif content[:15] == b"SQLite format 3":
        with sqlite3.connect(":memory:") as book:
            book.deserialize(_without_journal(content))
            yield f"{name} as text", "\n".join(book.iterdump()).encode()
        book.close()


def _without_journal(content):
    """The bytes of a database without the mark that there is a log beside it."""
    return content[:18] + b"\x01\x01" + content[20:]


def files_of(folder):
    """Every file below a folder, unfolded; names of files are evidence too."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = str(path.relative_to(folder))
        found |= {f"the name {name}": name.encode()}
        if path.is_file():
            found |= dict(unfolded(name, path.read_bytes()))
    return found


def chain_of(error):
    """All that a tool can find in an error: every error behind it, hidden or not."""
    seen, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__]
    return "\n".join(f"{one!s}\n{one!r}\n{one.args!r}\n{vars(one)}" for one in seen)


def leaks(evidence, pieces, witness, forgiving=True):
    """Return what of the private table is in the evidence, a line each.

    Args:
        evidence: Bytes by name.
        pieces: What must not be there, as bytes by name.
        witness: Knows the exact answers of the engines, and the noisy numbers.
        forgiving: Whether a count that noise happened to hit is not looked for.
    """
    lucky = [count for count in COUNTS if 0 < witness.noisy[count] <= LUCKY] if forgiving else []
    counts = [count for count in COUNTS if count not in lucky]
    windows, arrays = _windows(witness.exact), _arrays(witness.exact)
    pieces = pieces | {f"an encoded row, spread ({n})": row for n, row in enumerate(witness.spread)}
    found = []
    for name, content in evidence.items():
        found += [f"{what} in {name}" for what, piece in pieces.items() if piece in content]
        found += [f"an exact histogram in {name}" for array in arrays if array in content][:1]
        text = _text(content)
        found += [f"the exact count {count:,} in {name}" for count in counts if _tells(text, count)]
        if not windows.isdisjoint(_runs(_numbers(text))):
            found.append(f"an exact histogram, in figures, in {name}")
    return found


def _text(content):
    """The text of a file, or in one of bytes what is too long for text by chance."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return b"\n".join(_WORDS.findall(content)).decode()


def _tells(text, count):
    """Whether a text holds a number, not as a part of a longer one."""
    if str(count)[-3:] not in text:
        return False
    plain, grouped = rf"{count}(\.0+)?(?!\w|\.\d)", rf"{count:,}(\.0+)?(?!\w|\.\d|,\d)"
    return re.search(rf"(?<![\w.-])({plain}|{grouped})", text) is not None


def _numbers(text):
    return [int(number.partition(".")[0]) for number in _NUMBER.findall(text)]


def _runs(numbers):
    return zip(*(numbers[start:] for start in range(WINDOW)), strict=False)


def _windows(exact):
    """Parts of exact histograms: whoever tells 39 cells in a row tells one of them."""
    cut = (
        tuple(answer[start : start + WINDOW])
        for answer in exact
        for start in range(0, len(answer) - WINDOW + 1, WINDOW)
    )
    return {window for window in cut if len(set(window)) >= DIFFERENT}


def _arrays(exact):
    """Parts of exact histograms as memory holds them: one of each, in every likely type."""
    telling = [np.array(next(iter(_windows([answer])))) for answer in exact if _windows([answer])]
    kinds = (np.int64, np.int32, np.float64)
    return [window.astype(kind).tobytes() for window in telling for kind in kinds]

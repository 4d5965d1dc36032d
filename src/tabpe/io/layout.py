"""Detect how a text file is laid out: encoding, delimiter, quotes, comments, where it begins.

Privacy: what is detected here was read from the table. So a `TableFormat` that comes from here is
marked as taken from the data, like every drafted field. Only `tabpe schema init` calls this: a run
reads a file as its schema says.
"""

from __future__ import annotations

import codecs
import csv
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tabpe.io.batches import UNREADABLE, Limits, read_safely
from tabpe.io.files import FILE_TYPES, CsvFile, list_files
from tabpe.io.text_streams import DecompressedStream, strip_compression
from tabpe.schema import Source
from tabpe.schema.table_format import TableFormat

_SAMPLE_BYTES = 2**18
_SAMPLE_ROWS = 200
_MOST_ABOVE = 20
_DELIMITERS = (",", ";", "\t", "|")
_COMMENTS = ("#", "%")
_UTF16_SHARE = 0.3
_FEW_QUOTES = 3
_KANA, _KANJI_WORD = re.compile("[\u3040-\u30ff]"), re.compile("[\u4e00-\u9fff]{2,}")
_FEWEST, _FOREIGN_SHARE = 2, 0.3
# These are raised digits and a question mark upside down in western text.
_SIGN_IN_WORD = re.compile(rb"[\xb3\xb9][a-z]|[a-z]\xbf[a-z]")


def detect_layout(path: str | Path, limits: Limits | None = None) -> TableFormat | None:
    r"""Return the layout of the first text file that a path stands for; None if it is not text.

    The delimiter is the one that cuts most lines into the same number of cells, more than one.

    Args:
        path: The path of a file, a folder or a pattern.
        limits: The most to read; None for the limits of the environment.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = Path(folder.name, "visits.csv")
        >>> _ = file.write_bytes("Gr\xf6\xdfe;Gewicht\n1,82;80,5\n1,75;71\n".encode("cp1252"))
        >>> detect_layout(file).to_dict()
        {'delimiter': ';', 'encoding': 'windows-1252', 'source': 'data'}
        >>> folder.cleanup()
    """
    limits = limits or Limits.from_environment()
    file = list_files(path)[0]
    name = strip_compression(file.name.lower())
    if not any(name.endswith(end) for end, kind in FILE_TYPES.items() if kind is CsvFile):
        return None
    sample = read_safely(file, lambda: _read_sample(file, limits), lambda: "not readable.")
    encoding = detect_encoding(sample)
    return detect_text_layout(
        _decode_sample(sample, encoding), encoding, TableFormat().get_delimiter(name)
    )


def _read_sample(file: Path, limits: Limits) -> bytes:
    content = b""
    with DecompressedStream(file, limits) as stream:
        while len(content) < _SAMPLE_BYTES and (piece := stream.read(_SAMPLE_BYTES)):
            content += piece
    return content[:_SAMPLE_BYTES]


def detect_encoding(sample: bytes) -> str:
    r"""Return the encoding of the first bytes of a file.

    Example:
        >>> detect_encoding("\xe9t\xe9".encode()), detect_encoding("\xe9t\xe9".encode("latin-1"))
        ('utf-8', 'windows-1252')
        >>> detect_encoding("a;b".encode("utf-16")), detect_encoding("a;b".encode("utf-16-le"))
        ('utf-16', 'utf-16-le')
    """
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if _count_share(sample[1::2]) > _UTF16_SHARE:
        return "utf-16-le"
    if _count_share(sample[::2]) > _UTF16_SHARE:
        return "utf-16-be"
    if _decodes(sample, "utf-8"):
        return "utf-8"
    if _decodes(sample, "cp932") and _looks_japanese(sample):
        return "cp932"
    return _detect_single_bytes(sample)


def _detect_single_bytes(sample: bytes) -> str:
    """Return the encoding of bytes of which each is a character."""
    western = _decodes(sample, "windows-1252")
    if _decodes(sample, "windows-1250") and (not western or _looks_polish(sample)):
        return "windows-1250"
    return "windows-1252" if western else "latin-1"


def _looks_polish(sample: bytes) -> bool:
    """Whether bytes are letters of words in windows-1250 that are signs in windows-1252."""
    return len(_SIGN_IN_WORD.findall(sample)) >= _FEWEST


def _looks_japanese(sample: bytes) -> bool:
    """Whether bytes are words of Japanese, and not accented letters of Europe, two at a time."""
    text = sample.decode("cp932", "ignore")
    if len(_KANA.findall(text)) >= _FEWEST:
        return True
    foreign = sum(byte > 127 for byte in sample) / len(sample)  # noqa: PLR2004 (beyond ASCII)
    return foreign > _FOREIGN_SHARE and len(_KANJI_WORD.findall(text)) >= _FEWEST


def _count_share(sample: bytes) -> float:
    return sample.count(0) / len(sample) if sample else 0.0


def _decodes(sample: bytes, encoding: str) -> bool:
    """Whether bytes are text of an encoding; a character may be cut at the end."""
    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _decode_sample(sample: bytes, encoding: str) -> str:
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    text = codecs.getincrementaldecoder(name)("replace").decode(sample)
    # The last line may be cut.
    return text if len(sample) < _SAMPLE_BYTES else text[: text.rfind("\n") + 1] or text


def detect_text_layout(text: str, encoding: str = "utf-8", usual: str = ",") -> TableFormat:
    r"""Return the layout of text.

    Args:
        text: The first lines of a file.
        encoding: Its encoding.
        usual: The delimiter of its suffix, which is not stated.

    Example:
        >>> detect_text_layout("# made today\nage|sex\n31|f\n58|m\n").to_dict()
        {'delimiter': '|', 'comment': '#', 'source': 'data'}
    """
    lines = text.splitlines()
    comment = next((mark for mark in _COMMENTS if lines and lines[0].startswith(mark)), None)
    if comment is not None and not any(line.startswith(comment) is False for line in lines):
        comment = None
    kept = [line for line in lines if comment is None or not line.startswith(comment)]
    quote = _choose_quote(kept)
    scored = [(_score(kept, mark, quote), mark) for mark in _DELIMITERS]
    (score, width), delimiter = max(scored, key=lambda one: (one[0], one[1] == usual))
    if not score or width < 2:  # noqa: PLR2004 (one column has no delimiter)
        delimiter, width = usual, 1
    skip = _count_above(kept, delimiter, quote, width)
    return TableFormat(
        delimiter=None if delimiter == usual else delimiter,
        quote=quote,
        encoding=encoding,
        comment=comment,
        skip=skip if comment is None else 0,
        source=Source.DATA,
    )


def _choose_quote(lines: Sequence[str]) -> str | None:
    """Return the quotation mark that opens or closes cells."""
    body = "\n".join(lines[:_SAMPLE_ROWS])
    counts = {
        mark: len(re.findall(rf"(?:^|[,;\t|]){mark}|{mark}(?:[,;\t|]|$)", body, re.MULTILINE))
        for mark in ('"', "'")
    }
    return "'" if counts["'"] > 2 * counts['"'] and counts["'"] > _FEW_QUOTES else '"'


def _parse(lines: Sequence[str], delimiter: str, quote: str | None) -> list[list[str]]:
    reader = csv.reader(
        (f"{line}\n" for line in lines), delimiter=delimiter, quotechar=quote or '"'
    )
    try:
        return [row for row in itertools.islice(reader, _SAMPLE_ROWS) if row]
    except UNREADABLE:
        return []


def _score(lines: Sequence[str], delimiter: str, quote: str | None) -> tuple[float, int]:
    """Return how well a delimiter cuts lines into rows of one width, and that width."""
    widths = Counter(len(row) for row in _parse(lines, delimiter, quote))
    if not widths:
        return 0.0, 0
    width, count = max(widths.items(), key=lambda one: (one[1] * (one[0] > 1), one[0]))
    return (count / widths.total() if width > 1 else 0.0), width


def _count_above(lines: Sequence[str], delimiter: str, quote: str | None, width: int) -> int:
    """Return the number of lines above the header: those before the first row of full width."""
    if width < 2:  # noqa: PLR2004 (every line has one cell)
        return 0
    for number, line in enumerate(lines[:_MOST_ABOVE]):
        rows = _parse([line], delimiter, quote)
        if rows and len(rows[0]) >= width:
            blank = all(not above.strip() for above in lines[:number])
            return 0 if blank else number
    return 0

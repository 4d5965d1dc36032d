"""Storage forms: the same cells as any library, type, unit, file or database may hold them.

A cell is a Python value. `store` writes rows of such cells in a form; all that a form leaves open
(types, units, digits of decimals, chunks, files) is drawn from its seed, column by column.
Whatever is drawn, the cells mean the same (`tabpe.io.canonical`).
"""

import csv
import datetime as dt
import gzip
import itertools
import json
import math
import random
import sqlite3
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from tabpe import SqlTable

UNREADABLE = "\N{REPLACEMENT CHARACTER}"  # what a list, or half a letter, is in a form without them
EXACT = 2**53
MOST_DIGITS = 18
EPOCH = dt.datetime(1970, 1, 1)
NANOSECONDS = dt.datetime(1678, 1, 1), dt.datetime(2262, 1, 1)
ZONES = ("UTC", "Europe/Berlin")
_NUMBERS = itertools.count()  # of files
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
WHOLE = (pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint64(), pa.uint32(), pa.uint8())


@dataclass(frozen=True)
class Form:
    """How a table is stored.

    Args:
        library: One of `LIBRARIES`.
        seed: Decides all that the library leaves open.
    """

    library: str
    seed: int = 0


@dataclass(frozen=True)
class Habits:
    """What may be done to the cells of a column without changing what they mean there.

    Args:
        flags: Whether true and false may be stored as 1 and 0.
        plain: Whether text must be as it is printed, as the text itself counts.
        pattern: The format that text may have instead of ISO 8601.
        blank: Whether missing cells may be blank text.
        commas: Whether numbers that are text are written as 1.234,5.
        unit: What may stand behind such numbers.
        nulls: What stands for a missing cell.
    """

    flags: bool = False
    plain: bool = False
    pattern: str | None = None
    blank: bool = True
    commas: bool = False
    unit: str = ""
    nulls: tuple = ()


def store(table, form, folder, habits=None):
    """Return the rows of a table, by name lists of cells, in a form that `TabPE.fit` takes."""
    rng, habits = random.Random(form.seed), habits or {}
    known = {name: habits.get(name, Habits()) for name in table}
    return LIBRARIES[form.library](table, rng, folder, known)


def shuffled(size, form):
    """Return the order in which a form stores rows."""
    order = list(range(size))
    if form.seed % 3:
        random.Random(-form.seed).shuffle(order)
    return order


# Cells.


def is_missing(cell):
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def number_of(cell):
    """Return the number that a cell is, whole if it is so; None if it is no number."""
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal)):
        return None
    if isinstance(cell, float) and not math.isfinite(cell):
        return cell
    return int(cell) if cell == int(cell) and abs(cell) < 10**30 else float(cell)


def text_of(cell, rng, habits):
    """Return one of the texts that mean the same as a cell; None if it is missing."""
    if is_missing(cell):
        return rng.choice([None, None, "", "  "]) if habits.blank else None
    texts = list(_texts(cell, habits))
    return texts[0] if habits.plain else rng.choice(texts)


def _texts(cell, habits):
    if isinstance(cell, str):
        yield unicodedata.normalize("NFC", cell)
        yield unicodedata.normalize("NFD", cell)
    elif isinstance(cell, bool):
        yield from (str(cell).lower(), str(cell), str(cell).upper())
        yield from ([str(int(cell))] if habits.flags else [])
    elif number_of(cell) is not None:
        number = number_of(cell)
        if habits.commas and "e" not in str(number):
            yield from _texts_with_commas(number, habits.unit)
            return
        yield str(number)
        if isinstance(number, int):
            yield from (f"{number}.0", f"{number}.000", f" {number}")
        elif math.isfinite(number) and "e" not in str(number):
            yield from (f"{number}0", f"{number}000 ")
    elif isinstance(cell, dt.datetime):
        yield from _texts_of_moments(cell)
    elif isinstance(cell, dt.date):
        yield cell.isoformat()
        yield from (f"{cell}T00:00:00", f"{cell} 00:00", f"{cell}T00:00:00.000")
        if habits.pattern:
            yield cell.strftime(habits.pattern)
    elif isinstance(cell, dt.time):
        yield cell.isoformat()
        yield from ([cell.isoformat("minutes")] if not cell.second else [])
        yield from ([cell.strftime(habits.pattern)] if habits.pattern else [])
    else:
        yield UNREADABLE


def _texts_with_commas(number, unit):
    """Yield a number as 1.234,5, and with its unit."""
    whole, _, part = str(number).partition(".")
    # A mark that is left out would be read as another: 1234.5 is not text here.
    grouped = f"{int(whole):,}".replace(",", ".") if whole.lstrip("-").isdigit() else whole
    sign = "-" if whole.startswith("-") and not grouped.startswith("-") else ""
    text = sign + grouped + (f",{part}" if part else "")
    yield text
    if whole.lstrip("-").isdigit():
        yield from (f"{text} {unit}".rstrip(), f" {text}" if part else f"{text},0")


def _texts_of_moments(cell):
    if cell.tzinfo is not None:
        utc = cell.astimezone(dt.UTC)
        yield utc.isoformat()
        yield utc.isoformat().replace("+00:00", "Z")
        yield cell.astimezone(dt.timezone(dt.timedelta(hours=5, minutes=30))).isoformat(" ")
        return
    yield cell.isoformat()
    yield from (cell.isoformat(" "), cell.isoformat(timespec="microseconds"))
    yield from ([cell.date().isoformat()] if cell.time() == dt.time() else [])


# Columns of Arrow.


def arrow_array(cells, rng, habits, *, texts=TEXTS):
    """Return cells as an array of any type that holds them."""
    typed = list(_typed(cells, rng, habits))
    if typed and rng.random() < 0.7:
        return rng.choice(typed)()
    if habits.plain and not all(isinstance(cell, str) or is_missing(cell) for cell in cells):
        return rng.choice(typed)() if typed else _as_texts(cells, rng, habits, texts)
    return _as_texts(cells, rng, habits, texts)


def _as_texts(cells, rng, habits, texts):
    kind = rng.choice(texts)
    written = [text_of(cell, rng, habits) for cell in cells]
    if kind is None:
        return pa.array(written, pa.string()).dictionary_encode()
    if kind == pa.binary():
        return pa.array([None if one is None else one.encode() for one in written], kind)
    return pa.array(written, kind)


def _typed(cells, rng, habits):
    """Yield what makes an array of each type that holds the cells as they are."""
    known = [cell for cell in cells if not is_missing(cell)]
    given = [None if is_missing(cell) else cell for cell in cells]
    if not known:
        yield lambda: pa.nulls(len(cells))
        yield lambda: pa.nulls(len(cells), rng.choice([pa.int64(), pa.bool_(), pa.date32()]))
        yield lambda: pa.array([math.nan] * len(cells))
    if known and all(isinstance(cell, bool) for cell in known):
        yield lambda: pa.array(given, pa.bool_())
    numbers = [_number(cell, habits) for cell in given]
    if known and all(number is not None for number in numbers if number is not _NONE):
        yield from _numbers([None if one is _NONE else one for one in numbers], rng)
    if known and all(type(cell) is dt.date for cell in known):
        yield lambda: pa.array(given, pa.date32())
        yield lambda: pa.array(given, pa.date32()).cast(pa.date64())
    if known and all(isinstance(cell, dt.date) for cell in known):
        yield from _moments(given, known, rng)
    if known and all(isinstance(cell, dt.time) for cell in known):
        yield from _times(given, known)


_NONE = object()


def _number(cell, habits):
    if cell is None:
        return _NONE
    return int(cell) if habits.flags and isinstance(cell, bool) else number_of(cell)


def _numbers(numbers, rng):
    known = [number for number in numbers if number is not None]
    if all(isinstance(number, int) for number in known):
        for kind in WHOLE:
            if _fits(known, kind):
                yield lambda kind=kind: pa.array(numbers, kind)
    if all(float(number) == number for number in known):
        yield lambda: _floats(numbers, rng, pa.float64())
        with np.errstate(over="ignore"):
            narrow = all(float(np.float32(number)) == number for number in known)
        if narrow:
            yield lambda: _floats(numbers, rng, pa.float32())
    if all(_is_short(number) for number in known):
        for kind in (pa.decimal128, pa.decimal256):
            yield lambda kind=kind: _decimals(numbers, rng, kind)


def _fits(numbers, kind):
    bits, signed = kind.bit_width, str(kind).startswith("int")
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    return all(low <= number < high for number in numbers)


def _floats(numbers, rng, kind):
    """Missing numbers are null or NaN, each by itself."""
    values = [math.nan if one is None and rng.random() < 0.5 else one for one in numbers]
    floats = [None if one is None else float(one) for one in values]
    return pa.array(floats, pa.float64()).cast(kind)


def _is_short(number):
    if isinstance(number, int):
        return abs(number) < 10**MOST_DIGITS
    return math.isfinite(number) and abs(number) < 10**9 and _digits(number) <= 9


def _digits(number):
    return max(0, -Decimal(repr(number)).as_tuple().exponent)


def _decimals(numbers, rng, kind):
    scale = max((_digits(one) for one in numbers if one is not None), default=0)
    scale += rng.choice([0, 0, 1, 4])
    digits = MOST_DIGITS + scale + rng.choice([1, 5])
    cells = [None if one is None else Decimal(repr(one)) for one in numbers]
    return pa.array(cells, kind(digits, scale))


def _moments(given, known, rng):
    moments = [None if cell is None else _moment(cell) for cell in given]
    if any(getattr(cell, "tzinfo", None) for cell in known):
        if not all(getattr(cell, "tzinfo", None) for cell in known):
            return
        zone = rng.choice(ZONES)
    else:
        zone = None
    local = [one.replace(tzinfo=None) for one in moments if one is not None]
    for unit in ("s", "ms", "us", "ns"):
        step = {"s": 10**6, "ms": 1000}.get(unit, 1)
        short = all(one.microsecond % step == 0 for one in local)
        near = all(NANOSECONDS[0] < one < NANOSECONDS[1] for one in local)
        if short and (near or unit != "ns"):
            yield lambda unit=unit: pa.array(moments, pa.timestamp("us", zone)).cast(
                pa.timestamp(unit, zone)
            )


def _moment(cell):
    if not isinstance(cell, dt.datetime):
        return dt.datetime.combine(cell, dt.time())
    return cell if cell.tzinfo is None else cell.astimezone(dt.UTC)


def _times(given, known):
    yield lambda: pa.array(given, pa.time64("us"))
    yield lambda: pa.array(given, pa.time64("us")).cast(pa.time64("ns"))
    if not any(cell.microsecond for cell in known):
        yield lambda: pa.array(given, pa.time64("us")).cast(pa.time32("s"))
        yield lambda: pa.array(given, pa.time64("us")).cast(pa.time32("ms"))


def _arrow_table(table, rng, habits, **options):
    return pa.table(
        {name: arrow_array(cells, rng, habits[name], **options) for name, cells in table.items()}
    )


# Columns of pandas.


def pandas_column(cells, rng, habits):
    """Return cells as a column of any type of pandas that holds them."""
    if rng.random() < 0.4:
        return pd.Series(_objects(cells, rng, habits), dtype=object)
    makers = [lambda: pd.Series(list(cells), dtype=object)]
    if not habits.plain:
        makers.append(lambda: _categories(cells, rng, habits))
    known = [cell for cell in cells if not is_missing(cell)]
    if not habits.plain or all(isinstance(cell, str) for cell in known):
        written = [text_of(cell, rng, habits) for cell in cells]
        makers += [
            lambda: pd.Series(written, dtype="str"),
            lambda: pd.Series(written, dtype=object),
        ]
        makers.append(lambda: pd.Series(written, dtype="string"))
    for make in _typed(cells, rng, habits):
        makers += _of_array(make())
    return rng.choice(makers)()


def _of_array(array):
    """Yield what makes columns of numpy, nullable and Arrow types of an array."""
    kind = array.type
    if not pa.types.is_null(kind):
        yield lambda: pd.Series(pd.array(array, dtype=pd.ArrowDtype(kind)))
    whole = pa.types.is_integer(kind)
    if whole or pa.types.is_floating(kind):
        name = f"{'U' * str(kind).startswith('u')}Int{kind.bit_width}"
        nullable = name if whole else f"Float{kind.bit_width}"
        yield lambda: pd.Series(pd.array(array.to_pylist(), dtype=nullable))
        exact = [one for one in array.to_pylist() if one is not None and one == one]  # noqa: PLR0124
        if all(math.isinf(one) or int(float(one)) == int(one) for one in exact):
            yield array.to_pandas  # of numpy; floats if one is missing
    elif pa.types.is_boolean(kind):
        yield lambda: pd.Series(pd.array(array.to_pylist(), dtype="boolean"))
        yield array.to_pandas  # of numpy, or objects if one is missing
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        yield array.to_pandas


def _objects(cells, rng, habits):
    if rng.random() < 0.5:
        return list(cells)
    return [_object(cell, rng, habits) for cell in cells]


def _object(cell, rng, habits):
    """Return one of the objects of Python that mean the same as a cell."""
    return rng.choice(_alike(cell, habits))


def _alike(cell, habits):
    if is_missing(cell):
        return [None, math.nan, pd.NA, pd.NaT]
    if isinstance(cell, bool):
        return [cell, np.bool_(cell), *([int(cell)] if habits.flags else [])]
    if number_of(cell) is not None:
        return _number_objects(number_of(cell))
    if isinstance(cell, dt.date):
        return _moment_objects(cell)
    if isinstance(cell, str) and cell != UNREADABLE and not habits.plain:
        return [unicodedata.normalize("NFC", cell), unicodedata.normalize("NFD", cell)]
    return [cell, *(["\ud800"] if cell == UNREADABLE else [])]


def _moment_objects(cell):
    if not isinstance(cell, dt.datetime):
        return [cell, _moment(cell), pd.Timestamp(cell)]
    numpy = [] if cell.tzinfo is not None else [np.datetime64(cell, unit) for unit in ("us", "ns")]
    return [cell, pd.Timestamp(cell), *numpy]


def _number_objects(number):
    objects = [number]
    if _is_short(number):
        exact = Decimal(repr(number))
        objects += [exact, exact.quantize(exact / 10 if exact else Decimal("0.1"))]
    if float(number) == number:
        objects += [float(number), np.float64(number)]
    if isinstance(number, int) and abs(number) < 2**63:
        objects.append(np.int64(number))
    return objects


def _categories(cells, rng, habits):
    """Return a column of categories, one of which may stand in no row."""
    written = [text_of(cell, rng, habits) for cell in cells]
    listed = [*dict.fromkeys(one for one in written if one is not None), "of no row"]
    return pd.Series(pd.Categorical(written, categories=listed))


# Libraries, files and databases.


def _pandas(table, rng, folder, habits):
    return pd.DataFrame(
        {name: pandas_column(cells, rng, habits[name]) for name, cells in table.items()}
    )


def _polars(table, rng, folder, habits):
    stored = _arrow_table(table, rng, habits, texts=(*TEXTS, None))
    frame = pl.from_arrow(_narrow(stored))
    return frame.lazy() if rng.random() < 0.2 else frame


def _pyarrow(table, rng, folder, habits):
    stored = _arrow_table(table, rng, habits, texts=(*TEXTS, None, pa.binary()))
    places = [rng.randint(0, len(stored)) for _ in range(rng.choice([0, 1, 3]))]
    ends = [0, *sorted(places), len(stored)]
    pieces = [stored.slice(start, end - start) for start, end in itertools.pairwise(ends)]
    return pa.concat_tables(pieces)


def _parquet(table, rng, folder, habits):
    path = folder / f"{next(_NUMBERS)}"
    path.mkdir()
    for number, rows in enumerate(_cut(table, rng)):
        pq.write_table(
            _arrow_table(rows, rng, habits, texts=(*TEXTS, None)),
            path / f"{number}.parquet",
            use_dictionary=rng.random() < 0.5,
            row_group_size=rng.choice([1, 3, 1000]),
        )
    return path


def _arrow_files(table, rng, folder, habits):
    path = folder / f"{next(_NUMBERS)}"
    path.mkdir()
    for number, rows in enumerate(_cut(table, rng)):
        stored = _arrow_table(rows, rng, habits, texts=(*TEXTS, None))
        pa.feather.write_feather(stored, path / f"{number}.feather", compression="uncompressed")
    return path


def _cut(table, rng):
    """Return rows in one part or in several, each with at least a row."""
    size = len(next(iter(table.values())))
    count = rng.choice([1, 2, 3]) if size > 2 else 1
    ends = [0, *sorted(rng.sample(range(1, size), count - 1)), size]
    return [
        {name: cells[start:end] for name, cells in table.items()}
        for start, end in itertools.pairwise(ends)
    ]


def _csv(table, rng, folder, habits):
    packed = rng.random() < 0.2
    path = folder / f"{next(_NUMBERS)}.csv{'.gz' if packed else ''}"
    columns = [
        [text_of(cell, rng, habits[name]) for cell in cells] for name, cells in table.items()
    ]
    with (gzip.open if packed else open)(path, "wt", encoding="utf-8", newline="") as file:
        quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        writer = csv.writer(file, quoting=quoting, lineterminator=rng.choice(["\n", "\r\n"]))
        writer.writerow(table)
        writer.writerows(
            ["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)
        )
    return path


def _json_lines(table, rng, folder, habits):
    """Write objects; a missing cell is null, or its key is left out, but for the first row's."""
    path = folder / f"{next(_NUMBERS)}.jsonl"
    names = list(table)
    with path.open("w", encoding="utf-8") as file:
        for number, cells in enumerate(zip(*table.values(), strict=True)):
            known = {
                name: _for_json(cell, rng, habits[name])
                for name, cell in zip(names, cells, strict=True)
            }
            kept = {
                name: c
                for name, c in known.items()
                if c is not None or rng.random() < 0.5 or not number
            }
            file.write(f"{json.dumps(kept)}\n")
    return path


def _for_json(cell, rng, habits):
    """Return a cell as JSON has it: text, unless it is a number that JSON holds exactly."""
    number = None if is_missing(cell) else number_of(cell)
    if isinstance(cell, bool):
        return int(cell) if habits.flags and rng.random() < 0.3 else cell
    if number is not None and math.isfinite(number) and rng.random() < 0.7:
        whole = isinstance(number, int) and abs(number) < EXACT
        return float(number) if whole and rng.random() < 0.3 else number
    return text_of(cell, rng, habits)


def _duckdb(table, rng, folder, habits):
    stored = _arrow_table(table, rng, habits, texts=(pa.string(), pa.large_string()))
    connection = duckdb.connect()
    connection.register("arrow", _narrow(stored))
    connection.execute("SET preserve_insertion_order = true; CREATE TABLE rows AS FROM arrow")
    return connection.table("rows")


def _narrow(table):
    """Return a table without types that some libraries do not know."""
    columns = [
        cells.cast(pa.decimal128(cells.type.precision, cells.type.scale))
        if pa.types.is_decimal256(cells.type)
        else cells.cast(pa.int8())
        if pa.types.is_null(cells.type)
        else cells
        for cells in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def _sqlite(table, rng, folder, habits):
    path = folder / f"{next(_NUMBERS)}.sqlite"
    names = ", ".join(f'"{name}"' for name in table)
    columns = [
        [_for_sqlite(cell, rng, habits[name]) for cell in cells] for name, cells in table.items()
    ]
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"CREATE TABLE rows ({names})")
    marks = ", ".join("?" * len(table))
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", list(zip(*columns, strict=True)))
    connection.commit()
    connection.close()
    return SqlTable(f"sqlite:///{path}", "rows")


def _for_sqlite(cell, rng, habits):
    number = number_of(cell)
    if isinstance(cell, bool) and habits.flags:
        return int(cell)
    if number is not None and not is_missing(cell) and rng.random() < 0.7:
        whole = isinstance(number, int)
        if whole and abs(number) < 2**63:
            return float(number) if abs(number) < EXACT and rng.random() < 0.3 else number
        return str(number) if whole else number
    return text_of(cell, rng, habits)


LIBRARIES = {
    "pyarrow": _pyarrow,
    "pandas": _pandas,
    "polars": _polars,
    "parquet": _parquet,
    "arrow files": _arrow_files,
    "csv": _csv,
    "json lines": _json_lines,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
}
# Systems of their own, which read no text by the rules of a schema.
DATABASES = ("sqlite", "duckdb")
FRAMES = ("pandas", "polars", "pyarrow")
# A frame gives a frame of its library; all else gives Arrow's.
OUTPUT = {name: name if name in FRAMES else "pyarrow" for name in LIBRARIES}


def empty(folder):
    """Remove the files that tables were stored in."""
    for path in sorted(Path(folder).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()

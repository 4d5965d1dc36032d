"""Draft a whole schema from a messy table, in one pass: what each column seems to be, and why.

Every column gets an entry: a type with its fields, or `drop` with the reason. Nothing stops the
draft: a column of which nothing can be made is left out.

Privacy: a draft was read from the data. Every field is marked so, and what can not be marked
(likely rules, a column of user ids) is proposed in words, never entered. What is printed about a
draft names columns and kinds, and no cell; the values are in the schema file alone.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import is_text
from tabpe.errors import SchemaError, column_hint
from tabpe.io.canonical import (
    EXACT_INTEGERS,
    find_missing,
    flatten_column,
    read_numbers,
    read_texts,
)
from tabpe.io.draft import LABEL_CLASSES, draft_temporal, find_piles
from tabpe.io.layout import detect_layout
from tabpe.io.source import collect_table, get_title, use_source
from tabpe.schema import (
    Boolean,
    Categorical,
    Column,
    Date,
    Datetime,
    Float,
    Integer,
    Source,
    Temporal,
)
from tabpe.schema.column_names import find_personal_reason, names_a_person
from tabpe.schema.dictionaries import find_dictionary
from tabpe.schema.month_names import MONTH_LANGUAGES, has_long_months, read_months, split_language
from tabpe.schema.number_format import NumberFormat
from tabpe.schema.table_format import TableFormat, TableReading

# The share of cells that must agree: one stray row does not change what a column is.
_MOST = 0.98
_LISTED = 200  # values that a draft lists; of more, the most common ones are to be estimated
_TOP = 100
_FEWEST_ROWS = 30  # of a column of ids
_FEW = 20
_DECIMALS = 9
_SKEWED = 8.0
_LONG_TEXT, _WORDS = 40, 4
_OTHER = "other"
_MOST_RULE_COLUMNS = 8
# Words for a missing value. The last of them are values of many lists, and count beside numbers.
_NULL_WORDS = frozenset(
    [
        "na",
        "n/a",
        "n.a.",
        "nan",
        "null",
        "#n/a",
        "#null!",
        "unknown",
        "unbekannt",
        "inconnu",
        "inconnue",
        "desconocido",
        "sconosciuto",
        "missing",
        "fehlt",
        "k.a.",
        "ka.",
        "nd",
        "n.d.",
        "-",
        "--",
        "---",
        "?",
        ".",
        "..",
        "<na>",
        "nil",
        "not_available",
        "unk",
        "不明",
        "desconocida",
        "desconhecido",
        "desconhecida",
        "sconosciuta",
        "ignorado",
        "s/d",
        "ns/nc",
        "onbekend",
        "ukjent",
        "ukendt",
        "okänd",
        "nieznany",
        "nieznane",
        "brak",
        "neznámé",
        "неизвестно",
        "未知",
        "不详",
    ]
) | {
    "keine angabe",
    "not available",
    "not known",
    "non renseigné",
    "sin datos",
    "sin dato",
    "no data",
    "brak danych",
    "não informado",
    "non noto",
    "нет данных",
}
_NUMBER_NULLS = _NULL_WORDS | {"none", "x", "*", "nein", "no", "not measured", "entfällt"}
_YES_NO = [
    set(pair.split("/"))
    for pair in [
        "yes/no",
        "y/n",
        "ja/nein",
        "j/n",
        "oui/non",
        "o/n",
        "si/no",
        "sí/no",
        "sì/no",
        "s/n",
        "sim/não",
        "ja/nee",
        "ja/nej",
        "ano/ne",
        "igen/nem",
        "evet/hayır",  # noqa: RUF001
        "да/нет",
        "是/否",
        "da/nu",
        "tak/nie",
        "true/false",
        "on/off",
        "wahr/falsch",
        "vrai/faux",
        "はい/いいえ",
        "positive/negative",
        "positiv/negativ",
    ]
]
_ORDERS = [
    tuple(words.split())
    for words in (
        "never rarely sometimes often always",
        "none mild moderate severe",
        "none minor moderate major",
        "very_low low medium high very_high",
        "low moderate high critical",
        "low normal high",
        "poor fair good very_good excellent",
        "small medium large",
        "xs s m l xl xxl",
        "keine leicht mittel schwer",
        "gering mittel hoch",
        "niedrig mittel hoch sehr_hoch",
        "nie selten manchmal oft immer",
        "faible moyen élevé",
        "faible moyenne élevée",
        "bajo medio alto",
        "baja media alta",
        "nulo leve moderado intenso",
        "ninguno leve moderado grave",
        "ninguno leve moderado severo",
        "nunca raramente a_veces a_menudo siempre",
        "aucun léger modéré sévère",
        "aucune légère modérée sévère",
        "jamais rarement parfois souvent toujours",
        "basso medio alto",
        "bassa media alta",
        "assente lieve moderato grave",
        "assente lieve moderato severo",
        "geen licht matig ernstig",
        "laag gemiddeld hoog",
        "baixo médio alto",
        "niski średni wysoki",
        "i ii iii iv v",
        "mo di mi do fr sa so",
        "mon tue wed thu fri sat sun",
        "monday tuesday wednesday thursday friday saturday sunday",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "bronze silver gold platinum",
        "strongly_disagree disagree neutral agree strongly_agree",
    )
]
_DATE_FORMATS = (
    "%d.%m.%Y",
    "%Y-%m-%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y%m%d",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d %B %Y",
    "%Y年%m月%d日",
    "%Y.%m.%d",
)
_MONTH_FORMATS = ("%d. %b %Y", "%d/%b/%Y", "%d/%b/%y", "%d %b %y", "%d de %b de %Y", "%d.%b.%Y")
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
_BAND = re.compile(
    r"[<>≥≤]?=?\s*(\d+)\s*(?:(?:-|–|to|bis|à)\s*\d+|\+|and over|und mehr)?\s*\D{0,12}"  # noqa: RUF001
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE = re.compile(r"(?:\+|00|\(|0)[\d\s()/.-]{6,}\d")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_ADDRESS = re.compile(r"(?:https?://|/)\S*|\d{1,3}(?:\.\d{1,3}){3}")
_PERSON = re.compile(r"[^\W\d_][\w'’.-]*(?:,?\s+[^\W\d_][\w'’.-]*){1,3}")  # noqa: RUF001
_AFFIXED = re.compile(
    r"\(?[-+−]?\s*(?P<prefix>[^\d\s.,()+−-][^\d.,()+−-]*?)?\s*[-+−]?[\d.,'’  ]*\d[\d.,]*-?"  # noqa: RUF001
    r"\s*(?P<suffix>[^\d\s.,()-][^\d()]*?)?\)?"
)
# Whatever such columns hold, and however often, it tells who a row is about.
_OF_PERSONS = ("names of persons", "e-mail addresses", "phone numbers", "addresses")
_SEEN_AS_PERSONS = frozenset(
    ["names of persons", "e-mail addresses", "phone numbers", "names of persons or places"]
)
_KEYED_ROWS = 200_000
_WITH_COMMA = re.compile(r"\d+(?:\.\d{3})*,(?:\d{1,2}|\d{4,})")
_WITH_POINT = re.compile(r"\d+(?:,\d{3})*\.(?:\d{1,2}|\d{4,})")
_SAMPLED = 1000
_FEW_WORDS = 3
_PLAIN_NUMBER = re.compile(r"[-+−]?[\d.,'’ \u00a0\u202f]*\d[\d.,]*")  # noqa: RUF001
_LONGEST_AFFIX = 12
# Keys and phone numbers have so many digits, all of them; numbers that were measured differ.
_KEY_DIGITS, _UNIQUE_KEY_DIGITS = 8, 7
_CODE_NAMES = frozenset(
    [
        "plz",
        "zip",
        "zipcode",
        "postcode",
        "postleitzahl",
        "postal",
        "cp",
        "code_postal",
        "icd",
        "ops",
        "iban",
        "bin",
        "郵便番号",
    ]
)
_MARKS: tuple[tuple[str, str | None], ...] = (
    (".", None),
    (".", ","),
    (",", None),
    (",", "."),
    (",", " "),
    (".", " "),
    (".", "'"),
)


@dataclass(frozen=True)
class DraftedColumn:
    """What a draft says about a column.

    Args:
        name: Name of the column.
        entry: Its entry in a schema file.
        why: What it seems to be. No cell is quoted.
        check: What to check.
        column: The column; None if it is left out, or if something is to be estimated.
    """

    name: str
    entry: Mapping[str, Any]
    why: str
    check: str
    column: Column | None = None

    @property
    def kind(self) -> str:
        """The type, or `drop`."""
        return "drop" if "drop" in self.entry else str(self.entry["type"])


@dataclass(frozen=True)
class TableDraft:
    """A whole schema, drafted from a table.

    Args:
        columns: What was found out about each column, in the order of the table.
        layout: How the file is written; None if it is not text.
        label: The label, if one was named.
        label_cuts: The values at which the classes of a numeric label begin.
        rules: Likely rules, which every row obeys. They are proposed in a comment.
        unit: The column that seems to hold the keys of persons with several rows.
    """

    columns: tuple[DraftedColumn, ...]
    layout: TableFormat | None = None
    label: str | None = None
    label_cuts: tuple[float, ...] | None = None
    rules: tuple[str, ...] = ()
    unit: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the draft as the plain values of a schema file."""
        head: dict[str, Any] = {} if self.label is None else {"label": self.label}
        if self.label_cuts:
            head["label_cuts"] = list(self.label_cuts)
        if self.layout is not None and self.layout.stated:
            head["format"] = self.layout.to_dict()
        return {**head, "columns": [dict(column.entry) for column in self.columns]}


def draft_table(
    data: Any,
    *,
    label: str | None = None,
    drop: Sequence[str] = (),
    layout: TableFormat | None = None,
) -> TableDraft:
    """Return a draft of a schema for every column of a table.

    Privacy: NOT PRIVATE until each column is checked, corrected and marked `source: public`.

    Args:
        data: A table, as for `TabPE.fit`; it is read as a whole.
        label: The label. A few numbers become its classes; many are cut at their quartiles.
        drop: Columns to leave out, such as names and ids.
        layout: How the file is written; None to detect it.

    Example:
        >>> table = pa.table({"fee": ["2.815,43 EUR", "7,5 EUR"], "seen": ["31.12.2024"] * 2})
        >>> [(one.name, one.kind, one.entry["format"]) for one in draft_table(table).columns]
        [('fee', 'float', '1.234,56 EUR'), ('seen', 'date', '%d.%m.%Y')]
    """
    if layout is None and isinstance(data, (str, Path)) and "://" not in str(data):
        layout = detect_layout(data)
    with use_source(data, reading=TableReading(layout)) as source:
        for role, name in [*(("drop", name) for name in drop), ("label", label)]:
            if name is not None and (
                name not in source.names or (role == "label" and name in drop)
            ):
                hint = column_hint(name, source.names, [*drop, label or ""])
                raise SchemaError(f"{role}={name!r} is not a column: {hint}")
        nested, names = source.nested, list(source.names)
        wanted = [name for name in names if name not in drop and name not in nested]
        table = collect_table(source, wanted, where=get_title(data))
    cells = {name: _Cells.from_column(name, table.column(name)) for name in wanted}
    marks = _choose_marks(cells.values(), layout)
    orders = _list_frame_orders(data)
    drafted = []
    for name in names:
        if name in drop:
            drafted.append(_leave_out(name, "left out as asked"))
        elif name in nested:
            drafted.append(_leave_out(name, "lists or other nested values"))
        else:
            drafted.append(
                _draft_cells(cells[name], marks, is_label=name == label, order=orders.get(name))
            )
    layout = _state_marks(layout, marks, drafted)
    drafted = [_simplify_format(one, layout) for one in drafted]
    cuts = _choose_cuts(cells, drafted, label, marks)
    units = [one.name for one in drafted if one.name in cells and _is_person_key(cells[one.name])]
    if not units and (found := _find_shared_key(table, drafted, cells)):
        units = [found]
        drafted = [_draft_key(one.name) if one.name == found else one for one in drafted]
    return TableDraft(
        tuple(drafted),
        layout,
        label,
        cuts,
        _propose_rules(drafted, cells),
        units[0] if units else None,
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a column: all of them, and the distinct ones that are not missing.

    Args:
        name: Name of the column.
        array: Its cells, in canonical form.
        missing: Whether a cell is missing.
        texts: The distinct texts, stripped of nothing; empty if the cells are not text.
        counts: How often each of them occurs.
        nulls: The texts that stand for a missing value.
    """

    name: str
    array: pa.Array
    missing: bool
    texts: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    nulls: tuple[str, ...] = ()

    @classmethod
    def from_column(cls, name: str, column: pa.ChunkedArray) -> _Cells:
        cells = flatten_column(column, name)
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        gone = find_missing(cells)
        array = cells.filter(pa.array(~gone))
        if not is_text(array.type):
            return cls(name, array, bool(gone.any()))
        found = pc.value_counts(array.cast(pa.string()))
        texts, counts = found.field(0).to_pylist(), found.field(1).to_pylist()
        return cls(name, array, bool(gone.any()), tuple(texts), tuple(counts)).split_nulls()

    def split_nulls(self) -> _Cells:
        """Return the cells without the words that stand for a missing value."""
        rest = [text for text in self.texts if text.strip().lower() not in _NUMBER_NULLS]
        numeric = rest and _share_of(rest, [1] * len(rest), lambda one: one.strip()[:1].isdigit())
        known = _NUMBER_NULLS if numeric and numeric > _MOST else _NULL_WORDS
        known |= _find_odd_words(self.texts, self.counts)
        nulls = tuple(text for text in self.texts if text.strip().lower() in known)
        if not nulls:
            return self
        if find_dictionary(set(self.texts)):
            return self
        kept = pc.invert(pc.is_in(self.array, pa.array(nulls, self.array.type)))
        pairs = [one for one in zip(self.texts, self.counts, strict=True) if one[0] not in nulls]
        return dataclasses.replace(
            self,
            array=self.array.filter(kept),
            texts=tuple(text for text, _ in pairs),
            counts=tuple(count for _, count in pairs),
            nulls=nulls,
        )

    @property
    def rows(self) -> int:
        return len(self.array)

    @property
    def distinct(self) -> int:
        return len(self.texts) or len(pc.unique(self.array))

    @property
    def nullable(self) -> bool:
        return self.missing or bool(self.nulls)

    @property
    def is_text(self) -> bool:
        return is_text(self.array.type)

    def share(self, test: Callable[[str], Any]) -> float:
        """Return the share of cells that pass a test."""
        return _share_of(self.texts, self.counts, test)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that all types have."""
        nulls = {"nulls": self.nulls} if self.nulls else {}
        return {"source": Source.DATA, "nullable": self.nullable, **nulls}


def _find_odd_words(texts: Sequence[str], counts: Sequence[int]) -> frozenset[str]:
    """Return the few words among many numbers: whatever the language, they are no number.

    Words that are as common as the numbers, or beside few of them, may be values of a list.
    """
    words = [text for text in texts if not any(map(str.isdigit, text))]
    numbers = sum(bool(_PLAIN_NUMBER.fullmatch(text.strip())) for text in texts)
    if (
        not words
        or len(words) > _FEW_WORDS
        or numbers < max(_FEW, _MOST * (len(texts) - len(words)))
    ):
        return frozenset()
    odd = sum(count for text, count in zip(texts, counts, strict=True) if text in words)
    return (
        frozenset(text.strip().lower() for text in words) if 2 * odd < sum(counts) else frozenset()
    )


def _share_of(texts: Sequence[str], counts: Sequence[int], test: Callable[[str], Any]) -> float:
    total = sum(counts)
    passed = sum(count for text, count in zip(texts, counts, strict=True) if test(text))
    return passed / total if total else 0.0


def _leave_out(name: str, reason: str, keep: str = "give it a type to keep it") -> DraftedColumn:
    return DraftedColumn(name, {"name": name, "drop": reason}, reason, keep)


def _keep(column: Column, why: str, check: str = "") -> DraftedColumn:
    return DraftedColumn(column.name, column.to_dict(), why, check, column)


def _draft_cells(
    cells: _Cells,
    marks: tuple[str, str | None],
    *,
    is_label: bool,
    order: tuple[Any, ...] | None,
) -> DraftedColumn:
    """Return what the cells of a column seem to be; the first kind that fits."""
    if not cells.rows:
        return _leave_out(cells.name, "no value at all")
    if set(cells.texts) == {"\N{REPLACEMENT CHARACTER}"}:
        return _leave_out(cells.name, "lists or other nested values")
    if order is not None:
        listed = tuple(value for value in order if isinstance(value, (str, int)))
        return _keep(
            Categorical(cells.name, listed, ordered=True, **cells.fields), "ordered in the frame"
        )
    for draft in (_draft_personal, _draft_time, _draft_flags):
        found = draft(cells)
        if found is not None:
            return found
    numbers = _draft_number(cells, marks, is_label=is_label)
    return numbers or _draft_text(cells)


def _draft_key(name: str) -> DraftedColumn:
    """Return the entry of a column whose values are persons with several rows."""
    return _leave_out(name, "keys of persons", f"pass --unit {name}: several rows are of one")


def _find_shared_key(
    table: pa.Table, drafted: Sequence[DraftedColumn], cells: Mapping[str, _Cells]
) -> str | None:
    """Return the column of which several rows share a value, and always the same person with it.

    A person is seen by a column of names, phone numbers or e-mail addresses, whatever the key is
    called: each value of the key has one name.
    """
    table = table.slice(0, _KEYED_ROWS)
    personal = [
        one.name
        for one in drafted
        if one.name in cells and one.entry.get("drop") in _SEEN_AS_PERSONS
    ]
    candidates = [
        one.name
        for one in drafted
        if one.name in cells
        and one.name not in personal
        and not isinstance(one.column, Temporal)
        and cells[one.name].rows > cells[one.name].distinct
        and cells[one.name].distinct > max(_FEW, 0.02 * cells[one.name].rows)
        and not (cells[one.name].is_text and _is_long(cells[one.name]))
    ]
    if not personal or not candidates:
        return None
    codes = {name: _encode_values(table.column(name)) for name in (*personal, *candidates)}
    return next(
        (
            name
            for name in candidates
            if any(_determines(codes[name], codes[other]) for other in personal)
        ),
        None,
    )


def _encode_values(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a code for each cell; -1 for a null."""
    codes = column.combine_chunks().dictionary_encode()
    array = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    return np.asarray(pc.fill_null(array.indices, -1).to_numpy(), dtype=np.int64)


def _determines(key: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether rows of one key nearly always share the other value, and not by chance."""
    there = key >= 0
    key, other = key[there], other[there]
    keys = len(np.unique(key))
    if keys < _FEW or keys > 0.9 * len(key):  # hardly any repeats
        return False
    width = int(other.max(initial=0)) + 2
    pairs = len(np.unique(key * width + other + 1))
    shuffled = np.random.default_rng(0).permutation(other)
    by_chance = len(np.unique(key * width + shuffled + 1))
    return pairs - keys < 0.1 * (by_chance - keys)


def _draft_personal(cells: _Cells) -> DraftedColumn | None:  # noqa: PLR0911 (one a kind)
    """Return the entry of a column that tells who a row is about; None if it does not."""
    many = cells.distinct > _FEW
    spread = cells.distinct / cells.rows
    if _is_person_key(cells):
        return _draft_key(cells.name)
    kinds = (
        (_EMAIL, "e-mail addresses"),
        (_UUID, "ids"),
        (_PHONE, "phone numbers"),
        (_ADDRESS, "addresses of the web"),
    )
    for pattern, reason in kinds:
        if not cells.is_text or cells.distinct <= 1 or cells.share(pattern.fullmatch) <= _MOST:
            continue
        # Numbers and dates are no phone numbers, and a few pages of a site are words.
        is_other = pattern is _PHONE and (_find_date_format(cells) or not _look_like_phones(cells))
        if not is_other and not (pattern is _ADDRESS and cells.distinct <= _LISTED):
            return _leave_out(cells.name, reason, "type: id numbers the synthetic rows")
    reason = find_personal_reason(cells.name) or ""
    if _look_like_ids(cells):
        return _leave_out(cells.name, "ids", "type: id numbers the synthetic rows")
    if _look_like_keys(cells):
        return _leave_out(cells.name, "long numbers like those of keys or phones")
    wordy = cells.is_text and _are_words(cells)
    if reason in _OF_PERSONS and cells.distinct > 2:  # noqa: PLR2004 (yes and no)
        return _leave_out(cells.name, reason)
    if reason and many and spread > 0.02 and (wordy or reason == "ids"):  # noqa: PLR2004
        return _leave_out(cells.name, reason)
    if cells.is_text and many and spread > 0.2 and wordy and _is_long(cells):  # noqa: PLR2004
        return _leave_out(cells.name, "free text", "derive a column of a few values")
    # Persons with several rows repeat, so their names do too.
    wide = cells.distinct > _LISTED or spread > 0.3  # noqa: PLR2004
    if cells.is_text and many and wide and cells.share(_PERSON.fullmatch) > 0.9:  # noqa: PLR2004
        return _leave_out(cells.name, "names of persons or places", "list the values to keep it")
    return None


def _are_words(cells: _Cells) -> bool:
    return cells.share(lambda text: any(map(str.isalpha, text))) > 0.5  # noqa: PLR2004


def _is_long(cells: _Cells) -> bool:
    return (
        cells.share(lambda text: len(text.split()) >= _WORDS or len(text) > _LONG_TEXT) > 0.5  # noqa: PLR2004
    )


def _look_like_phones(cells: _Cells) -> bool:
    digits = [sum(map(str.isdigit, text)) for text in cells.texts]
    marked = cells.share(lambda text: any(mark in text for mark in "+/() -"))
    return marked > 0.5 and float(np.median(digits)) >= 8 and cells.distinct > _FEW  # noqa: PLR2004


def _look_like_ids(cells: _Cells) -> bool:
    """Whether every row has a value of its own that counts or names rows."""
    if cells.rows < _FEWEST_ROWS or cells.distinct < cells.rows:
        return False
    by_name = find_personal_reason(cells.name) == "ids"
    values = read_numbers(cells.array)
    if np.isfinite(values).all():
        whole = np.array_equal(np.rint(values), values)
        dense = float(values.max() - values.min()) < 1.2 * cells.rows
        return bool(whole and (by_name or dense or _have_digits(values, _UNIQUE_KEY_DIGITS)))
    one_word = cells.share(lambda text: " " not in text.strip() and any(map(str.isdigit, text)))
    if not cells.is_text or one_word <= _MOST or _find_date_format(cells) is not None:
        return False
    lengths = {len(text) for text in cells.texts}
    plain = cells.share(lambda text: text.replace("-", "").replace("_", "").isalnum()) > _MOST
    letters = cells.share(lambda text: any(map(str.isalpha, text))) > _MOST
    return by_name or (plain and letters and len(lengths) <= 3)  # noqa: PLR2004


def _have_digits(values: NDArray[np.float64], least: int) -> bool:
    """Whether whole numbers all have as many digits, and at least so many."""
    low, high = float(values.min()), float(values.max())
    return 10.0 ** (least - 1) <= low and len(str(int(low))) == len(str(int(high)))


def _look_like_keys(cells: _Cells) -> bool:
    """Whether many different whole numbers have as many digits, as keys and phone numbers have."""
    if cells.distinct <= max(_LISTED, 0.02 * cells.rows):
        return False
    if cells.is_text and (
        cells.share(lambda text: text.strip().isdigit()) <= _MOST or _find_date_format(cells)
    ):
        return False
    if not cells.is_text and not pa.types.is_integer(cells.array.type):
        return False
    values = read_numbers(cells.array)
    values = values[np.isfinite(values)]
    return bool(len(values)) and _have_digits(values, _KEY_DIGITS)


def _is_person_key(cells: _Cells) -> bool:
    repeated = cells.rows > cells.distinct > max(_FEW, 0.02 * cells.rows)
    return repeated and names_a_person(cells.name)


def _draft_time(cells: _Cells) -> DraftedColumn | None:
    """Return a column of dates or times, also in one of the usual formats."""
    found = draft_temporal(cells.name, cells.array)
    if found is not None:
        return _keep(dataclasses.replace(found, **cells.fields), f"{found.type_name}s, ISO 8601")
    chosen = _find_date_format(cells) if cells.is_text else None
    if chosen is None:
        if cells.is_text and _mix_date_formats(cells):
            return _leave_out(
                cells.name, "dates in several formats", "write them in one to keep it"
            )
        return None
    pattern, moments, twin = chosen
    low, high = min(moments), max(moments)
    fields = cells.fields | {"format": pattern}
    fields["nullable"] = fields["nullable"] or len(moments) < cells.distinct
    check = "is the day first, or the month?" if twin else "bounds"
    if low.time() == high.time() == dt.time() and not any(mark in pattern for mark in "HI"):
        return _keep(Date(cells.name, low.date(), high.date(), **fields), "dates as text", check)
    steps = "second" if "%S" in pattern else "minute"
    return _keep(Datetime(cells.name, low, high, steps, **fields), "points in time as text", check)


def _find_date_format(
    cells: _Cells, language: str | None = None
) -> tuple[str, list[dt.datetime], bool] | None:
    """Return the format that nearly all cells have, their moments, and whether another fits too.

    With a language only formats with names of months, which are in that language.
    """
    if not cells.is_text or not cells.texts:
        return None
    # A second row of a header is not a date.
    likely = [text for text in cells.texts[:_FEW] if len(text) <= 30 and re.search(r"\d", text)]  # noqa: PLR2004
    if 2 * len(likely) < len(cells.texts[:_FEW]):
        return None
    found = []
    patterns = [
        *_DATE_FORMATS,
        *(f"{day}{gap}{time}" for day in _DATE_FORMATS for gap in (" ", ", ") for time in _TIMES),
        "%d/%b/%Y:%H:%M:%S",
        "%Y%m%d%H%M%S",
    ]
    if language:
        patterns = [*(one for one in patterns if "%b" in one), *_MONTH_FORMATS]
    for pattern in patterns:
        # A few cells tell most formats apart.
        if _parse_moments(cells.texts[:_FEW], pattern).count(None) > _FEW // 4:
            continue
        moments = _parse_moments(cells.texts, pattern)
        counts = [c for c, one in zip(cells.counts, moments, strict=True) if one is not None]
        if sum(counts) > _MOST * cells.rows:
            found.append((pattern, [one for one in moments if one is not None]))
    if not found:
        return None if language else _find_month_language(cells)
    best = max(len(moments) for _, moments in found)
    full = [one for one in found if len(one[1]) == best]
    return (*full[0], len(full) > 1 and full[0][1] != full[1][1])


def _find_month_language(cells: _Cells) -> tuple[str, list[dt.datetime], bool] | None:
    """Return the same for names of months in another language than English."""
    if not _are_words(cells):
        return None
    for language in MONTH_LANGUAGES:
        texts = tuple(read_months(text, language) for text in cells.texts)
        if texts == cells.texts:
            continue
        found = _find_date_format(dataclasses.replace(cells, texts=texts), language)
        if found is not None:
            pattern, moments, _ = found
            if any(has_long_months(text, language) for text in cells.texts):
                pattern = pattern.replace("%b", "%B")
            return f"{pattern} ({language})", moments, False
    return None


def _mix_date_formats(cells: _Cells) -> bool:
    """Whether nearly all cells are dates, but of more than one format."""
    texts = cells.texts[:_SAMPLED]
    if not all(any(map(str.isdigit, text)) and len(text) <= 30 for text in texts[:_FEW]):  # noqa: PLR2004
        return False
    parsed = [_parse_moments(texts, pattern) for pattern in _DATE_FORMATS]
    read = sum(any(one is not None for one in moments) for moments in zip(*parsed, strict=True))
    return read > _MOST * len(texts) and not all(text.strip().isdigit() for text in texts)


def _parse_moments(texts: Sequence[str], pattern: str) -> list[dt.datetime | None]:
    stripped = pa.array([text.strip() for text in texts], pa.string())
    if pattern == "%Y%m%d":
        keep = pc.match_substring_regex(stripped, "^(19|20)[0-9]{6}$")
        stripped = pc.if_else(keep, stripped, None)
    moments = pc.strptime(stripped, format=pattern, unit="s", error_is_null=True).to_pylist()
    return [one if one is not None and 1800 <= one.year <= 2200 else None for one in moments]  # noqa: PLR2004


def _draft_flags(cells: _Cells) -> DraftedColumn | None:
    """Return a column of two states: booleans, 0 and 1, or words for yes and no."""
    if pa.types.is_boolean(cells.array.type):
        return _keep(Boolean(cells.name, **cells.fields), "booleans")
    if cells.distinct > 2:  # noqa: PLR2004
        return None
    words = {text.strip().lower() for text in cells.texts}
    if words and words <= {"true", "false"}:
        return _keep(Boolean(cells.name, **cells.fields), "true and false")
    if words and len(cells.texts) == len(words) and any(words <= pair for pair in _YES_NO):
        listed = tuple(sorted(cells.texts))
        return _keep(Categorical(cells.name, listed, **cells.fields), "words for yes and no")
    numbers = set(np.unique(read_numbers(cells.array)).tolist())
    if numbers == {0.0, 1.0} and not any(text.strip().startswith("00") for text in cells.texts):
        return _keep(Categorical(cells.name, (0, 1), **cells.fields), "0 and 1")
    return None


def _choose_marks(columns: Any, layout: TableFormat | None) -> tuple[str, str | None]:
    """Return the decimal mark and the thousands mark that the numbers of a table have."""
    comma = point = 0.0
    for cells in columns:
        if not cells.texts:
            continue
        written = [text for text in cells.texts[:_SAMPLED] if _AFFIXED.fullmatch(text.strip())]
        if len(written) < len(cells.texts[:_SAMPLED]) / 2 or _are_glued(written):
            continue
        body = [re.sub(r"[^\d.,]", "", text) for text in written]
        comma += sum(map(bool, map(_WITH_COMMA.fullmatch, body))) / len(body)
        point += sum(map(bool, map(_WITH_POINT.fullmatch, body))) / len(body)
    if layout is not None and layout.decimal == ",":
        return ",", layout.thousands or "."
    if comma == point:
        return (",", ".") if layout is not None and layout.delimiter == ";" else (".", ",")
    return (",", ".") if comma > point else (".", ",")


def _draft_number(
    cells: _Cells, marks: tuple[str, str | None], *, is_label: bool
) -> DraftedColumn | None:
    """Return a column of numbers, with the marks, currency or unit they are written with."""
    parsed = _parse_numbers(cells, marks)
    if parsed is None:
        return None
    values, form, unread = parsed
    if is_label and len(np.unique(values)) <= LABEL_CLASSES and form is None:
        whole = np.array_equal(np.rint(values), values)
        listed = np.unique(values).astype(np.int64 if whole else np.float64)
        return _keep(Categorical(cells.name, tuple(listed.tolist()), **cells.fields), "classes")
    column = _make_number(cells, values, form, unread=unread, piles=not is_label)
    if column is None:
        return _leave_out(cells.name, "numbers that are too large or too far apart", "categorical?")
    why = "whole numbers" if isinstance(column, Integer) else "numbers"
    if form is not None and (form.prefix or form.suffix):
        why += ", percentages" if form.suffix == "%" else ", with a currency or unit"
    check = "a number, or codes (categorical)?" if _are_few_codes(column, values) else "bounds"
    if column.min == column.max:
        check = "constant: leave it out?"
    elif column.scale == "log":
        why += ", skewed"
    if column.special:
        why += ", special values"
    if cells.nulls and any(text.strip().lower() not in _NUMBER_NULLS for text in cells.nulls):
        check += "; do the nulls mean missing?"
    return _keep(column, why, check)


def _are_few_codes(column: Integer | Float, values: NDArray[np.float64]) -> bool:
    return isinstance(column, Integer) and len(np.unique(values)) <= 7  # noqa: PLR2004


def _parse_numbers(
    cells: _Cells, marks: tuple[str, str | None]
) -> tuple[NDArray[np.float64], NumberFormat | None, bool] | None:
    """Return the numbers of a column, how they are written, and whether some cells are none."""
    kind = cells.array.type
    if not cells.is_text:
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return None
        values = read_numbers(cells.array)
        return values[np.isfinite(values)], None, False
    if _are_codes(cells):
        return None
    affixes = _find_affixes(cells)
    if affixes is None:
        return None
    candidates = [marks, (marks[0], None), *_MARKS]
    for decimal, thousands in dict.fromkeys(candidates):
        form = NumberFormat(decimal, thousands, *affixes)
        numbers = [_normalize(form, text) for text in cells.texts]
        counts = [c for c, one in zip(cells.counts, numbers, strict=True) if one is not None]
        if sum(counts) <= _MOST * cells.rows:
            continue
        values = np.array([float(one) for one in numbers if one is not None])
        # Repeated as often as they occur, for quantiles.
        values = np.repeat(values, counts)
        plain = all(_normalize(NumberFormat(), text) is not None for text in cells.texts)
        if thousands is not None and not any(_uses_mark(text, thousands) for text in cells.texts):
            form = NumberFormat(decimal, None, *affixes)
        stated = None if plain and decimal == "." and not any(affixes) else form
        if plain and not any(affixes) and decimal == "," and not _has_marks(cells):
            stated = None
        return values, stated, None in numbers
    return None


def _uses_mark(text: str, mark: str) -> bool:
    """Whether a thousands mark is between digits; one kind of blank stands for all."""
    return bool(
        re.search(r"\d[ \u00a0\u202f]\d" if mark == " " else rf"\d{re.escape(mark)}\d", text)
    )


def _has_marks(cells: _Cells) -> bool:
    return any("," in text or "." in text for text in cells.texts)


def _normalize(form: NumberFormat, text: str) -> str | None:
    found = form.normalize(text)
    if found is None and re.fullmatch(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+\s*", text):
        return text.strip()
    return found


def _find_affixes(cells: _Cells) -> tuple[str, str] | None:
    """Return the currency before and the unit after the numbers of a column; None if not one."""
    found = [_AFFIXED.fullmatch(text.strip()) for text in cells.texts]
    counts = [c for c, one in zip(cells.counts, found, strict=True) if one is not None]
    if sum(counts) <= _MOST * cells.rows and cells.share(_is_scientific) <= _MOST:
        return None
    prefixes = {(one["prefix"] or "").strip() for one in found if one is not None} - {""}
    suffixes = {(one["suffix"] or "").strip() for one in found if one is not None} - {""}
    if cells.share(_is_scientific) > 0:
        suffixes = {one for one in suffixes if not re.fullmatch(r"[eE].*", one)}
    if len(prefixes) > 1 or len(suffixes) > 1:
        return None
    # A sentence with a number in it is no number.
    if any(len(one) > _LONGEST_AFFIX for one in (*prefixes, *suffixes)):
        return None
    prefix, suffix = next(iter(prefixes), ""), next(iter(suffixes), "")
    # A letter right before or after digits is a code, such as B12; after a blank it is a unit.
    tailed = [text for text in cells.texts if re.search(r"[0-9][A-Za-z]$", text.strip())]
    codes = len(prefix) == 1 and prefix.isalpha() and prefix.isascii()
    return None if codes or tailed or _are_glued(cells.texts) else (prefix, suffix)


def _are_glued(texts: Sequence[str]) -> bool:
    """Whether letters stand right before digits, as in codes."""
    return sum(bool(re.match(r"[A-Za-z]+\d", text.strip())) for text in texts) > len(texts) / 2


def _is_scientific(text: str) -> bool:
    return bool(re.fullmatch(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+\s*", text))


def _are_codes(cells: _Cells) -> bool:
    """Whether digits are codes: with leading zeros, or by the name of the column."""
    leading = cells.share(lambda text: bool(re.match(r"\s*0\d", text)))
    words = set(re.split(r"[\W_]+", cells.name.lower())) | {cells.name.lower()}
    digits = cells.share(lambda text: text.strip().isdigit())
    return leading > 1 - _MOST or bool(words & _CODE_NAMES and digits > 0.9)  # noqa: PLR2004


def _make_number(
    cells: _Cells,
    values: NDArray[np.float64],
    form: NumberFormat | None,
    *,
    unread: bool,
    piles: bool,
) -> Integer | Float | None:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    low, high = float(finite.min()), float(finite.max())
    fields = cells.fields
    fields["nullable"] = fields["nullable"] or unread or len(finite) < len(values)
    fields["scale"] = _choose_scale(finite)
    special = find_piles(finite) if piles else None
    whole = np.array_equal(np.rint(finite), finite)
    decimals = 0 if whole else _count_decimals(finite)
    if form is not None:
        fields["format"] = form.to_example(decimals or (0 if whole else 2))
    if whole:
        if max(-low, high) >= EXACT_INTEGERS:
            return None
        fields["special"] = tuple(map(int, special)) if special else None
        return _build(Integer, cells.name, int(low), int(high), fields)
    return _build(Float, cells.name, low, high, fields | {"decimals": decimals, "special": special})


def _build(
    kind: type[Integer] | type[Float], name: str, low: Any, high: Any, fields: dict[str, Any]
) -> Integer | Float | None:
    """Return the column; without its scale if the bounds do not allow it; None if nothing does."""
    for changed in (fields, fields | {"scale": "linear"}):
        try:
            return kind(name, low, high, **changed)
        except SchemaError:
            continue
    return None


def _choose_scale(values: NDArray[np.float64]) -> str:
    if len(values) < _FEWEST_ROWS or values.min() < 0:
        return "linear"
    middle, far, farthest = np.quantile(values, [0.5, 0.99, 1.0])
    skewed = middle > 0 and far / middle > _SKEWED and farthest > 100  # noqa: PLR2004
    return "log" if skewed else "linear"


def _count_decimals(values: NDArray[np.float64]) -> int | None:
    for digits in range(_DECIMALS + 1):
        if np.array_equal(np.round(values, digits), values):
            return digits
    return None


def _draft_text(cells: _Cells) -> DraftedColumn:
    """Return a list of values, ordered if they are known to be; or else leave the column out."""
    texts = cells.texts or tuple(
        sorted(text for text in pc.unique(read_texts(cells.array)).to_pylist() if text is not None)
    )
    code = cells.is_text and _are_codes(cells)
    if cells.distinct > _LISTED:
        return _draft_wide(cells)
    order = _find_order(texts)
    if order is not None:
        column = Categorical(cells.name, order, ordered=True, **cells.fields)
        return _keep(column, "ordered words", "the order, and values that are missing")
    known = find_dictionary(set(texts))
    if known is not None:
        column = Categorical(cells.name, known, **cells.fields)  # type: ignore[arg-type]
        entry = {**column.to_dict(), "values": known}
        return DraftedColumn(cells.name, entry, f"values of {known}", "the dictionary", column)
    column = Categorical(cells.name, tuple(sorted(texts)), **cells.fields)
    why = "codes" if code else "words"
    return _keep(
        column, why, "constant: leave it out?" if len(texts) == 1 else "values that are missing"
    )


def _draft_wide(cells: _Cells) -> DraftedColumn:
    known = find_dictionary(set(cells.texts))
    if known is not None:
        column = Categorical(cells.name, known, **cells.fields)  # type: ignore[arg-type]
        entry = {**column.to_dict(), "values": known}
        return DraftedColumn(cells.name, entry, f"values of {known}", "the dictionary", column)
    if cells.rows < 3 * cells.distinct:
        return _leave_out(cells.name, "nearly as many values as rows", "list the values to keep it")
    nullable = {"nullable": True} if cells.nullable else {}
    entry = {"name": cells.name, "type": "categorical", "top": _TOP, "other": _OTHER, **nullable}
    return DraftedColumn(
        cells.name,
        entry,
        "many codes or words",
        "the most common are estimated (--private-schema); or list them",
    )


def _find_order(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return texts in their order, if they are known to have one."""
    plain = {re.sub(r"[\s-]+", "_", text.strip().lower()): text for text in texts}
    if len(plain) < 3 or len(plain) < len(texts):  # noqa: PLR2004
        return None
    for order in _ORDERS:
        if set(plain) <= set(order):
            return tuple(plain[word] for word in order if word in plain)
    bands = {text: _BAND.fullmatch(text.strip()) for text in texts}
    ranged = sum(bool(re.search(r"\d\s*(-|–|to|bis|à)\s*\d", text)) for text in texts)  # noqa: RUF001
    if all(bands.values()) and ranged >= len(texts) / 2:
        starts = {
            text: int(found[1]) - text.strip().startswith("<")
            for text, found in bands.items()
            if found
        }
        return tuple(sorted(texts, key=lambda text: starts[text]))
    return None


def _state_marks(
    layout: TableFormat | None, marks: tuple[str, str | None], drafted: Sequence[DraftedColumn]
) -> TableFormat | None:
    """Return the layout with the marks that most numbers of the file are written with."""
    if layout is None:
        return None
    forms = [NumberFormat.from_example(str(one.entry.get("format", ""))) for one in drafted]
    used = [form for form in forms if form is not None and form.decimal == marks[0]]
    if not used:
        return layout
    thousands = next((form.thousands for form in used if form.thousands), None)
    return dataclasses.replace(layout, decimal=marks[0], thousands=thousands)


def _simplify_format(one: DraftedColumn, layout: TableFormat | None) -> DraftedColumn:
    """Return a column without its own format, if that of the file says the same."""
    if layout is None or not isinstance(one.column, (Integer, Float)) or not one.column.format:
        return one
    form = NumberFormat.from_example(one.column.format)
    if form is None or form.prefix or form.suffix or layout.number_format is None:
        return one
    usual = layout.number_format
    if (form.decimal, form.thousands) not in {
        (usual.decimal, usual.thousands),
        (usual.decimal, None),
    }:
        return one
    column = dataclasses.replace(one.column, format=None)
    return dataclasses.replace(one, column=column, entry=column.to_dict())


def _choose_cuts(
    cells: Mapping[str, _Cells],
    drafted: Sequence[DraftedColumn],
    label: str | None,
    marks: tuple[str, str | None],
) -> tuple[float, ...] | None:
    """Return the quartiles at which the classes of a numeric label begin."""
    found = next((one.column for one in drafted if one.name == label), None)
    if label is None or not isinstance(found, (Integer, Float)):
        return None
    parsed = _parse_numbers(cells[label], marks)
    values = parsed[0] if parsed is not None else np.array([found.min, found.max])
    quartiles = np.quantile(values, [0.25, 0.5, 0.75], method="higher")
    inside = sorted({float(cut) for cut in quartiles if found.min < cut < found.max})
    whole = isinstance(found, Integer)
    return tuple(int(cut) if whole else cut for cut in inside) or None


def _propose_rules(
    drafted: Sequence[DraftedColumn], cells: Mapping[str, _Cells]
) -> tuple[str, ...]:
    """Return rules between dates that hold in every row, such as `discharge >= admission`."""
    dated = [one for one in drafted if isinstance(one.column, (Date, Datetime))]
    dated = [one for one in dated if not cells[one.name].nullable][:_MOST_RULE_COLUMNS]
    ticks = {one.name: _read_ticks(one.column, cells[one.name]) for one in dated}
    rules = []
    for early, late in itertools.permutations(dated, 2):
        first, second = ticks[early.name], ticks[late.name]
        if type(early.column) is not type(late.column) or len(first) != len(second):
            continue
        overlap = first.max() > second.min()
        if len(first) >= _FEWEST_ROWS and overlap and (first <= second).all():
            rules.append(f"{_quote_name(late.name)} >= {_quote_name(early.name)}")
    return tuple(rules)


def _read_ticks(column: Any, cells: _Cells) -> NDArray[np.int64]:
    if column.format is None:
        from tabpe.io.canonical import read_instants

        ticks = read_instants(cells.array, zoned=False)
    else:
        texts = pc.utf8_trim_whitespace(cells.array.cast(pa.string()))
        pattern, language = split_language(column.format)
        if language is not None:
            texts = pa.array([read_months(text, language) for text in texts.to_pylist()])
        ticks = pc.strptime(texts, format=pattern, unit="us", error_is_null=True).cast(pa.int64())
    return np.asarray(ticks.drop_null().to_numpy(zero_copy_only=False), dtype=np.int64)


def _quote_name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"`{name}`"


def _list_frame_orders(data: Any) -> dict[str, tuple[Any, ...]]:
    """Return the order of categorical columns of pandas and polars, by name."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        kinds = {name: data[name].dtype for name in data.columns}
        return {
            name: tuple(kind.categories.tolist())
            for name, kind in kinds.items()
            if getattr(kind, "ordered", False)
        }
    if library == "polars" and hasattr(data, "schema"):
        kinds = {name: kind for name, kind in data.schema.items() if type(kind).__name__ == "Enum"}
        return {name: tuple(kind.categories) for name, kind in kinds.items()}
    return {}

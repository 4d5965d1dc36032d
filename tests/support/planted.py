"""A table with markers planted where nothing but a leak can bring them out again.

Texts that no schema lists, numbers out of their bounds, a decimal that nobody would draw, and
counts that stand out. All declared numbers are below 1000, so no synthetic cell looks like a count.
"""

import functools
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Categorical, Float, Integer, Schema
from tabpe.backends import LocalBackend, RecordsBackend
from tabpe.backends.cluster import ShardedBackend
from tabpe.encoding import Encoder, RankTransform
from tabpe.measurement import NoisyCounts, PrivateSession
from tabpe.measurement.checkpoint import MeasurementJournal

RARE, NOTE, PERSON = "zzrareqx", "zznoteqx", "zzperson"
# Long enough that no part of a random decimal is the same.
LARGE, DECIMAL = 7_366_931_517_284_095, 73.1905826417395
ROWS, ILL, PEOPLE = 4_937, 1_811, 2_003
WARDS = {"heart": 2_741, "lung": 1_487, "eye": 706, RARE: 3}
VOTES = 4  # of a row, by default
COUNTS = (
    *(ROWS, ILL, ROWS - ILL, PEOPLE, WARDS["heart"], WARDS["lung"]),
    *(VOTES * ROWS, VOTES * ILL, VOTES * (ROWS - ILL)),
)
MARKED = 1_234  # a row with a rare cell in every column

WARD = Categorical("ward", ("heart", "lung", "eye", "else"), other="else")
SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("weight", 30.0, 200.0),
        Float("height", 100.0, 220.0),
        WARD,
        Boolean("ill"),
    ),
    label="ill",
)
STRICT = Schema((*SCHEMA.columns[:3], Categorical("ward", WARD.values), Boolean("ill")), "ill")


@functools.cache
def table():
    """The same table every time: `person` and `note` are in no schema."""
    rng = np.random.default_rng(0)
    wards = rng.permutation(np.repeat(list(WARDS), list(WARDS.values())))
    first = int(np.flatnonzero(wards == RARE)[0])
    wards[[first, MARKED]] = wards[[MARKED, first]]
    owners = np.r_[np.arange(PEOPLE), rng.integers(0, PEOPLE, ROWS - PEOPLE)]
    ages, weights = rng.integers(0, 101, ROWS), rng.uniform(30, 200, ROWS)
    notes = np.full(ROWS, "fine", dtype=object)
    ages[MARKED], weights[MARKED], notes[MARKED] = LARGE, DECIMAL, NOTE
    return pa.table(
        {
            "person": [f"{PERSON}{owner:05}" for owner in owners],
            "age": ages,
            "weight": weights,
            "height": rng.uniform(100, 220, ROWS),
            "ward": wards.tolist(),
            "note": notes.tolist(),
            "ill": rng.permutation(np.arange(ROWS) < ILL),
        }
    )


@functools.cache
def made_up():
    """A synthetic table, in which nothing comes from the private one."""
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "age": rng.integers(0, 101, 300),
            "weight": rng.uniform(30, 200, 300),
            "height": rng.uniform(100, 220, 300),
            "ward": rng.choice(WARD.values, 300).tolist(),
            "ill": rng.integers(0, 2, 300) > 0,
        }
    )


@functools.cache
def pieces():
    """What must not stand anywhere, as bytes, by name; none of it comes about by chance."""
    texts = (RARE, NOTE, PERSON, str(LARGE), f"{LARGE:,}", f"{LARGE:.8e}", str(DECIMAL))
    return {
        **{text: text.encode() for text in texts},
        **{f"{text} in UTF-16": text.encode("utf-16-le") for text in (RARE, NOTE, PERSON)},
        "the large number in binary": LARGE.to_bytes(8, "little"),
        "the large number as a float": np.float64(LARGE).tobytes(),
        "the decimal as a float": np.float64(DECIMAL).tobytes(),
        "an encoded row": encoded().astype(np.float32).tobytes(),
    }


@functools.cache
def encoded():
    """The numbers of the marked row as engines hold them."""
    return Encoder(SCHEMA).encode(table())[0].numbers[MARKED]


def digests(path):
    """Digests of a private file that anyone could compare with one of their own."""
    content = path.read_bytes()
    return {
        f"{kind} of {path.name}": hashlib.new(kind, content).hexdigest().encode()
        for kind in ("sha256", "sha1", "md5", "blake2b")
    }


@dataclass
class Witness:
    """Remembers what engines answered exactly, and the noisy numbers that were made of it.

    Args:
        exact: Each answer as one list of integers.
        noisy: How often each noisy number came about, whole and per user or row.
        spread: The marked row as it was moved for distances, in bytes.
    """

    exact: list[list[int]] = field(default_factory=list)
    noisy: Counter = field(default_factory=Counter)
    spread: set[bytes] = field(default_factory=set)

    def install(self, monkeypatch):
        """Listen to all backends, and wherever noisy numbers come from: journal and marginals."""
        for kind in (LocalBackend, RecordsBackend, ShardedBackend):
            self._listen(monkeypatch, kind, "answer", self._hear_exact)
        for name in ("measure_once", "ask_once"):
            self._listen(monkeypatch, MeasurementJournal, name, self._hear_noisy)
        self._listen(monkeypatch, PrivateSession, "estimate_marginals", self._hear_noisy)
        spread = RankTransform.transform_rows

        def watched(warp, rows):
            moved = spread(warp, rows)
            marked = (rows.numbers == encoded()).all(1) if rows.numbers.shape[1] == 3 else []
            self.spread |= {row.astype(np.float32).tobytes() for row in moved.numbers[marked]}
            return moved

        monkeypatch.setattr(RankTransform, "transform_rows", watched)

    def to_json(self):
        """Return what was seen, for another process to believe."""
        spread = [row.hex() for row in self.spread]
        return json.dumps([self.exact, list(self.noisy.items()), spread])

    def believe(self, text):
        """Add what the witness of another process has seen."""
        exact, noisy, spread = json.loads(text)
        self.exact += exact
        self.noisy.update(dict(noisy))
        self.spread |= {bytes.fromhex(row) for row in spread}

    @staticmethod
    def _listen(monkeypatch, kind, name, hear):
        ask = getattr(kind, name)

        def heard(self, *given, **named):
            answer = ask(self, *given, **named)
            hear(answer)
            return answer

        monkeypatch.setattr(kind, name, heard)

    def _hear_exact(self, answer):
        self.exact.append([int(number) for number in flat(answer.value)])

    def _hear_noisy(self, answer):
        parts, scale = answer, 1
        if isinstance(answer, NoisyCounts):
            parts, scale = answer.values, answer.scale
        numbers = flat(parts)
        for number in (*numbers, sum(numbers)):
            self.noisy.update({round(number), round(number / scale)})


def flat(answer):
    """Every number of an answer, in order."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, np.ndarray):
        return answer.ravel().tolist()
    if isinstance(answer, (list, tuple)):
        return [number for entry in answer for number in flat(entry)]
    return [answer] if isinstance(answer, (int, float)) else []

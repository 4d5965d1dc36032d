"""Rows that leave, with the rules of the schema kept: whole ones, and those beside known cells.

Privacy: it costs nothing. The rows are public already, and so are rules.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encode import Encoder, Records
from tabpe.encode.faces import faces_of, positions_of
from tabpe.errors import ThinSupportWarning
from tabpe.evolve.keys import distinct, spread_out
from tabpe.evolve.law import Law
from tabpe.evolve.truth import Board

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Made:
    """The rows that were made.

    Args:
        encoder: Encodes them.
        law: What they obey.
        rows: The rows.
        classes: The class of each.
    """

    encoder: Encoder
    law: Law
    rows: Records
    classes: Whole


def obeying(
    law: Law, rows: Records, classes: Whole, rng: np.random.Generator, *, fixed: frozenset[str]
) -> Records:
    """Return rows that obey the rules, with keys that are unique.

    Args:
        law: What rows obey.
        rows: Rows that obey it, keys aside.
        classes: The class of each.
        rng: Where rows move that repeat a key.
        fixed: Columns that stay.

    Raises:
        ParameterError: If there are more rows than keys.
    """
    if law.keys:
        rows = distinct(law, rows, classes, rng, fixed=fixed)
    law.check(rows, classes)
    return rows


def remaining(known: pa.Table, near: Whole, made: Made, rng: np.random.Generator) -> pa.Table:
    """Return whole rows for known cells, which obey the rules if the known cells let them.

    The first of the rows near by is taken with which known cells obey all rules. Where there is
    none, the other cells of the nearest are moved; a warning says for how many that was in vain.

    Args:
        known: Cells of some columns.
        near: For each known row the places of rows near to it, the best first.
        made: The rows that were made.
        rng: Where rows move.
    """
    names = [name for name in known.schema.names if name in made.encoder.names]
    chosen = near[:, 0].copy()
    left = np.arange(len(near))
    for rank in range(near.shape[1]):
        rows, classes = _beside(known, names, near[left, rank], made, left)
        obeys = ~made.law.broken(rows, classes)
        chosen[left[obeys]] = near[left[obeys], rank]
        left = left[~obeys]
        if not len(left):
            break
    rows, classes = _beside(known, names, chosen, made, np.arange(len(near)))
    rows, broken = _mended(rows, classes, made.law, rng, frozenset(names))
    _warn(int(broken.sum()), len(broken))
    return made.encoder.decode(rows, classes)


def _beside(
    known: pa.Table, names: list[str], places: Whole, made: Made, which: Whole
) -> tuple[Records, Whole]:
    """Return rows with some of the known cells put into them."""
    rows, classes, encoder = made.rows.take(places), made.classes[places], made.encoder
    faces = faces_of(encoder, names)
    board = Board.of(faces, rows, classes)
    cells = known.take(pa.array(which))
    for name in names:
        board.put(name, np.arange(len(which)), positions_of(encoder, name, cells[name]))
    filled = board.rows(rows)
    if encoder.schema.label_cuts is not None or not set(names) & set(encoder.schema.labels):
        return filled, classes
    return _of_class(filled, classes, board, encoder)


def _of_class(
    rows: Records, classes: Whole, board: Board, encoder: Encoder
) -> tuple[Records, Whole]:
    """Return rows and the classes that known labels put them into."""
    labels = faces_of(encoder, encoder.schema.labels)
    places = []
    for name, face in labels.items():
        found = board.positions.get(name, face.positions(rows, classes))
        places.append(np.where(np.isnan(found), face.steps + 1, found).astype(np.int64))
    if encoder.joint is None:
        return rows, places[0]
    numbers = np.ravel_multi_index(places, encoder.joint.shape)
    codes = rows.codes.copy()
    if encoder.joint.rare:
        codes[:, -1] = encoder.joint.codes[numbers]
    return Records(rows.numbers, codes), encoder.joint.classes[numbers]


def _mended(
    rows: Records, classes: Whole, law: Law, rng: np.random.Generator, fixed: frozenset[str]
) -> tuple[Records, NDArray[np.bool_]]:
    """Return rows with unknown cells moved, and which of them break a rule still."""
    rows = law.mended(rows, classes, rng, fixed=fixed)
    repeated = np.zeros(len(rows), dtype=bool)
    if law.keys:
        rows, repeated = spread_out(law, rows, classes, rng, fixed=fixed)
    return rows, law.broken(rows, classes) | repeated


def _warn(broken: int, size: int) -> None:
    if broken:
        warnings.warn(
            f"{broken:,} of {size:,} known rows break a rule of the schema because of their known "
            f"cells, whatever is put beside them.",
            ThinSupportWarning,
            stacklevel=4,
        )

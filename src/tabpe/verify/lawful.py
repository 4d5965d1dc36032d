"""Whether the rows of a table obey the rules of its schema, batch by batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encode import Encoder
from tabpe.encode.faces import positions_of
from tabpe.errors import CellError, DataError, shown
from tabpe.evolve.law import Law
from tabpe.evolve.truth import FALSE, Board, truth
from tabpe.schema import Schema
from tabpe.schema.rules import Rule
from tabpe.schema.rules.meaning import Key

Floats = NDArray[np.float64]


class Obedience:
    """Looks for rows that break a rule, in a table that comes in batches.

    Args:
        schema: The schema with its rules.

    Example:
        >>> from tabpe.schema import Integer
        >>> columns = Integer("low", 0, 9), Integer("high", 0, 9)
        >>> rules = Obedience(Schema(columns, rules=("low <= high",)))
        >>> str(rules.first_broken(pa.table({"low": [1, 5], "high": [2, 4]})))
        "the rule 'low <= high' is broken in row 2."
    """

    def __init__(self, schema: Schema) -> None:
        self._encoder = Encoder(schema)
        self._law = Law.of(self._encoder)
        self._keys: dict[Rule, list[Floats]] = {rule: [] for rule in self._law.keys}

    def first_broken(self, table: pa.Table) -> CellError | None:
        """Return what to say of the first row that breaks a rule; None if all obey."""
        if not self._law.faces:
            return None
        board = self._board(table)
        for rule, found in self._keys.items():
            found.append(np.column_stack([board.positions[name] for name in rule.columns]))
        for rule in self._law.rules:
            if not isinstance(rule.meaning, Key):
                broken = truth(rule.meaning, board) == FALSE
                if broken.any():
                    return _told(rule, int(np.argmax(broken)) + 1)
        return None

    def check_keys(self) -> None:
        """Refuse a table, all batches of which were seen, in which a key comes twice."""
        for rule, found in self._keys.items():
            every = np.concatenate(found) if found else np.empty((0, 1))
            if len(np.unique(every, axis=0)) < len(every):
                raise DataError(f"the rule {shown(rule.text)} is broken: a key comes twice.")

    def _board(self, table: pa.Table) -> Board:
        board = Board.of(self._law.faces, *self._encoder.encode(table))
        everywhere = np.arange(table.num_rows)
        for name in self._law.faces:
            # Encoded rows are in float32, which is too short for a table that left.
            board.put(name, everywhere, positions_of(self._encoder, name, table[name]))
        return board


def _told(rule: Rule, row: int) -> CellError:
    return CellError(f"the rule {shown(rule.text)} is broken", row, ".")

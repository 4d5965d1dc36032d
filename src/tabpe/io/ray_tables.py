"""Tables that live in a Ray cluster: datasets of Ray Data, read block by block.

Blocks stay where they are: what knows them holds references. Ray makes a block anew that is lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tabpe._arrow import attempt
from tabpe.errors import DataError
from tabpe.io.batches import Batch, regrouped
from tabpe.io.canonical import nested_in
from tabpe.io.dealing import dealt
from tabpe.io.faults import check_names
from tabpe.io.frames import ARROW
from tabpe.io.limits import Limits


@dataclass(frozen=True, eq=False)
class RaySource:
    """A `ray.data.Dataset`.

    Args:
        schema: Its columns.
        limits: The most to read of it.
        dataset: The dataset, whose blocks are made when they are first asked for.
        blocks: The blocks, each with how many rows come before it, if this is a part.
    """

    schema: pa.Schema
    limits: Limits
    dataset: Any = None
    blocks: Sequence[tuple[Any, int]] | None = None
    _made: list[Any] = field(default_factory=list, repr=False)

    lives_on = "ray"

    @classmethod
    def of(cls, dataset: Any, limits: Limits) -> RaySource:
        """Look at the columns of a dataset."""
        found = dataset.schema()
        if found is None:
            raise DataError("data: the dataset has no columns.")
        check_names(list(found.names), where="data")
        limits.check("columns", len(found.names), where="data")
        return cls(pa.schema(zip(found.names, found.types, strict=True)), limits, dataset)

    @property
    def library(self) -> str:
        """Arrow's."""
        return ARROW

    @property
    def nested(self) -> frozenset[str]:
        """The columns of lists and the like."""
        return nested_in(self.schema)

    @property
    def names(self) -> list[str]:
        """Its columns."""
        return list(self.schema.names)

    @property
    def most_rows(self) -> None:
        """Not known before reading."""
        return

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read block after block."""
        wanted = self.names if names is None else list(names)
        return self.limits.held(self._batches(wanted), where="data")

    def parts(self, most: int) -> list[RaySource]:
        """Return neighbouring blocks together."""
        import ray

        blocks = self._blocks()
        rows = ray.remote(num_cpus=0)(_rows)
        sizes = ray.get([rows.remote(block) for block in blocks])
        before = list(itertools.accumulate(sizes, initial=0))
        placed = list(zip(blocks, before, strict=False))
        return [
            replace(self, dataset=None, blocks=part, _made=[])
            for part in dealt(placed, sizes, most)
        ]

    def _batches(self, wanted: list[str]) -> Iterator[Batch]:
        import ray

        known = self.blocks is not None
        rows = 0
        for block, before in self.blocks or [(block, 0) for block in self._blocks()]:
            first = before if known else rows
            for table in regrouped(self._read(ray.get(block), wanted)):
                yield Batch(table, None, first)
                first += table.num_rows
                rows += table.num_rows

    def _read(self, block: Any, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        table = attempt(lambda: block.select(wanted), KeyError)
        if table is None:
            raise DataError("data: the blocks hold different columns.")
        for batch in table.to_batches():
            self.limits.check_cells(batch, where="data")
            yield batch

    def _blocks(self) -> list[Any]:
        """Return the blocks, which are made once."""
        if not self._made:
            self._made.extend(_quietly(self.dataset.to_arrow_refs))
        return self._made


def _rows(block: pa.Table) -> int:
    return int(block.num_rows)


def _quietly(call: Any) -> Any:
    """Have Ray Data do something without bars and words in the terminal."""
    from ray.data import DataContext

    context = DataContext.get_current()
    shown = context.enable_progress_bars, context.print_on_execution_start
    context.enable_progress_bars = context.print_on_execution_start = False
    try:
        return call()
    finally:
        context.enable_progress_bars, context.print_on_execution_start = shown

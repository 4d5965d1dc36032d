"""`Settings`: what a run needs beside the table, all of it checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe.charge import Charge
from tabpe.encode import Encoder
from tabpe.evolve import Asked, Strategy, plain
from tabpe.privacy import NoiseSource
from tabpe.request import Request
from tabpe.resources import Resources
from tabpe.schema import Boolean, Categorical, Column, Id, Outline, Schema, Sketch


@dataclass(frozen=True)
class Settings:
    """What a run needs beside the table.

    Args:
        schema: What is public about the table: all of it, or an outline whose gaps are bought.
        request: What is asked for and declared.
        config: The strategy and its settings.
        noise: The source of noise.
        resources: What the run may use of the machine.
        unit: The column of user ids, if the promise is to users.
        strict: Whether a cell that does not fit the schema ends the run.
        seed: Seed of the search; None for a random one.
        run_dir: The folder that remembers the run, if it shall survive a crash.
        charge: The ledger that it is charged to, if any.
        on_round: Called with the number of rounds done.
        on_ready: Called with how many shards of a cluster have answered, and how many there are.
    """

    schema: Schema | Outline
    request: Request
    config: Strategy
    noise: NoiseSource
    resources: Resources
    unit: str | None
    strict: bool
    seed: int | None
    run_dir: Path | None
    charge: Charge | None
    on_round: Callable[[int], None]
    on_ready: Callable[[int, int], None] = lambda _done, _all: None

    @property
    def outline(self) -> Outline | None:
        """The schema, if it has gaps that are bought."""
        return self.schema if isinstance(self.schema, Outline) else None

    @property
    def classes(self) -> int:
        """How many classes are counted, as far as that is known before a row is read."""
        return classes_of(self.schema)

    @property
    def asked(self) -> Asked:
        """What the strategy asks of the private rows: known before one of them is read."""
        schema = self.schema
        return self.config.asked(columns_of(schema), self.classes, listed_of(schema))

    def encoder_of(self, schema: Schema) -> Encoder:
        """Return how the private rows are encoded."""
        return Encoder(schema, self.strict)

    @property
    def columns(self) -> list[str]:
        """Every column that the run reads."""
        columns = [column.name for column in _read(self.schema)]
        return columns if self.unit is None else [*columns, self.unit]

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for an interrupted run to go on; none of it is private."""
        request = dataclasses.asdict(self.request)
        request["neighbours"]["adjacency"] = self.request.neighbours.adjacency.value
        configuration = {
            "request": request,
            "strategy": plain(self.config),
            "noise": self.noise.name,
            "unit": self.unit,
            "strict": self.strict,
            "random_state": self.seed,
            "dataset": None if self.charge is None else self.charge.dataset,
        }
        return {"configuration": configuration, "schema": self.schema.digest}


def classes_of(schema: Schema | Outline) -> int:
    """Return the number of classes; two stand for those of a label whose values are bought."""
    if isinstance(schema, Outline):
        return 1 if schema.label is None else 2
    return len(schema.class_names)


def columns_of(schema: Schema | Outline) -> int:
    """Return the number of columns of a record.

    Ids are none of them, nor is a categorical label. A numeric one is, and has `label_cuts`; an
    outline must declare these. So to buy what an outline lacks does not change the number.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> age, ill = Integer("age", 0, 100), Boolean("ill")
        >>> columns_of(Schema((age, ill), label="ill"))
        1
        >>> columns_of(Schema((age, ill), label="age", label_cuts=(18, 65)))
        2
    """
    numeric = schema.label_cuts is not None or schema.label_classes is not None
    return len(_read(schema)) - (0 if numeric else len(schema.labels))


def listed_of(schema: Schema | Outline) -> int:
    """Return how many columns of a record are declared to have listed values.

    A column whose type is bought counts as none: what is asked is fixed before. Nor does an ordered
    list, whose values are near to each other or far, as numbers are.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> age, ill, old = Integer("age", 0, 100), Boolean("ill"), Boolean("old")
        >>> listed_of(Schema((age, ill, old), label="ill"))
        1
    """
    return sum(_is_listed(column) for column in schema.columns if column.name not in schema.labels)


def _read(schema: Schema | Outline) -> list[Column | Sketch]:
    """Return the columns that are read: all but ids."""
    return [column for column in schema.columns if _kind(column) is not Id]


def _is_listed(column: Column | Sketch) -> bool:
    fields = column.fields if isinstance(column, Sketch) else vars(column)
    return _kind(column) in (Boolean, Categorical) and not fields.get("ordered")


def _kind(column: Column | Sketch) -> type[Column] | None:
    return column.kind if isinstance(column, Sketch) else type(column)

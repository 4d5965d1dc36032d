"""`Settings`: what a run needs beside the table, all of it checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe.budget import Request
from tabpe.charge import Charge
from tabpe.evolve import Evolution
from tabpe.privacy import NoiseSource
from tabpe.resources import Resources
from tabpe.schema import Outline, Schema


@dataclass(frozen=True)
class Settings:
    """What a run needs beside the table.

    Args:
        schema: What is public about the table: all of it, or an outline whose gaps are bought.
        request: What is asked for and declared.
        config: The settings of the evolution.
        noise: The source of noise.
        resources: What the run may use of the machine.
        unit: The column of user ids, if the promise is to users.
        seed: Seed of the search; None for a random one.
        run_dir: The folder that remembers the run, if it shall survive a crash.
        charge: The ledger that it is charged to, if any.
        on_round: Called with the number of rounds done.
    """

    schema: Schema | Outline
    request: Request
    config: Evolution
    noise: NoiseSource
    resources: Resources
    unit: str | None
    seed: int | None
    run_dir: Path | None
    charge: Charge | None
    on_round: Callable[[int], None]

    @property
    def outline(self) -> Outline | None:
        """The schema, if it has gaps that are bought."""
        return self.schema if isinstance(self.schema, Outline) else None

    @property
    def classes(self) -> int:
        """How many classes are counted, as far as that is known before a row is read."""
        return classes_of(self.schema)

    @property
    def columns(self) -> list[str]:
        """Every column that the run reads."""
        columns = [column.name for column in self.schema.columns]
        return columns if self.unit is None else [*columns, self.unit]

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for an interrupted run to go on; none of it is private."""
        request = dataclasses.asdict(self.request)
        request["neighbours"]["adjacency"] = self.request.neighbours.adjacency.value
        configuration = {
            "request": request,
            "evolution": dataclasses.asdict(self.config),
            "noise": self.noise.name,
            "unit": self.unit,
            "random_state": self.seed,
            "dataset": None if self.charge is None else self.charge.dataset,
        }
        return {"configuration": configuration, "schema": self.schema.digest}


def classes_of(schema: Schema | Outline) -> int:
    """Return the number of classes; two stand for those of a label whose values are bought."""
    if isinstance(schema, Outline):
        return 1 if schema.label is None else 2
    return len(schema.class_names)

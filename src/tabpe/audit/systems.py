"""Systems that are audited: tabpe as shipped, and tabpe broken in one way, to see it noticed.

Broken systems are here for `tabpe.audit` alone. Broken sources of noise say that they are not
private, so what they touch is stamped NOT PRIVATE, as with `FakeNoise`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.accounting import ExactNoise, FakeNoise, NoiseSource
from tabpe.audit.report import PrivacyClaim
from tabpe.backends import Answer, Backend, BoundedUsers, Query
from tabpe.errors import NotPrivateWarning
from tabpe.evolution import Strategy
from tabpe.io import Batch, TableSource, draft_schema
from tabpe.schema import Schema

if TYPE_CHECKING:
    from tabpe.synthesizers.tabpe import TabPE

SEED = 0


@dataclass(frozen=True)
class AuditedSystem:
    """A way to measure rows and to release a table. The defaults are what is shipped.

    Args:
        name: What the report calls it.
        noise: Makes the source of noise of one run.
        backend: Takes the shipped backend, and returns the one that is asked.
        charged: Takes how often a row counts, and returns how often that is paid for.
        users: Takes whose the rows are, and returns whose the backend takes them for.
        table: Takes a private table, and returns the one that is fitted.
        schema: Takes the declared schema and the table, and returns the one that is used.
        source: Takes what reads a stored table, and returns what is read.
    """

    name: str = "as shipped"
    noise: Callable[[], NoiseSource] = ExactNoise
    backend: Callable[[Backend], Backend] = lambda backend: backend
    charged: Callable[[int], int] = lambda times: times
    users: Callable[[BoundedUsers], BoundedUsers] = lambda users: users
    table: Callable[[pa.Table], pa.Table] = lambda table: table
    schema: Callable[[Schema, pa.Table], Schema] = lambda declared, _: declared
    source: Callable[[TableSource], TableSource] = lambda source: source

    def release(
        self, table: pa.Table, schema: Schema, claim: PrivacyClaim, config: Strategy, size: int
    ) -> TabPE:
        """Return a model fitted to the table, which is public if the guarantee holds.

        All that a user can set is the same in every call, the seed of the search included.
        """
        from tabpe.synthesizers.tabpe import TabPE

        model = TabPE(
            epsilon=claim.epsilon,
            delta=claim.delta,
            n_samples=size,
            preset=config,
            noise=self.noise(),
            engine="local",
            n_jobs=1,
            random_state=SEED,
            verbose=0,
        )
        with warnings.catch_warnings():
            # A broken system says that it is not private, which is what it is here for.
            warnings.simplefilter("ignore", NotPrivateWarning)
            return model.fit(self.table(table), self.schema(schema, table))


SHIPPED = AuditedSystem()


class DoubleBackend:
    """Counts every private row twice. NOT PRIVATE.

    Args:
        backend: Counts once.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend, self.scale = backend, backend.scale

    def answer(self, query: Query) -> Answer:
        """Return twice the counts."""
        counted = self._backend.answer(query)
        return counted + replace(counted, digests={})

    def close(self) -> None:
        """Let go of the private rows."""
        self._backend.close()


class NarrowNoise:
    """Noise of half the variance that was agreed on. NOT PRIVATE."""

    name = "too little"
    private = False

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return draws of parameter `sigma / sqrt(2)`."""
        return ExactNoise().draw(size, sigma / math.sqrt(2))


class ReusedNoise:
    """Noise that is drawn once a run, and put on every histogram of it. NOT PRIVATE."""

    name = "reused"
    private = False

    def __init__(self) -> None:
        self._drawn: dict[tuple[int, float], NDArray[np.int64]] = {}

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return the draws of the first call."""
        if (size, sigma) not in self._drawn:
            self._drawn[size, sigma] = ExactNoise().draw(size, sigma)
        return self._drawn[size, sigma]


def _double_rows(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


def _make_seeded_noise() -> FakeNoise:
    return FakeNoise(seed=0)


def _make_silent_noise() -> FakeNoise:
    return FakeNoise(strength=0)


def _draft_from_data(_: Schema, table: pa.Table) -> Schema:
    return draft_schema(table)


def _separate_owners(users: BoundedUsers) -> BoundedUsers:
    """Take every row for a user of its own."""
    return replace(users, owners=np.arange(len(users.owners)))


@dataclass(frozen=True, eq=False)
class TypeNamingSource:
    """A table whose cells are text that names the type of their column. NOT PRIVATE.

    Args:
        source: The table.
    """

    source: TableSource

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield the rows."""
        for batch in self.source.batches(names):
            columns = [
                pa.array([f"{cells.type}: {cell}" for cell in cells.to_pylist()])
                for cells in batch.table.columns
            ]
            yield replace(batch, table=pa.table(columns, names=batch.table.schema.names))


BROKEN = (
    AuditedSystem("votes twice", backend=DoubleBackend, table=_double_rows),
    AuditedSystem("sigma / sqrt 2", noise=NarrowNoise),
    AuditedSystem("reused noise", noise=ReusedNoise),
    AuditedSystem("seeded noise", noise=_make_seeded_noise),
    AuditedSystem("no noise", noise=_make_silent_noise),
    AuditedSystem("bounds from data", schema=_draft_from_data),
)
BROKEN_CHARGES = (AuditedSystem("many for the price of one", charged=lambda _: 1),)
BROKEN_IN_STORAGE = (AuditedSystem("text of storage types", source=TypeNamingSource),)
BROKEN_FOR_USERS = (AuditedSystem("a vote for each row of a user", users=_separate_owners),)

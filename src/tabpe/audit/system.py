"""What is audited: the parts of tabpe that a test goes through, each of which can be replaced."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from tabpe.audit.report import Claim
from tabpe.engines import OwnEngine, Tables, Users
from tabpe.errors import NotPrivateWarning
from tabpe.evolve import Strategy
from tabpe.io import Source
from tabpe.privacy import NoiseSource, OpenDPNoise
from tabpe.schema import Schema
from tabpe.synthesizer import TabPE

SEED = 0


@dataclass(frozen=True)
class System:
    """A way to measure rows and to release a table. The defaults are what is shipped.

    Args:
        name: What the report calls it.
        noise: Makes the source of noise of one run.
        engine: Takes the shipped engine, and returns the one that is asked.
        tables: Takes what counts tables, and returns what is asked.
        paid: Takes how often a row counts, and returns how often that is paid for.
        users: Takes whose the rows are, and returns whose the engine takes them for.
        table: Takes a private table, and returns the one that is fitted.
        schema: Takes the declared schema and the table, and returns the one that is used.
        source: Takes what reads a stored table, and returns what is read.
    """

    name: str = "as shipped"
    noise: Callable[[], NoiseSource] = OpenDPNoise
    engine: Callable[[OwnEngine], OwnEngine] = lambda engine: engine
    tables: Callable[[Tables], Tables] = lambda tables: tables
    paid: Callable[[int], int] = lambda times: times
    users: Callable[[Users], Users] = lambda users: users
    table: Callable[[pa.Table], pa.Table] = lambda table: table
    schema: Callable[[Schema, pa.Table], Schema] = lambda declared, _: declared
    source: Callable[[Source], Source] = lambda source: source

    def release(
        self, table: pa.Table, schema: Schema, claim: Claim, config: Strategy, size: int
    ) -> TabPE:
        """Return a model fitted to the table, which is public if the promise holds.

        All that a user can set is the same in every call, the seed of the search included.
        """
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


SHIPPED = System()

"""`open_keeper`: who counts in a table, by what may be used."""

from __future__ import annotations

from collections.abc import Callable

from tabpe._utils.resources import CLUSTERS, Resources
from tabpe.backends.base import Keeper
from tabpe.backends.local import LoneKeeper
from tabpe.backends.users import Unit
from tabpe.errors import ParameterError
from tabpe.io import Source


def open_keeper(
    source: Source,
    unit: Unit | None,
    resources: Resources,
    on_ready: Callable[[int, int], None] = lambda _done, _all: None,
) -> Keeper:
    """Return who counts in a table. Whoever it is, the answers are the same.

    Args:
        source: The table.
        unit: Who is a user, if the promise is to users; None if every row is one of its own.
        resources: What may be used of the machine, or of a cluster.
        on_ready: Called with how many shards of a cluster have answered, and how many there are.
    """
    lives_on = getattr(source, "lives_on", None)
    engine = lives_on if resources.engine == "auto" and lives_on in CLUSTERS else resources.engine
    if lives_on and engine in CLUSTERS and engine != lives_on:
        raise ParameterError(f"engine={engine!r}: {_instead(lives_on)}")
    if engine == "ray":
        from tabpe.backends.ray import ray_keeper

        return ray_keeper(source, unit, resources, on_ready)
    if engine == "spark":
        from tabpe.backends.spark import spark_keeper

        return spark_keeper(source, unit, resources, on_ready)
    return LoneKeeper(source, unit, resources)


def _instead(lives_on: str) -> str:
    """Return how a table is read that workers of a cluster can not get at."""
    if lives_on in CLUSTERS:
        return (
            f"the table lives on {lives_on.title()}: pass engine={lives_on!r}, 'auto', or 'local' "
            f"to have it read in this process."
        )
    return (
        f"the table lives in {lives_on}, and workers have no connection to it: pass engine='auto', "
        f"or write it to Parquet files first."
    )

"""`open_backend`: who counts in a table, by what may be used."""

from __future__ import annotations

from collections.abc import Callable

from tabpe._utils.resources import CLUSTERS, Resources
from tabpe.backends.base import Backend
from tabpe.backends.local import LocalBackend
from tabpe.backends.users import PrivacyUnit
from tabpe.errors import ParameterError
from tabpe.io import TableSource


def open_backend(
    source: TableSource,
    unit: PrivacyUnit | None,
    resources: Resources,
    on_ready: Callable[[int, int], None] = lambda _done, _all: None,
) -> Backend:
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
        raise ParameterError(f"engine={engine!r}: {_suggest_engine(lives_on)}")
    if engine == "ray":
        from tabpe.backends.ray import open_ray_backend

        return open_ray_backend(source, unit, resources, on_ready)
    if engine == "spark":
        from tabpe.backends.spark import open_spark_backend

        return open_spark_backend(source, unit, resources, on_ready)
    return LocalBackend(source, unit, resources)


def _suggest_engine(lives_on: str) -> str:
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

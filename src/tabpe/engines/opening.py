"""`open_keeper`: who counts in a table, by what may be used."""

from __future__ import annotations

from tabpe.engines.alone import LoneKeeper
from tabpe.engines.engine import Keeper
from tabpe.engines.users import Unit
from tabpe.io import Source
from tabpe.resources import Resources


def open_keeper(source: Source, unit: Unit | None, resources: Resources) -> Keeper:
    """Return who counts in a table. Whoever it is, the answers are the same.

    Args:
        source: The table.
        unit: Who is a user, if the promise is to users; None if every row is one of its own.
        resources: What may be used of the machine, or of a cluster.
    """
    return LoneKeeper(source, unit, resources)

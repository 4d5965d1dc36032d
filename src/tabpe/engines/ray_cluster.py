"""A Ray cluster to count on: one that runs already, or one that is started for a run.

What is started here ends with the run. It tells nobody of itself, and says nothing in the terminal.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tabpe.engines.crewed import CrewKeeper
from tabpe.engines.ray_crew import RayCrew, Ready
from tabpe.engines.shard import spread
from tabpe.engines.users import Unit
from tabpe.errors import ParameterError, TabpeError
from tabpe.io import Source
from tabpe.resources import Resources

ADDRESS = "RAY_ADDRESS"
_QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
# A row that does not fit into memory would be written into a file that has a name.
_NO_FILES = {"automatic_object_spilling_enabled": False}


def ray_keeper(
    source: Source, unit: Unit | None, resources: Resources, on_ready: Ready
) -> CrewKeeper:
    """Return who counts in a table by the workers of a Ray cluster.

    Args:
        source: The table.
        unit: Who is a user, if the promise is to users; None if every row is one of its own.
        resources: Where the cluster is, how many workers to use, and what of each machine.
        on_ready: Called with how many shards have answered, and how many there are.
    """
    ray = _imported()
    disconnect = _connected(ray, resources)
    try:
        cores, machines = _size(ray)
        parts = spread(source, unit, resources.workers or cores)
        each = resources.of_a_shard(-(-len(parts) // machines))
        crew = RayCrew(parts, unit, each, on_ready=on_ready, on_close=disconnect)
    except BaseException:
        disconnect()
        raise
    return CrewKeeper(crew, 1 if unit is None else unit.scale)


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        pass
    else:
        return ray
    raise ParameterError("engine='ray': Ray is not installed: pip install 'tabpe[ray]'.")


def _connected(ray: Any, resources: Resources) -> Callable[[], Any]:
    """Connect to a cluster, or start one; return what undoes that."""
    if ray.is_initialized() and resources.address is None:
        return lambda: None
    address = resources.address or os.environ.get(ADDRESS)
    if address is None:
        ray.init(
            address="local",
            num_cpus=resources.jobs,
            include_dashboard=False,
            _system_config=_NO_FILES,
            **_QUIET,
        )
    else:
        _join(ray, address)
    disconnect: Callable[[], Any] = ray.shutdown
    return disconnect


def _join(ray: Any, address: str) -> None:
    problem = None
    try:
        ray.init(address=address, **_QUIET)
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        problem = type(error).__name__
    if problem is not None:
        raise TabpeError(
            f"address={address!r}: there is no Ray cluster to join ({problem}): expected 'auto', "
            f"'HOST:PORT' or 'ray://HOST:PORT' of one that runs the same versions of Ray and "
            f"Python."
        )


def _size(ray: Any) -> tuple[int, int]:
    """Return how many cores a cluster has, and on how many machines."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    cores = sum(int(node["Resources"]["CPU"]) for node in nodes)
    if not cores:
        raise TabpeError("engine='ray': no machine of the cluster has a core to count with.")
    return cores, len(nodes)

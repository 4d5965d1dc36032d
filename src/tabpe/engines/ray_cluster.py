"""A Ray cluster to count on: one that runs already, or one that is started for a run.

What is started here ends with the run. It tells nobody of itself, and says nothing in the terminal.
It listens on the loopback address alone, and answers nobody without a token that the run makes up.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from tabpe.engines.crewed import CrewKeeper
from tabpe.engines.ray_crew import RayCrew, Ready
from tabpe.engines.shard import spread
from tabpe.engines.users import Unit
from tabpe.errors import ParameterError, TabpeError
from tabpe.io import Source
from tabpe.resources import Resources

ADDRESS = "RAY_ADDRESS"
_PATIENCE = 10.0  # seconds
_LOOPBACK = "127.0.0.1"
_MANY_MACHINES, _CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "ENABLE_RAY_CLUSTER"
_AUTH_MODE, _AUTH_TOKENS = "RAY_AUTH_MODE", ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
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
        parts = spread(source, unit, resources.workers or _free_cores(ray))
        each = resources.of_a_shard(-(-len(parts) // _machines(ray)))
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
    if ray.is_initialized():
        if resources.address is None:
            return lambda: None
        raise ParameterError(
            f"address={resources.address!r}: this process is connected to a Ray cluster already: "
            f"leave the address out to use it, or call ray.shutdown() first."
        )
    address = resources.address or os.environ.get(ADDRESS)
    if address is None:
        return _started(ray, resources)
    _join(ray, address)
    disconnect: Callable[[], Any] = ray.shutdown
    return disconnect


def _started(ray: Any, resources: Resources) -> Callable[[], Any]:
    """Start a cluster that no other machine reaches; return what ends it."""
    with ExitStack() as undo:
        _apply(ray, undo, _alone_on_this_machine())
        undo.callback(ray.shutdown)
        ray.init(
            address="local",
            num_cpus=resources.jobs,
            include_dashboard=False,
            _node_ip_address=_LOOPBACK,
            _system_config=_NO_FILES,
            **_QUIET,
        )
        return undo.pop_all().close


def _alone_on_this_machine() -> dict[str, str]:
    """Return what to tell Ray by its environment; what the user set there is left as it is."""
    # By its name for other systems, but on Linux too Ray then listens on the loopback address.
    told = {_MANY_MACHINES: "0"}
    if _AUTH_MODE not in os.environ:
        told[_AUTH_MODE] = "token"
        if not any(name in os.environ for name in _AUTH_TOKENS):
            # Ray would write one into the home folder.
            told[_AUTH_TOKENS[0]] = secrets.token_hex(32)
    return told


def _apply(ray: Any, undo: ExitStack, told: Mapping[str, str]) -> None:
    """Set variables of the environment, and have Ray see them, until they are undone."""
    undo.callback(_refresh, ray)
    for name, value in told.items():
        undo.callback(_set, name, os.environ.get(name))
        _set(name, value)
    constants = ray._private.ray_constants  # noqa: SLF001 - read by Ray when it is imported
    undo.callback(setattr, constants, _CLUSTERS, getattr(constants, _CLUSTERS, True))
    setattr(constants, _CLUSTERS, False)
    _refresh(ray)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _refresh(ray: Any) -> None:
    """Have Ray read its environment again; versions before 2.52 know no tokens."""
    loader = getattr(ray._raylet, "AuthenticationTokenLoader", None)  # noqa: SLF001
    if loader is not None:
        ray._raylet.Config.initialize("")  # noqa: SLF001
        loader.instance().reset_cache()


def _join(ray: Any, address: str) -> None:
    problem = None
    try:
        _knock(address)
        ray.init(address=address, **_QUIET)
    except (OSError, RuntimeError, ValueError) as error:
        problem = type(error).__name__
    if problem is not None:
        raise TabpeError(
            f"address={address!r}: there is no Ray cluster to join ({problem}): expected 'auto', "
            f"'HOST:PORT' or 'ray://HOST:PORT' of one that runs the same versions of Ray and "
            f"Python."
        )


def _knock(address: str) -> None:
    """Fail if nobody listens at an address: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _free_cores(ray: Any) -> int:
    """Return how many cores are free: a shard that gets none would be waited for without end."""
    cores = int(ray.available_resources().get("CPU", 0))
    if not cores:
        raise TabpeError(
            "engine='ray': no core of the cluster is free: wait for others to finish, or name how "
            "many workers it will have (n_jobs)."
        )
    return cores


def _machines(ray: Any) -> int:
    """Return how many machines of a cluster have cores."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    return max(len(nodes), 1)

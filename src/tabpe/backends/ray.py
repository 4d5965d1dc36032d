"""Shards as actors of Ray.

`RayShardPool`: shards as actors of Ray, each of which reads, encodes and keeps its part of a table.

In a round the question goes into the object store once, and from there to each machine once. Shards
answer where they are, and add up their answers in groups, and those of groups, so that one sum
reaches the driver. A shard that is lost is made anew from its part of the table, and it alone is
asked again: an answer is counted by the number of its shard, and noise is added to the sum.

Privacy: nothing that is exact is written or printed, by workers or here. No error is raised on a
worker, because Ray writes the words of errors into its logs.

A Ray cluster to count on: one that runs already, or one that is started for a run.

What is started here ends with the run. It tells nobody of itself, and says nothing in the terminal.
It listens on the loopback address alone, and answers nobody without a token that the run makes up.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from tabpe._utils.resources import Resources
from tabpe.backends.base import Answer, Query, sum_answers
from tabpe.backends.cluster import (
    Shard,
    ShardedBackend,
    ShardFailure,
    ShardIndex,
    partition_source,
    redact_error,
)
from tabpe.backends.users import PrivacyUnit
from tabpe.errors import ParameterError, TabpeError
from tabpe.io import TableSource

# Answers that one shard adds up. A sum of 64 shards takes two steps, one of 512 three.
GROUP_SIZE = 8
# How often a shard may be lost in a run.
MAX_LOSSES = 3

Ready = Callable[[int, int], None]


class ShardActor:
    """What runs on a worker: a shard that is made when it is first asked.

    Args:
        index: Which shard it is.
        part: Its part of the table.
        common: Who is a user, for a user-level guarantee, and what it may use of its machine.
    """

    def __init__(
        self, index: ShardIndex, part: TableSource, common: tuple[PrivacyUnit | None, Resources]
    ) -> None:
        self._index, self._part, self._common = index, part, common
        self._shard: Shard | None = None

    def answer(self, query: Query) -> tuple[ShardFailure | None, Answer | None]:
        """Return why there is no answer, or the answer."""
        try:
            if self._shard is None:
                self._shard = Shard(self._index, self._part, *self._common)
            found: Answer | ShardFailure = self._shard.try_answer(query)
        except Exception as error:  # Whatever it is, Ray would write its words down.
            found = ShardFailure(self._index.number, redact_error(error))
        return (found, None) if isinstance(found, ShardFailure) else (None, found)

    def sum_answers(self, *answers: Answer) -> tuple[ShardFailure | None, Answer | None]:
        """Return the sum of the answers of some shards."""
        try:
            return None, sum_answers(answers)
        except Exception as error:
            return ShardFailure(self._index.number, redact_error(error)), None


class RayShardPool:
    """Shards on the workers of a Ray cluster, one actor each.

    Args:
        parts: The parts of the table; each user must be in one of them.
        unit: Who is a user, for a user-level guarantee.
        resources: What each shard may use of its machine.
        on_ready: Called with how many shards have answered, and how many there are.
        on_close: Called when the shards are let go.
    """

    def __init__(
        self,
        parts: Sequence[TableSource],
        unit: PrivacyUnit | None,
        resources: Resources,
        *,
        on_ready: Ready = lambda _done, _all: None,
        on_close: Callable[[], Any] = lambda: None,
    ) -> None:
        import ray

        self._ray: Any = ray
        self._on_ready, self._on_close = on_ready, on_close
        self._common: Any = ray.put((unit, resources))
        self._parts = [ray.put(part) for part in parts]
        self._losses: Counter[int] = Counter()
        self._actors = [self._start_actor(number) for number in range(len(parts))]

    @property
    def shards(self) -> int:
        """How many there are."""
        return len(self._parts)

    def answer(self, query: Query) -> Answer:
        """Return the sum of the answers of all shards, each counted once."""
        sent = self._ray.put(query)
        for _ in range(MAX_LOSSES + 1):
            found = self._sum_answers(self._collect_answers(sent))
            if found is not None:
                return found
            # Who added up was lost, and so were the answers that it had. All are asked again: an
            # answer is the same each time, and nothing was added to it yet.
            self._restart_lost_actors()
        raise TabpeError("answers of workers were lost again and again: see to the cluster.")

    def close(self) -> None:
        """Let go of the shards, and of the cluster if it was started for them."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        self._actors, self._parts, self._common = [], [], None
        self._on_close()

    def _start_actor(self, number: int) -> Any:
        place = ShardIndex(number, self.shards)
        kind = self._ray.remote(num_cpus=1, max_restarts=0)(ShardActor)
        return kind.remote(place, self._parts[number], self._common)

    def _collect_answers(self, sent: Any) -> list[Any]:
        """Return where the answer of each shard is; ask again who is lost on the way."""
        waiting = dict(self._send_query(number, sent) for number in range(self.shards))
        answers: dict[int, Any] = {}
        failures: list[ShardFailure] = []
        while waiting:
            (done,), _ = self._ray.wait(list(waiting), num_returns=1)
            number, answer = waiting.pop(done)
            failed, is_lost = self._read_status(done)
            if is_lost:
                self._restart_actor(number)
                waiting |= [self._send_query(number, sent)]
            elif failed is not None:
                failures.append(failed)
            else:
                answers[number] = answer
                self._on_ready(len(answers), self.shards)
        if failures:
            raise min(failures, key=lambda failed: failed.shard).error
        return [answers[number] for number in range(self.shards)]

    def _send_query(self, number: int, sent: Any) -> tuple[Any, tuple[int, Any]]:
        status, answer = self._actors[number].answer.options(num_returns=2).remote(sent)
        return status, (number, answer)

    def _read_status(self, status: Any) -> tuple[ShardFailure | None, bool]:
        """Return what a shard says of its answer, and whether it was lost before it could."""
        problem = None
        try:
            return self._ray.get(status), False
        except self._ray.exceptions.RayTaskError as error:
            problem = type(error.cause or error).__name__
        except self._ray.exceptions.RayError:
            return None, True
        raise TabpeError(
            f"a worker failed: {problem}. Is the same version of tabpe installed on all machines?"
        )

    def _sum_answers(self, answers: list[Any]) -> Answer | None:
        """Return the sum of answers, added up in groups by the shards; None if one was lost."""
        while len(answers) > 1:
            groups = [
                answers[start : start + GROUP_SIZE] for start in range(0, len(answers), GROUP_SIZE)
            ]
            stride = -(-self.shards // len(groups))
            sums = [
                self._actors[place * stride].sum_answers.options(num_returns=2).remote(*group)
                for place, group in enumerate(groups)
            ]
            for status, _ in sums:
                failed, is_lost = self._read_status(status)
                if is_lost:
                    return None
                if failed is not None:
                    raise failed.error
            answers = [answer for _, answer in sums]
        return self._fetch_answer(answers[0])

    def _fetch_answer(self, answer: Any) -> Answer | None:
        try:
            found: Answer = self._ray.get(answer)
        except self._ray.exceptions.RayError:
            return None
        return found

    def _restart_lost_actors(self) -> None:
        """Make those anew that do not answer any more."""
        for number, actor in enumerate(self._actors):
            try:
                self._ray.get(actor.sum_answers.options(num_returns=2).remote(Answer([], {}))[0])
            except self._ray.exceptions.RayError:
                self._restart_actor(number)

    def _restart_actor(self, number: int) -> None:
        self._losses[number] += 1
        if self._losses[number] > MAX_LOSSES:
            raise TabpeError(
                f"shard {number + 1} of {self.shards} was lost {MAX_LOSSES + 1} times: see to the "
                f"workers and their memory, or use more of them (n_jobs)."
            )
        self._ray.kill(self._actors[number])
        self._actors[number] = self._start_actor(number)


ADDRESS = "RAY_ADDRESS"
_CONNECT_TIMEOUT = 10.0  # seconds
_LOOPBACK = "127.0.0.1"
_MANY_MACHINES, _CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "ENABLE_RAY_CLUSTER"
_AUTH_MODE, _AUTH_TOKENS = "RAY_AUTH_MODE", ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
# A row that does not fit into memory would be written into a file that has a name.
_NO_FILES = {"automatic_object_spilling_enabled": False}


def open_ray_backend(
    source: TableSource, unit: PrivacyUnit | None, resources: Resources, on_ready: Ready
) -> ShardedBackend:
    """Return who counts in a table by the workers of a Ray cluster.

    Args:
        source: The table.
        unit: Who is a user, for a user-level guarantee; None if every row is one of its own.
        resources: Where the cluster is, how many workers to use, and what of each machine.
        on_ready: Called with how many shards have answered, and how many there are.
    """
    ray = _import_ray()
    disconnect = _connect_cluster(ray, resources)
    try:
        parts = partition_source(source, unit, resources.workers or _count_free_cores(ray))
        each = resources.divide_by_shards(-(-len(parts) // _count_machines(ray)))
        pool = RayShardPool(parts, unit, each, on_ready=on_ready, on_close=disconnect)
    except BaseException:
        disconnect()
        raise
    return ShardedBackend(pool, 1 if unit is None else unit.scale)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        pass
    else:
        return ray
    raise ParameterError("engine='ray': Ray is not installed: pip install 'tabpe[ray]'.")


def _connect_cluster(ray: Any, resources: Resources) -> Callable[[], Any]:
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
        return _start_cluster(ray, resources)
    _join_cluster(ray, address)
    disconnect: Callable[[], Any] = ray.shutdown
    return disconnect


def _start_cluster(ray: Any, resources: Resources) -> Callable[[], Any]:
    """Start a cluster that no other machine reaches; return what ends it."""
    with ExitStack() as undo:
        _apply_environment(ray, undo, _make_local_environment())
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


def _make_local_environment() -> dict[str, str]:
    """Return the environment of Ray; what the user set there is left as it is."""
    # By its name for other systems, but on Linux too Ray then listens on the loopback address.
    variables = {_MANY_MACHINES: "0"}
    if _AUTH_MODE not in os.environ:
        variables[_AUTH_MODE] = "token"
        if not any(name in os.environ for name in _AUTH_TOKENS):
            # Ray would write one into the home folder.
            variables[_AUTH_TOKENS[0]] = secrets.token_hex(32)
    return variables


def _apply_environment(ray: Any, undo: ExitStack, variables: Mapping[str, str]) -> None:
    """Set variables of the environment, and have Ray see them, until they are undone."""
    undo.callback(_refresh_environment, ray)
    for name, value in variables.items():
        undo.callback(_set_variable, name, os.environ.get(name))
        _set_variable(name, value)
    constants = ray._private.ray_constants  # noqa: SLF001 - read by Ray when it is imported
    undo.callback(setattr, constants, _CLUSTERS, getattr(constants, _CLUSTERS, True))
    setattr(constants, _CLUSTERS, False)
    _refresh_environment(ray)


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _refresh_environment(ray: Any) -> None:
    """Have Ray read its environment again; versions before 2.52 know no tokens."""
    loader = getattr(ray._raylet, "AuthenticationTokenLoader", None)  # noqa: SLF001
    if loader is not None:
        ray._raylet.Config.initialize("")  # noqa: SLF001
        loader.instance().reset_cache()


def _join_cluster(ray: Any, address: str) -> None:
    problem = None
    try:
        _check_address(address)
        ray.init(address=address, **_QUIET)
    except (OSError, RuntimeError, ValueError) as error:
        problem = type(error).__name__
    if problem is not None:
        raise TabpeError(
            f"address={address!r}: there is no Ray cluster to join ({problem}): expected 'auto', "
            f"'HOST:PORT' or 'ray://HOST:PORT' of one that runs the same versions of Ray and "
            f"Python."
        )


def _check_address(address: str) -> None:
    """Fail if nobody listens at an address: Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT).close()


def _count_free_cores(ray: Any) -> int:
    """Return how many cores are free: a shard that gets none would be waited for without end."""
    cores = int(ray.available_resources().get("CPU", 0))
    if not cores:
        raise TabpeError(
            "engine='ray': no core of the cluster is free: wait for others to finish, or name how "
            "many workers it will have (n_jobs)."
        )
    return cores


def _count_machines(ray: Any) -> int:
    """Return how many machines of a cluster have cores."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    return max(len(nodes), 1)

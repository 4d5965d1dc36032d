"""Resources that a run may use: memory, disk and cores, of a machine or a cluster.

Privacy: they change no output and are part of no record, since how a table was read reveals
something about its size.
"""

from __future__ import annotations

import numbers
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tabpe._utils import validation
from tabpe.errors import ParameterError

ENGINES = ("auto", "local", "stream", "ray", "spark")
CLUSTERS = ("ray", "spark")
UNKNOWN_MEMORY = 8 * 2**30
_SIZE = re.compile(r"\s*(?P<count>\d+(\.\d+)?)\s*(?P<unit>([kmgt]i?)?b?)\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


@dataclass(frozen=True)
class Resources:
    """The engine of a run, its memory limit, spill folder and threads.

    Args:
        engine: `local` to hold the encoded rows in memory, `stream` to read them in every round,
            `auto` for `local` if they fit in `memory_limit`; `ray` or `spark` to hold them on the
            workers of a cluster.
        memory_limit: Bytes that encoded rows may take, on each machine.
        spill: The folder in which `stream` keeps encoded rows, in an unnamed file; None for the
            temporary folder of the system; False to encode again in every round.
        jobs: Threads that count votes.
        address: The address of the cluster; None for the one of the environment, or else a local
            one.
        workers: The number of workers of a cluster; None for one on each of its cores.

    Example:
        >>> resources = Resources.from_options(memory_limit="1 KiB")
        >>> resources.should_stream(1024), resources.should_stream(1025)
        (False, True)
    """

    engine: str
    memory_limit: int
    spill: Path | Literal[False] | None
    jobs: int
    address: str | None = None
    workers: int | None = None

    @classmethod
    def from_options(
        cls,
        *,
        engine: Any = "auto",
        memory_limit: Any = None,
        spill: Any = None,
        n_jobs: Any = None,
        address: Any = None,
    ) -> Resources:
        """Check the options and fill in defaults.

        Args:
            engine: `auto`, `local`, `stream`, `ray` or `spark`.
            memory_limit: Bytes, as a number or as text such as `2GB`; None for half of the memory
                of the machine.
            spill: A folder, None or False.
            n_jobs: Threads, or workers of a cluster; None or -1 for one on each usable core.
            address: The address of the cluster.
        """
        threads = _count_threads(n_jobs)
        name = validation.check_one_of("engine", engine, ENGINES)
        return cls(
            name,
            _get_half_of_memory()
            if memory_limit is None
            else _parse_bytes("memory_limit", memory_limit),
            _check_folder(spill),
            threads,
            _check_address(address, name),
            None if n_jobs in (None, -1) else threads,
        )

    def divide_by_shards(self, shards: int) -> Resources:
        """Return the resources of each of `shards` shards on one machine."""
        return Resources("auto", max(self.memory_limit // shards, 1), self.spill, 1)

    def should_stream(self, most_bytes: int | None) -> bool:
        """Return whether to stream a table of that size (None if unknown)."""
        if self.engine != "auto":
            return self.engine == "stream"
        return most_bytes is None or most_bytes > self.memory_limit


def _parse_bytes(name: str, given: Any) -> int:
    """Return a number of bytes.

    Example:
        >>> _parse_bytes("memory_limit", "2GB"), _parse_bytes("memory_limit", "1.5 KiB")
        (2000000000, 1536)
    """
    if not isinstance(given, str):
        return validation.check_integer(
            name, given, least=1, hint="Text such as '2GB' is fine too."
        )
    match = _SIZE.fullmatch(given)
    unit = match["unit"].lower().removesuffix("b") if match else ""
    size = int(float(match["count"]) * _get_unit_base(unit) ** _POWERS[unit[:1]]) if match else 0
    if size < 1:
        raise ParameterError(
            f"{name}={given!r}: expected a number of bytes, or text such as '2GB' or '512 MiB'."
        )
    return size


def _get_unit_base(unit: str) -> int:
    return 1024 if unit.endswith("i") else 1000


def _check_folder(given: Any) -> Path | Literal[False] | None:
    if given is None or given is False:
        return given
    if not isinstance(given, (str, Path)):
        raise ParameterError(
            f"spill={given!r}: expected a folder, None for the one of the system, or False."
        )
    if not Path(given).is_dir():
        raise ParameterError(f"spill={str(given)!r}: no such folder: create it first.")
    return Path(given)


def _check_address(given: Any, engine: str) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str) or not given:
        raise ParameterError(
            f"address={given!r}: expected 'auto', 'HOST:PORT' or 'ray://HOST:PORT' for Ray, "
            f"'spark://HOST:PORT' or 'local[2]' for Spark, or None."
        )
    if engine not in CLUSTERS:
        raise ParameterError(
            f"address={given!r}: engine={engine!r} runs on this machine only: pass "
            f"engine='ray' or 'spark', or leave out the address."
        )
    return given


def _count_threads(given: Any) -> int:
    if given is None or (isinstance(given, numbers.Integral) and given == -1):
        return count_usable_cores()
    hint = "None and -1 stand for all cores."
    return validation.check_integer("n_jobs", given, least=1, hint=hint)


def count_usable_cores() -> int:
    """Return the number of cores that this process may use.

    Example:
        >>> count_usable_cores() >= 1
        True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _get_half_of_memory() -> int:
    """Return half of the memory of the machine, or of the container of this process."""
    limits = [_get_physical_memory(), *map(_read_number, _CONTAINER_LIMITS)]
    return min((limit for limit in limits if limit), default=UNKNOWN_MEMORY) // 2


def _get_physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None

"""What a run ran on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

from tabpe import __version__
from tabpe.resources import usable_cores

PACKAGES = ("numpy", "scipy", "scikit-learn", "opendp", "dp-accounting", "pot")
FURTHER = ("mbi", "jax", "torch", "tabicl")
CPU, _MEMORY = Path("/proc/cpuinfo"), Path("/proc/meminfo")
_STATUS = Path("/proc/self/status")


def versions() -> dict[str, Any]:
    """Return the versions of what decides the figures; of the further ones those installed.

    Example:
        >>> versions()["tabpe"] == __version__
        True
    """
    found = {name: version_of(name) for name in (*PACKAGES, *FURTHER)}
    installed = {name: version for name, version in found.items() if version is not None}
    return {"tabpe": __version__, "python": platform.python_version(), **installed}


def machine() -> dict[str, Any]:
    """Return the processor, the cores that this process may use, and the memory.

    Example:
        >>> machine()["threads"] <= machine()["cores"]
        True
    """
    return {
        "processor": system_field(CPU, "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": usable_cores(),
        "memory": system_field(_MEMORY, "MemTotal"),
        "system": platform.system(),
    }


def peak_megabytes() -> float:
    """Return the most memory that this process ever held; 0 where the system does not tell."""
    words = system_field(_STATUS, "VmHWM").split()
    return int(words[0]) / 1024 if words else 0.0


def system_field(file: Path, name: str) -> str:
    """Return a field of a file of the system; nothing where there is none."""
    if not file.exists():
        return ""
    lines = file.read_text().splitlines()
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(found, "")


def version_of(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None

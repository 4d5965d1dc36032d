"""What the benchmark ran on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

PACKAGES = ("tabpe", "numpy", "scipy", "pyarrow", "opendp", "faiss-cpu", "torch")
FLAGS = ("sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni")
CPU_INFO = Path("/proc/cpuinfo")


def describe() -> dict[str, Any]:
    """Return the processor, the versions, and how busy the machine was."""
    from threadpoolctl import threadpool_info

    from tabpe import _native

    return {
        "cpu": _cpu("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "flags": [flag for flag in FLAGS if flag in cpu_flags()],
        "load average at the start": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "native instruction sets": _native.search.instruction_sets() if _native.search else None,
        "BLAS": {
            Path(pool["filepath"]).name: pool.get("architecture")
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        },
    }


@cache
def cpu_flags() -> frozenset[str]:
    """Return the instructions that the processor knows; none where the system does not tell."""
    return frozenset(_cpu("flags").split())


def _cpu(field: str) -> str:
    if not CPU_INFO.exists():
        return ""
    lines = CPU_INFO.read_text().splitlines()
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(field))
    return next(found, "")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None

"""What the benchmark ran on."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

from tabpe_lab.worker import CPU, find_version, read_system_field

PACKAGES = ("tabpe", "numpy", "scipy", "pyarrow", "opendp", "faiss-cpu", "torch")
FLAGS = ("sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vnni")


def describe() -> dict[str, Any]:
    """Return the processor, the versions, and how busy the machine was."""
    from threadpoolctl import threadpool_info

    from tabpe.backends import native

    return {
        "cpu": read_system_field(CPU, "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "flags": [flag for flag in FLAGS if flag in cpu_flags()],
        "load average at the start": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: find_version(name) for name in PACKAGES},
        "native instruction sets": native.search.instruction_sets() if native.search else None,
        "BLAS": {
            Path(pool["filepath"]).name: pool.get("architecture")
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        },
    }


@cache
def cpu_flags() -> frozenset[str]:
    """Return the instructions that the processor knows; none where the system does not tell."""
    return frozenset(read_system_field(CPU, "flags").split())

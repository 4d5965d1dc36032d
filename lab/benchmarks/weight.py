"""What an installation weighs: size, packages and import time of the core and of each extra.

    python -m benchmarks.weight [--uv PATH] [--wheel PATH] [--repeats 5]

Each gets a fresh environment with the newest versions that an index has, and bytecode as pip makes
it. A size is all files in site-packages but those of pip. Times are CPU seconds of a process, in
the environment of the core; the smallest of several runs, which other work on the machine disturbs
least.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, make_parser, write_record

MEBIBYTE = 2**20
# Extras for those who work on tabpe itself, which are not measured.
DEVELOPMENT = {"dev", "docs", "notebooks", "peers"}
TIMED = {
    "python": ["-c", "pass"],
    "import tabpe": ["-c", "import tabpe"],
    "from tabpe import TabPE": ["-c", "from tabpe import TabPE"],
    "tabpe --help": ["-m", "tabpe", "--help"],
}
SHOWN_PACKAGES = 6


def main() -> None:
    """Measure everything and write the record."""
    parser = make_parser(__doc__ or "", "weight", repeats=5)
    parser.add_argument("--uv", type=Path, default=Path("uv"))
    parser.add_argument("--wheel", type=Path, default=None)
    words = parser.parse_args()
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    extras = [name for name in project["optional-dependencies"] if name not in DEVELOPMENT]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = words.wheel or build_wheel(words.uv, folder)
        core = make_environment(words.uv, folder / "core", str(wheel.resolve()))
        content: dict[str, Any] = {"core": weigh(core)}
        content["seconds"] = {
            shown: measure_seconds(core, command, words.repeats) for shown, command in TIMED.items()
        }
        content["extras"] = {}
        for extra in extras:
            requirement = f"tabpe[{extra}] @ {wheel.resolve().as_uri()}"
            found = weigh(make_environment(words.uv, folder / extra, requirement))
            found["added_mb"] = round(found["mb"] - content["core"]["mb"], 1)
            found["added_packages"] = sorted(
                set(found["packages"]) - set(content["core"]["packages"])
            )
            content["extras"][extra] = found
            print(extra, found["mb"], flush=True)
    write_record(words.out, "weight", content)


def build_wheel(uv: Path, folder: Path) -> Path:
    """Return a wheel of this checkout."""
    run(uv, "build", "--quiet", "--wheel", "--python", sys.executable, "-o", folder, ROOT.parent)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(uv: Path, folder: Path, requirement: str) -> Path:
    """Return the interpreter of a fresh environment with a requirement installed."""
    run(uv, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    # Copies instead of links to a cache, and bytecode, as pip leaves them.
    how = ("--quiet", "--compile-bytecode", "--link-mode", "copy", "--python", python)
    run(uv, "pip", "install", *how, requirement)
    return python


def weigh(python: Path) -> dict[str, Any]:
    """Return the size of an environment and its packages, with the largest folders."""
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    sizes = {
        entry.name: sum(
            file.stat().st_size for file in [entry, *entry.rglob("*")] if file.is_file()
        )
        for entry in site.iterdir()
        if entry.name != "__pycache__"
    }
    largest = sorted(sizes, key=lambda name: -sizes[name])[:SHOWN_PACKAGES]
    packages = {}
    for info in sorted(site.glob("*.dist-info")):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        packages[name.replace("_", "-").lower()] = version
    return {
        "mb": round(sum(sizes.values()) / MEBIBYTE, 1),
        "largest_mb": {name: round(sizes[name] / MEBIBYTE, 1) for name in largest},
        "packages": packages,
    }


def measure_seconds(python: Path, command: list[str], repeats: int) -> float:
    """Return the CPU seconds of the quickest of several processes."""
    taken = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([python, *command], check=True, stdout=subprocess.DEVNULL, cwd="/")  # noqa: S603
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(min(taken), 3)


def run(*command: str | Path) -> None:
    """Run a command and stop at a failure."""
    subprocess.run([str(word) for word in command], check=True)  # noqa: S603 - commands of the benchmarks


if __name__ == "__main__":
    main()

"""Walk the first tutorial, as its page is written, with the `tabpe` that is installed.

    python tools/newcomer.py [--expect-native]

Scripts, schema, commands and what they print are those of `docs/tutorials/first-release.md`. Run it
with the interpreter of the environment to be tried, from anywhere. It works in a temporary folder,
prints each command, and ends with the versions and kernels it met. `tabpe evaluate` needs the extra
`report`, and is left out without it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorials" / "first-release.md"
# Where the page says that a block is saved.
FILES = {"python": "make_export.py", "yaml": "schema.yaml"}
# What the page says that a command prints, besides the blocks of text.
PRINTED = {"tabpe schema check": "all fields are declared public"}
FIT_IN_PYTHON = """
from tabpe import Schema, TabPE
model = TabPE(epsilon=1.0, random_state=0, verbose=0)
model.fit("export.csv", schema=Schema.load("schema.yaml"))
assert model.sample().num_rows > 0
assert model.certificate.epsilon <= 1.0
"""
NAME_VERSIONS = """
from importlib.metadata import distributions
from tabpe import native
print(*sorted(f"{one.name}={one.version}" for one in distributions()))
print("kernels", native.search.instruction_sets() if native.search else None)
"""


def main() -> None:
    """Walk the tutorial, then fit once in Python."""
    blocks = read_blocks(PAGE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["LOCALAPPDATA"] = str(Path(folder) / "home")
        walk_blocks(blocks, folder)
        certificate = json.loads((Path(folder) / "synthetic.certificate.json").read_text())
        if certificate["status"] != "private" or certificate["fields_from_data"]:
            sys.exit("the certificate does not say that the table is private")
        run_in(folder, sys.executable, "-c", FIT_IN_PYTHON)
    versions = run_in(".", sys.executable, "-c", NAME_VERSIONS)
    if "--expect-native" in sys.argv and "kernels None" in versions:
        sys.exit("tabpe was installed without its compiled part")
    print(f"the first tutorial works on Python {platform.python_version()}, {platform.platform()}")


def read_blocks(page: str) -> list[tuple[str, str]]:
    """Return the blocks of code of a page with their languages, in order."""
    return re.findall(r"^```(\w+)\n(.*?\n)```$", page, flags=re.DOTALL | re.MULTILINE)


def walk_blocks(blocks: list[tuple[str, str]], folder: str) -> None:
    """Save files, run commands, and compare what is printed, in the order of the page."""
    printed = ""
    for language, text in blocks:
        if language in FILES:
            (Path(folder) / FILES[language]).write_text(text, encoding="utf-8")
        elif language == "text":
            expect_lines(text.splitlines(), printed)
        else:
            for line in text.splitlines():
                printed = run_line(line, folder)


def run_line(line: str, folder: str) -> str:
    """Run a command of the page in a folder, and return what it printed."""
    name, *words = shlex.split(line, comments=True)
    if name == "pip":
        return ""  # the environment is what is tried here
    if words[0] == "evaluate" and find_spec("ot") is None:
        print(f"$ {line}\nleft out: the extra report is not installed")
        return ""
    program = Path(sysconfig.get_path("scripts")) / ("tabpe.exe" if os.name == "nt" else "tabpe")
    printed = run_in(folder, {"tabpe": str(program), "python": sys.executable}[name], *words)
    for command, said in PRINTED.items():
        if line.startswith(command):
            expect_lines([said], printed)
    return printed


def expect_lines(lines: list[str], printed: str) -> None:
    """Stop unless each line was printed, however it was wrapped."""
    joined = " ".join(printed.split())
    missing = [line for line in lines if " ".join(line.split()) not in joined]
    if missing:
        sys.exit(f"the page says that this is printed: {missing}")


def run_in(folder: str, *command: str) -> str:
    """Run a command in a folder, show its output, and stop at a failure."""
    shown = "..." if "-c" in command else " ".join(command[1:])
    print(f"$ {Path(command[0]).name} {shown}", flush=True)
    # The temporary folder, not this one, is where Python looks for modules first.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, end="", flush=True)
    if done.returncode:
        sys.exit(f"failed with exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()

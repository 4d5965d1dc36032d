"""Walk the first tutorial with the `tabpe` that is installed: draft, check, synthesise, verify.

    python tools/newcomer.py [--expect-native]

Run it with the interpreter of the environment to be tried, from anywhere. It needs the core alone,
works in a temporary folder, prints each command, and ends with the versions and kernels it met.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROWS = 2_000
WRITE_TABLE = f"""
from pathlib import Path
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_table
with Path("patients.csv").open("wb") as file:
    make_table_writer(hospital_table({ROWS}), Path("patients.csv"))(file)
"""
# What the draft took from the data is declared public, as a custodian would after checking it.
DECLARE_PUBLIC = """
from pathlib import Path
draft = Path("schema.yaml").read_text(encoding="utf-8")
assert "source: data" in draft
text = draft.replace("source: data", "source: public")
Path("schema.yaml").write_text(text, encoding="utf-8")
"""
FIT_IN_PYTHON = """
from tabpe import Schema, TabPE
model = TabPE(epsilon=1.0, label="readmitted", random_state=0, verbose=0)
model.fit("patients.csv", schema=Schema.load("schema.yaml"))
assert model.sample().num_rows > 0
assert model.certificate.epsilon <= 1.0
"""
NAME_VERSIONS = """
from importlib.metadata import distributions
from tabpe import native
print(*sorted(f"{one.name}={one.version}" for one in distributions()))
print("kernels", native.search.instruction_sets() if native.search else None)
"""
TABPE = (
    "schema init patients.csv -o schema.yaml",
    "schema check schema.yaml patients.csv",
    "synth patients.csv --schema schema.yaml --label readmitted --epsilon 1 -o synthetic.csv",
    "verify synthetic.certificate.json synthetic.csv",
)


def main() -> None:
    """Walk the tutorial."""
    program = Path(sysconfig.get_path("scripts")) / ("tabpe.exe" if os.name == "nt" else "tabpe")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["LOCALAPPDATA"] = str(Path(folder) / "home")
        run_in(folder, sys.executable, "-c", WRITE_TABLE)
        for words in TABPE:
            run_in(folder, str(program), *words.split())
            if "init" in words:
                run_in(folder, sys.executable, "-c", DECLARE_PUBLIC)
        certificate = json.loads((Path(folder) / "synthetic.certificate.json").read_text())
        if certificate["status"] != "private" or certificate["fields_from_data"]:
            sys.exit("the certificate does not say that the table is private")
        run_in(folder, sys.executable, "-c", FIT_IN_PYTHON)
    versions = run_in(".", sys.executable, "-c", NAME_VERSIONS)
    if "--expect-native" in sys.argv and "kernels None" in versions:
        sys.exit("tabpe was installed without its compiled part")
    print(f"the first tutorial works on Python {platform.python_version()}, {platform.platform()}")


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

"""The rooms: imports point downward, and the core stays small."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAMES = ("pandas", "polars", "sklearn", "torch", "ray", "pyspark", "jax")
HEAVY = (*FRAMES, "scipy", "opendp", "dp_accounting", "narwhals", "yaml", "importlib.metadata")


def test_the_import_contracts_hold():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def loaded_by(code, names):
    code = f"import sys; {code}; print([name for name in {names!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_importing_tabpe_loads_nothing_heavy():
    assert loaded_by("import tabpe", HEAVY) == "[]"


def test_the_command_line_loads_what_a_command_needs_and_no_more():
    names = (*FRAMES, "scipy", "opendp", "dp_accounting", "jinja2", "ot", "tabpe.evaluation.report")
    assert loaded_by("import tabpe.cli", names) == "[]"


def test_drawing_noise_loads_no_frames_though_opendp_has_extras_for_them():
    code = "from tabpe.accounting import OpenDPNoise; OpenDPNoise().draw(1, 1.0)"
    assert loaded_by(code, (*FRAMES, "scipy")) == "[]"


def test_the_readme_names_every_parameter():
    import inspect

    from tabpe import TabPE

    readme = (ROOT / "README.md").read_text()
    shown = set(inspect.signature(TabPE).parameters) - {"verbose"}
    assert {name for name in shown if f"`{name}`" not in readme} == set()

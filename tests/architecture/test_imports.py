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


def test_importing_tabpe_loads_no_other_package():
    code = "before = set(sys.modules); import tabpe"
    ours = "{name.partition('.')[0] for name in set(sys.modules) - before} <= {'tabpe', *known}"
    code = f"import sys; known = sys.stdlib_module_names; {code}; print({ours})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"


def test_a_synthesizer_loads_nothing_heavy_beside_its_base_class():
    """Without scikit-learn, whose estimator it is where that is installed."""
    code = "from tabpe import Schema, SqlTable, TabPE, draft_schema; TabPE(); Schema"
    names = tuple(name for name in HEAVY if name != "sklearn")
    assert loaded_by(f"sys.modules['sklearn'] = None; {code}", names) == "[]"


def test_the_list_of_commands_loads_no_command():
    code = "from typer.testing import CliRunner; from tabpe.cli.app import app"
    shown = f"{code}; shown = CliRunner().invoke(app, ['--help']).output; assert 'ledger' in shown"
    names = ("numpy", "pyarrow", "tabpe.cli.synth", "tabpe.synthesizers", "tabpe.io")
    assert loaded_by(shown, names) == "[]"


def test_the_command_line_loads_what_a_command_needs_and_no_more():
    names = (*FRAMES, "scipy", "opendp", "dp_accounting", "jinja2", "ot", "tabpe.evaluation.report")
    modules = "synth, tabpe.cli.schema, tabpe.cli.ledger, tabpe.cli.evaluate, tabpe.cli.verify"
    assert loaded_by(f"import tabpe.cli.{modules}", names) == "[]"


def test_drawing_noise_loads_no_frames_though_opendp_has_extras_for_them():
    code = "from tabpe.accounting import OpenDPNoise; OpenDPNoise().draw(1, 1.0)"
    assert loaded_by(code, (*FRAMES, "scipy")) == "[]"


def test_the_page_of_options_names_every_parameter_and_the_readme_links_it():
    import inspect

    from tabpe import TabPE

    options = (ROOT / "docs" / "reference" / "options.md").read_text()
    shown = set(inspect.signature(TabPE).parameters) - {"verbose"}
    assert {name for name in shown if f"`{name}`" not in options} == set()
    assert "(docs/reference/options.md)" in (ROOT / "README.md").read_text()

"""Optional packages: what works without them, and what asks for them."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tabpe._utils.extras import REPORT, require_report_extra
from tabpe.cli.app import app
from tabpe.errors import TabpeError

EXTRA = r"pip install 'tabpe\[report\]'"
BLOCKED = "; ".join(f"import sys; sys.modules[{name!r}] = None" for name in REPORT)


@pytest.fixture
def without_report(monkeypatch):
    for name in REPORT:
        monkeypatch.setitem(sys.modules, name, None)


def test_installed_packages_pass():
    require_report_extra("evaluate")


def test_the_error_names_the_feature_the_missing_package_and_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(TabpeError, match=rf"evaluate needs scikit-learn: {EXTRA}"):
        require_report_extra("evaluate")


def test_a_plain_installation_fits_samples_synthesises_and_verifies(tmp_path):
    # In a process of its own: here parts of the packages may have been imported before.
    code = """
from pathlib import Path
from tabpe import TabPE, evaluate_public
from tabpe._utils import files
from tabpe.cli import main
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

model = TabPE(epsilon=5.0, preset="paper", n_samples=50, random_state=0, verbose=0)
synthetic = model.fit(hospital_table(300), schema=hospital_schema()).sample()
assert synthetic.num_rows == 50
evaluate_public(synthetic, certificate=model.certificate, verbose=0).save("public.html")

files.write_file(Path("real.csv"), make_table_writer(hospital_table(300), Path("real.csv")))
hospital_schema().save("schema.yaml")
synth = ["synth", "real.csv", "--schema", "schema.yaml", "--preset", "paper", "--epsilon", "5"]
for command in ([*synth, "-o", "out.csv"], ["verify", "out.certificate.json", "out.csv"]):
    sys.argv = ["tabpe", *command]
    try:
        main()
    except SystemExit as done:
        assert not done.code, command
"""
    command = [sys.executable, "-c", f"{BLOCKED}\n{code}"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "out.certificate.json").read_text())["epsilon"] <= 5


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "real.csv", "out.csv"],
        ["evaluate", "real.csv", "out.csv", "--public", "--epsilon", "1"],
        ["demo"],
    ],
)
@pytest.mark.usefixtures("without_report")
def test_commands_that_end_in_metrics_ask_for_the_extra_before_any_work(
    command, tmp_path, monkeypatch
):
    # The tables do not exist: the extra is asked for before they are looked for.
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "pip install 'tabpe[report]'" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("without_report")
def test_evaluate_asks_for_the_extra_before_it_reads():
    from tabpe import evaluate, evaluate_public

    with pytest.raises(TabpeError, match=EXTRA):
        evaluate("nowhere.csv", "nowhere.csv")
    with pytest.raises(TabpeError, match=EXTRA):
        evaluate_public("nowhere.csv", real="nowhere.csv", epsilon=1.0)


@pytest.mark.usefixtures("without_report")
def test_a_missing_extra_costs_no_budget(tmp_path):
    import pyarrow as pa

    from tabpe import Boolean, Integer, Schema
    from tabpe.accounting.ledger import Ledger
    from tabpe.evaluation.private_metrics import appraise
    from tabpe.synthesizers.options import open_charge

    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
    table = pa.table({"age": [20, 70] * 50, "ill": [False, True] * 50})
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.set_budget("patients", epsilon=2.0, delta=1e-5)
    charge = open_charge(ledger.path, "patients", None)
    with pytest.raises(TabpeError, match=EXTRA):
        appraise(table, table, schema, epsilon=1, delta=1e-6, charge=charge)
    assert ledger.entries("patients") == ()


@pytest.mark.usefixtures("without_report")
def test_metrics_by_themselves_ask_for_the_extra():
    import numpy as np

    from tabpe.evaluation.metrics.distances import _solve_flow
    from tabpe.evaluation.metrics.predictors import predict_target
    from tabpe.evaluation.table_arrays import LabeledExamples

    one, examples = np.array([1]), LabeledExamples((), np.array([0, 1]), 2)
    with pytest.raises(TabpeError, match=EXTRA):
        predict_target("extra trees", examples, examples)
    with pytest.raises(TabpeError, match=EXTRA):
        _solve_flow(np.ones((1, 1)), one, one)

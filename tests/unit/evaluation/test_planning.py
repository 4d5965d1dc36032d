"""A plan: noise as a run has it, bands that hold, and no data opened."""

import ast
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import tabpe
from tabpe import Boolean, Categorical, Integer, Schema, TabPE
from tabpe.errors import ParameterError, SchemaError
from tabpe.evaluation.planning.simulate import make_structures, scale_epsilon

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Categorical("ward", ("eye", "heart", "skin"), nullable=True),
        Boolean("ill"),
    ),
    label="ill",
)


def make_table(rows: int, seed: int = 0) -> pa.Table:
    return make_structures(SCHEMA, seed=seed)["few clusters"](rows, 1, np.random.default_rng(seed))[
        0
    ]


def test_noise_is_that_of_a_run():
    planned = tabpe.plan(SCHEMA, 2000, [2.0], simulations=0, delta=1e-6)
    model = TabPE(epsilon=2.0, delta=1e-6, verbose=0, random_state=0).fit(make_table(2000), SCHEMA)
    spent = {spend.name: (spend.sigma, spend.times) for spend in model.certificate.spends}
    assert {one.name: (one.sigma, one.times) for one in planned.epsilons[0].noise} == spent


def test_more_epsilon_shows_smaller_groups_and_smaller_errors():
    planned = tabpe.plan(SCHEMA, 2000, [8, 0.5], simulations=1)
    low, high = planned.epsilons
    assert (low.epsilon, high.epsilon) == (0.5, 8.0)
    assert low.smallest_group > high.smallest_group
    assert low.smallest_class > high.smallest_class
    assert low.column_error.middle > high.column_error.middle
    assert low.kept is not None
    assert low.score is None


def test_a_run_lies_in_the_bands_of_a_stand_in():
    planned = tabpe.plan(SCHEMA, 2000, [2.0], stand_in=make_table(3000, seed=0), simulations=2)
    from tabpe.evaluation.planning.simulate import compare_marginals

    table = make_table(2000, seed=0)
    made = TabPE(epsilon=2.0, verbose=0, random_state=5).fit(table, SCHEMA).sample()
    column, pair = compare_marginals(SCHEMA, table, made)
    entry = planned.epsilons[0]
    # The bands of three standard deviations are tested on public tables; twice them here.
    assert column < 2 * entry.column_error.high
    assert pair < 2 * entry.pair_error.high
    assert planned.stand_in
    assert entry.score is not None


def test_fewer_rows_make_marginals_worse():
    few, many = (tabpe.plan(SCHEMA, n, [1.0], simulations=0).epsilons[0] for n in (100, 100_000))
    assert few.columns[0].noise > many.columns[0].noise
    assert few.columns[0].usable != "good"
    assert many.columns[0].usable == "good"


def test_scaled_noise_keeps_its_proportion_to_rows():
    from tabpe.accounting.pld import solve_gaussian_mu

    scaled = scale_epsilon(1.0, 1e-6, 4.0)
    assert solve_gaussian_mu(scaled, 1e-6) == pytest.approx(
        4 * solve_gaussian_mu(1.0, 1e-6), rel=1e-2
    )


def test_simulated_tables_fit_their_schema():
    schema = Schema(
        (Integer("a", 0, 9), Integer("b", 0, 9, nullable=True), Boolean("c")), rules=("a <= 8",)
    )
    for draw in make_structures(schema, seed=1).values():
        table, _ = draw(200, 1, np.random.default_rng(0))
        assert max(table["a"].to_pylist()) <= 8
        assert table.num_rows == 200


def test_a_plan_is_the_same_as_text_json_and_page(tmp_path):
    planned = tabpe.plan(SCHEMA, 3000, [0.1, 1, 10, 20, 30, 40, 50], simulations=0)
    assert all(len(line) <= 80 for line in planned.to_text().splitlines())
    assert json.loads(planned.to_json())["epsilons"][0]["epsilon"] == 0.1
    for name in ("plan.html", "plan.json", "plan.txt"):
        planned.save(tmp_path / name)
    assert (tmp_path / "plan.html").read_text().startswith("<!doctype html>")
    assert "<table>" in planned._repr_html_()
    with pytest.raises(ParameterError, match="expected a file"):
        planned.save(tmp_path / "plan.pdf")


def test_names_of_columns_are_escaped():
    schema = Schema((Integer("<script>alert(1)</script>", 0, 10**6),))
    page = tabpe.plan(schema, 100, [0.1], simulations=0).to_html()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_wrong_parameters_are_named():
    with pytest.raises(ParameterError, match="rows=1"):
        tabpe.plan(SCHEMA, 1)
    with pytest.raises(ParameterError, match="epsilons"):
        tabpe.plan(SCHEMA, 1000, [])
    with pytest.raises(SchemaError, match="has gaps"):
        tabpe.plan({"columns": [{"name": "age", "type": "integer"}]}, 1000)
    with pytest.raises(ParameterError, match="no rows"):
        tabpe.plan(SCHEMA, 1000, [1.0], stand_in=make_table(5)[:0], simulations=1)


def test_a_plan_charges_no_ledger(tmp_path):
    ledger = tmp_path / "ledger.db"
    tabpe.plan(SCHEMA, 1000, [1.0], simulations=0, dataset="patients", ledger=ledger)
    assert not ledger.exists()


def test_it_opens_no_data(tmp_path):
    """Of all files opened by the command, none lies beside the schema but the schema itself."""
    SCHEMA.save(tmp_path / "schema.yaml")
    (tmp_path / "private.csv").write_text("age,ward,ill\n1,eye,True\n")
    script = (
        "import sys\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) "
        "if event in ('open', 'os.listdir', 'os.scandir') else None)\n"
        "import tabpe\n"
        f"tabpe.plan({str(tmp_path / 'schema.yaml')!r}, 500, [1.0], simulations=1)\n"
        f"print([name for name in opened if name.startswith({str(tmp_path)!r})])\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(ast.literal_eval(done.stdout.splitlines()[-1])) == {str(tmp_path / "schema.yaml")}

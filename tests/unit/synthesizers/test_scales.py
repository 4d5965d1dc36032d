"""Numbers on bent scales: through every door, and closer to skewed rows than on an even one."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facade import BOTH, fake_fit, fitted
from tabpe import Boolean, Float, Integer, Schema, TabPE
from tabpe.baselines import Baseline, Independent
from tabpe.evaluation.private_metrics import appraise
from tabpe.verification.verify import count_fitting_rows

ROWS = 3000
MOST = 10**6
QUANTILES = (0, 150, 500, 1100, 2500, 6000, MOST)
SCALES = {
    "log": {"scale": "log"},
    "quantile": {"scale": "quantile", "quantiles": QUANTILES},
}


def schema(**scale):
    columns = (
        Integer("pay", 0, MOST, **scale),
        Float("debt", -MOST, MOST, 2, scale="log"),
        Boolean("ill"),
    )
    return Schema(columns, label="ill")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    pay = np.exp(rng.normal(7, 1.5, ROWS)).clip(0, MOST).astype(np.int64)
    pay[rng.random(ROWS) < 0.3] = 0
    debt = np.round(rng.normal(0, 1, ROWS) ** 5 * 1000, 2)
    return pa.table({"pay": pay, "debt": debt, "ill": rng.random(ROWS) < 0.4})


def distance_of_logs(one, other):
    """How far apart two tables are in the logarithms of what is paid."""
    levels = (np.arange(200) + 0.5) / 200
    quantiles = [np.quantile(np.log1p(t["pay"].to_numpy()), levels) for t in (one, other)]
    return float(np.abs(quantiles[0] - quantiles[1]).mean())


@pytest.mark.parametrize("preset", ["paper", "best"])
@pytest.mark.parametrize("scale", list(SCALES))
def test_skewed_numbers_come_out_closer_at_the_same_noise(table, preset, scale):
    asked = {"epsilon": 1.0, "preset": preset, "n_samples": 500}
    even = fake_fit(table, schema(), **asked).sample()
    bent = fake_fit(table, schema(**SCALES[scale]), **asked).sample()
    assert distance_of_logs(table, bent) < distance_of_logs(table, even) / 2


@BOTH
@pytest.mark.parametrize("scale", list(SCALES))
def test_engines_and_files_of_any_size_give_the_same_rows(table, tmp_path, preset, scale):
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=171)
    asked = {"preset": preset, "schema": schema(**SCALES[scale])}
    local = fake_fit(table, **asked, engine="local", n_jobs=1).sample()
    stream = fake_fit(tmp_path / "rows.parquet", **asked, engine="stream", n_jobs=2).sample()
    assert local.to_pydict() == stream.to_pydict()


def test_values_lie_on_their_grid_and_survive_a_file(table, tmp_path):
    model = fitted(table, schema(**SCALES["log"]))
    made = model.sample(200)
    assert made.schema == table.schema
    pq.write_table(made, tmp_path / "made.parquet")
    assert count_fitting_rows(model.schema_, tmp_path / "made.parquet") == 200
    model.save(tmp_path / "run.tabpe")
    assert TabPE.load(tmp_path / "run.tabpe").sample(200).equals(made)


def test_conditions_are_about_the_numbers_themselves(table):
    model = fitted(table, schema(**SCALES["log"]), n_samples=400)
    made = model.sample()["pay"].to_pylist()
    few = model.sample(20, conditions={"pay": (100, 5000)})["pay"].to_pylist()
    assert all(100 <= value <= 5000 for value in few)
    largest = max(made)
    assert model.sample(1, conditions={"pay": largest})["pay"].to_pylist() == [largest]


def test_a_label_on_a_bent_scale_keeps_its_classes(table):
    cut = Schema(schema().columns[1:] + schema(scale="log").columns[:1], "pay", (1, 2000))
    made = fitted(table, cut, epsilon=8.0, n_samples=300).sample()["pay"].to_numpy()
    real = table["pay"].to_numpy()
    shares = [np.bincount(np.digitize(t, (1, 2000)), minlength=3) / len(t) for t in (made, real)]
    np.testing.assert_allclose(*shares, atol=0.05)


def test_a_report_tells_bins_in_numbers_of_the_column(table):
    known = schema(**SCALES["log"])
    made = fitted(table, known).sample()
    pay = appraise(table, made, known, epsilon=3, delta=1e-6, random_state=0).columns[0]
    assert (pay.edges[0], pay.edges[-1]) == (0, MOST)
    assert np.diff(pay.edges).min() * 100 < np.diff(pay.edges).max()
    assert pay.synthetic.most == max(made["pay"].to_pylist())


def test_a_baseline_knows_bent_scales(table):
    known = schema(**SCALES["log"])
    made = Baseline(Independent(), epsilon=8.0, delta=1e-6, random_state=0).fit(table, known)
    assert distance_of_logs(table, made.sample(500)) < 1.0

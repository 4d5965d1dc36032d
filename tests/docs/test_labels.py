"""The page about labels: its examples are schemas, and run."""

import re
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from tabpe import Schema, TabPE
from tabpe._utils import yaml12
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.schema.schema import FEWEST_CLASSES, MOST_CLASSES, MOST_COMBINATIONS

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "labels.md").read_text()
SEVERAL, ESTIMATED = (
    yaml12.load(code) for code in re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
)


def test_several_labels():
    schema = Schema.from_dict(SEVERAL)
    assert schema.label == ("ward", "outcome")
    assert f"at most {MOST_COMBINATIONS:,} combinations" in " ".join(TEXT.split())
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "age": rng.integers(0, 100, 600),
            "ward": rng.choice(["surgery", "heart"], 600),
            "outcome": rng.choice(["home", "died"], 600, p=[0.97, 0.03]),
        }
    )
    model = TabPE(epsilon=2.0, delta=1e-6, random_state=0, verbose=0, preset="paper")
    made = model.fit(table, schema)
    assert ("eye", "died") in made.schema_.label_rare
    assert "rare" in made.schema_.class_names


def test_classes_that_are_estimated():
    rng = np.random.default_rng(0)
    price = np.round(np.minimum(rng.exponential(9000, 5000), 100_000), 2)
    table = pa.table({"price": price, "rooms": rng.integers(1, 12, 5000)})
    model = TabPE(
        schema="private", estimate_columns="all", random_state=0, verbose=0, preset="paper"
    ).fit(table, ESTIMATED)
    assert len(model.schema_.label_cuts) == ESTIMATED["label_classes"] - 1
    assert f"{FEWEST_CLASSES} to {MOST_CLASSES} classes" in " ".join(TEXT.split())
    assert any("label cuts" in item.name for item in model.certificate.spends)


def test_small_classes():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    quick = partial(TabPE, preset="paper", n_samples=500, random_state=0, verbose=0)
    names = {"TabPE": quick, "patients": hospital_table(3000), "schema": hospital_schema()}
    exec(code, names)
    counts = Counter(names["model"].sample()["readmitted"].to_pylist())
    assert min(counts.values()) >= 200

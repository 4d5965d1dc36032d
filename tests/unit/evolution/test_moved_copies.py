"""Rows that were drawn several times are moved, and nothing else changes."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from tabpe import Boolean, Categorical, Float, Integer, Posterior, Schema, TabPE
from tabpe.encoding import Encoder
from tabpe.encoding.atoms import find_states

SCHEMA = Schema(
    (
        Float("gain", 0.0, 1000.0, special=(0.0,)),
        Float("spent", 0.0, 1000.0, nullable=True),
        Integer("age", 0, 99),
        Categorical("ward", ("a", "b")),
        Boolean("ill"),
    ),
    label="ill",
    rules=("spent <= gain + 500",),
)
PILED = Posterior(rounds=2, candidates=100, pool=600, last_sweeps=10, spikes=True)


def table(rows=3000):
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(rows) < 0.5, 0.0, rng.uniform(0, 1000, rows))
    spent = np.minimum(rng.uniform(0, 1000, rows), gain + 500)
    return pa.table(
        {
            "gain": gain,
            "spent": pa.array(spent, mask=rng.random(rows) < 0.2),
            "age": rng.integers(0, 100, rows),
            "ward": rng.choice(["a", "b"], rows),
            "ill": rng.random(rows) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def releases():
    """The same run with copies, and with copies moved."""
    models = []
    for moved in (False, True):
        preset = dataclasses.replace(PILED, move_copies=moved)
        noisy = {"epsilon": 4.0, "delta": 1e-5, "random_state": 0, "verbose": 0}
        model = TabPE(n_samples=3000, preset=preset, **noisy)
        models.append(model.fit(table(), SCHEMA).release_)
    return models


def share_of_copies(rows):
    both = np.column_stack([np.nan_to_num(rows.numbers, nan=-1.0), rows.codes])
    return 1 - len(np.unique(both, axis=0)) / len(both)


def test_copies_are_gone(releases):
    kept, moved = (share_of_copies(release.rows) for release in releases)
    assert kept > 0.5
    # Some remain: of rows with a zero and a null, and where a rule leaves no room.
    assert moved < 0.4 * kept


def test_categories_nulls_and_atoms_stay(releases):
    atoms = Encoder(SCHEMA).atoms
    for release in releases:
        states = find_states(release.rows.numbers, atoms)
        shares = [(states[:, 0] == 2).mean(), (states[:, 1] == 1).mean()]
        assert shares == pytest.approx([0.5, 0.2], abs=0.12)


def test_rules_hold_for_moved_rows(releases):
    found = releases[1].sample(3000)
    gain, spent = (found[name].to_numpy(zero_copy_only=False) for name in ("gain", "spent"))
    assert (np.isnan(spent) | (spent <= gain + 500 + 1e-6)).all()

"""Piles at values that are no public points are found, and named as they are written."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe import Boolean, Float, Integer, Posterior, Schema, TabPE
from tabpe.encoding import Encoder, Records
from tabpe.encoding.atoms import find_states
from tabpe.errors import ParameterError
from tabpe.evolution.adaptive_bins import adapt_bins
from tabpe.evolution.config import SEARCH
from tabpe.evolution.marginal_prior import NoisyMarginal, choose_bins
from tabpe.evolution.pile_search import LEVELS, find_piles

ROWS = 20_000
SCHEMA = Schema(
    (
        Float("detected", 0.0, 80.0),
        Integer("days", 0, 4000),
        Float("score", -5.0, 5.0, nullable=True),
        Float("pay", 0.0, 1e6, 2, scale="log"),
        Boolean("ill"),
    ),
    label="ill",
)


def table(share=0.4, rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    piled = rng.random((3, rows)) < share
    score = np.clip(rng.standard_normal(rows), -5, 5)
    return pa.table(
        {
            "detected": np.where(piled[0], 0.37, np.clip(np.exp(rng.normal(0, 1, rows)), 0, 80)),
            "days": np.where(piled[1], 1461, rng.integers(0, 4001, rows)),
            "score": pa.array(score, mask=rng.random(rows) < 0.1),
            "pay": np.where(piled[2], 5432.1, np.exp(rng.normal(8, 1, rows)).clip(0, 1e6)).round(2),
            "ill": rng.random(rows) < 0.4,
        }
    )


def search(found, sigma=60.0):
    """The bins and counts after a search, and how often it counted."""
    encoder, rng = Encoder(SCHEMA), np.random.default_rng(0)
    rows, classes = encoder.encode(found)
    asked = []

    def count(marginals):
        asked.append(len(marginals))
        counts = [np.bincount(m.find_cells(rows, classes), minlength=m.size) for m in marginals]
        return [
            NoisyMarginal(m, (c + rng.normal(0, sigma, m.size)).reshape(m.shape), sigma)
            for m, c in zip(marginals, counts, strict=True)
        ]

    bins = choose_bins(encoder, ROWS, 40.0, by_class=True, spikes=True)
    given = {"rows": ROWS, "even_mass": True}
    adapted = adapt_bins(bins, count(bins.overall), encoder.space, encoder.atoms, **given)
    counts = adapted.split_counts(count(adapted.second))
    asked.clear()
    limits = {"sigma": sigma, "rows": ROWS, "most": 4}
    return encoder, *find_piles(encoder, adapted.bins, counts, count, **limits), asked


def test_piles_are_found_and_named_as_they_are_written():
    encoder, bins, counts, asked = search(table())
    values = {"detected": 0.37, "days": 1461, "pay": 5432.1}
    for index, axis in enumerate(bins.fine[:4]):
        assert len(axis.atoms) == (axis.name in values)
        if axis.name in values:
            rows = Records(np.zeros((1, 4)), np.empty((1, 0), np.uint8))
            rows.numbers[0, index] = axis.atoms[0]
            assert encoder.decode(rows, np.zeros(1, np.int64))[axis.name][0].as_py() == (
                pytest.approx(values[axis.name], rel=1e-6)
            )
            assert counts[index][-1] == pytest.approx(0.4 * ROWS, rel=0.1)
        assert len(counts[index]) == len(bins.groups[index]) == axis.size
    assert len(asked) == LEVELS
    assert max(asked) <= 4


def test_cells_of_private_rows_are_at_the_values_that_were_found():
    encoder, bins, _, _ = search(table())
    rows, _ = encoder.encode(table())
    states = find_states(rows.numbers, tuple(axis.atoms for axis in bins.fine[:4]))
    assert (states == 2).mean(axis=0) == pytest.approx([0.4, 0.4, 0.0, 0.4], abs=0.02)


def test_without_a_pile_nothing_is_found():
    _, bins, _, _ = search(table(share=0.0))
    assert [axis.atoms for axis in bins.fine[:4]] == [()] * 4


def test_it_is_charged_for_and_finds_what_a_release_then_has():
    small = Posterior(
        rounds=2,
        candidates=200,
        pool=4000,
        last_sweeps=10,
        spikes=True,
        adaptive_bins=True,
        search=0.05,
    )
    model = TabPE(epsilon=3.0, delta=1e-5, n_samples=4000, preset=small, random_state=0, verbose=0)
    found = model.fit(table(), SCHEMA).sample()
    assert np.mean(found["detected"].to_numpy() == 0.37) == pytest.approx(0.4, abs=0.04)
    spends = {spend.name: spend.times for spend in model.certificate.spends}
    assert spends[SEARCH] == 4 * LEVELS
    assert model.certificate.epsilon <= 3.0


def test_it_needs_spikes_and_a_rest_of_the_budget():
    with pytest.raises(ParameterError, match="set spikes=True"):
        Posterior(search=0.02)
    with pytest.raises(ParameterError, match=r"search=0.6: all of the budget"):
        Posterior(spikes=True, search=0.6)
    assert SEARCH not in {part.name for part in Posterior(spikes=True).plan_queries(4, 2).first}
    assert SEARCH not in {
        part.name for part in Posterior(spikes=True, search=0.1).plan_queries(4, 2, 4).first
    }

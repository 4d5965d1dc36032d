"""Noise follows the discrete Gaussian, is independent, and never repeats."""

import random
import subprocess
import sys

import numpy as np
import pytest

from tabpe import Boolean, Evolution, Integer, Schema, TabPE
from tabpe.accounting import ExactNoise, FakeNoise, OpenDPNoise

SIGMAS = [0.6, 1.904, 14.0587]
each_sigma = pytest.mark.parametrize("sigma", SIGMAS)
each_source = pytest.mark.parametrize("source", [ExactNoise(), OpenDPNoise()])


def draw(fit, sigma, source=None):
    return (source or ExactNoise()).draw(fit.draws, sigma)


@each_source
@each_sigma
def test_noise_follows_the_discrete_gaussian(fit, sigma, source):
    assert fit.accepts(draw(fit, sigma, source), sigma)


@each_source
@each_sigma
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_scale_ten_percent_off_is_rejected(fit, sigma, factor, source):
    assert not fit.accepts(draw(fit, sigma * factor, source), sigma)


@each_sigma
def test_both_sources_draw_alike(fit, sigma):
    """Two samples are as good as one of half the size: so they are twice as large here."""
    ours, theirs = (kind().draw(2 * fit.draws, sigma) for kind in (ExactNoise, OpenDPNoise))
    assert fit.accepts_alike(ours, theirs, sigma)


@each_sigma
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_sources_ten_percent_apart_are_told_from_each_other(fit, sigma, factor):
    ours = ExactNoise().draw(2 * fit.draws, sigma)
    theirs = OpenDPNoise().draw(2 * fit.draws, sigma * factor)
    assert not fit.accepts_alike(ours, theirs, sigma)


@each_sigma
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_test_has_the_power_that_it_claims(fit, sigma, factor):
    assert fit.misses(sigma, truth=sigma * factor) < 1e-8
    assert fit.misses(sigma, truth=sigma) > 1 - 1e-7


def test_rounded_or_shifted_gaussians_are_rejected(fit):
    """A rounded continuous Gaussian is wider by 1/12 in variance, which shows at a small scale."""
    rng = np.random.default_rng(0)
    assert not fit.accepts(np.rint(rng.normal(0, 0.6, fit.draws)).astype(int), 0.6)
    assert not fit.accepts(draw(fit, 1.904) + 1, 1.904)


@each_source
def test_draws_of_one_call_are_independent(fit, uncorrelated, source):
    drawn = draw(fit, 14.0587, source)
    for lag in (1, 2, 3, 100):
        assert uncorrelated(drawn[:-lag], drawn[lag:])


@each_source
def test_consecutive_calls_are_independent(fit, uncorrelated, source):
    first, second = (source.draw(fit.draws, 14.0587) for _ in range(2))
    assert uncorrelated(first, second)
    assert uncorrelated(np.abs(first), np.abs(second))


def test_the_test_of_independence_sees_shared_noise(fit, uncorrelated):
    shared, own = FakeNoise(0).draw(fit.draws, 10.0), FakeNoise(1).draw(fit.draws, 10.0)
    assert not uncorrelated(shared, shared + 3 * own)
    assert uncorrelated(shared, own)


@each_source
def test_seeded_generators_do_not_seed_the_noise(source):
    draws = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        random.seed(0)
        draws.append(source.draw(20, 1000.0).tolist())
    assert draws[0] != draws[1]


def drawn_by_other_processes(code, times=1):
    script = "from tabpe.accounting import ExactNoise, OpenDPNoise\n" + code
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=600
        ).stdout
        for _ in range(times)
    ]
    return [line for output in outputs for line in output.splitlines()]


each_kind = pytest.mark.parametrize("kind", ["ExactNoise", "OpenDPNoise"])


@each_kind
def test_two_processes_never_share_noise(kind):
    lines = drawn_by_other_processes(f"print(*{kind}().draw(20, 1000.0))", times=2)
    assert len(set(lines)) == len(lines) == 2


@each_kind
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
def test_a_forked_process_does_not_repeat_the_noise_of_its_parent(kind):
    lines = drawn_by_other_processes(
        "import os\n"
        f"source = {kind}()\n"
        "source.draw(20, 1000.0)\n"
        "child = os.fork()\n"
        "print(*source.draw(20, 1000.0), flush=True)\n"
        "child and os.waitpid(child, 0)"
    )
    assert len(set(lines)) == len(lines) == 2


@pytest.fixture(scope="module", params=["exact", "opendp"])
def histories(request):
    """Three runs with the same seed on the same table."""
    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
    rng = np.random.default_rng(0)
    table = {"age": rng.integers(0, 101, 400), "ill": rng.random(400) < 0.3}
    model = TabPE(
        epsilon=1,
        delta=1e-6,
        n_samples=40,
        public_rows=400,
        preset=Evolution(rounds=10),
        noise=request.param,
        random_state=0,
    )
    return [model.fit(frame(table), schema).history_ for _ in range(3)]


def frame(columns):
    import pyarrow as pa

    return pa.table(columns)


@pytest.mark.parametrize("key", ["noisy_votes_total", "noisy_votes_largest"])
def test_the_same_seed_gives_different_noise(histories, key):
    totals = [tuple(entry[key] for entry in history) for history in histories]
    assert len(set(totals)) == 3


def test_the_same_seed_gives_the_same_public_schedule(histories):
    public = [[(e["mutation_rate"], e["sigma"], e["population"]) for e in h] for h in histories]
    assert public[0] == public[1] == public[2]

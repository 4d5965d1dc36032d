"""The audit refutes what is broken and spares what is not, at a small, a usual and a large epsilon.

Correct code is accused with probability at most `ALARM` a finding, and there are fewer than 20
tests of correct code here with up to 8 findings each. Each broken system is missed less often than
once in a million runs: what is shown is at least 5 standard errors above the claim.
"""

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tabpe.accounting import calibrate_sigma
from tabpe.audit import AuditEffort
from tabpe.audit.attacks import (
    FITTED,
    BoundaryCanaries,
    MarginalChannel,
    MembershipGame,
    ScatteredCanaries,
    VoteChannel,
)
from tabpe.audit.bounds import AttackErrors, compute_bound_by_gaussian_errors
from tabpe.audit.report import PrivacyClaim
from tabpe.audit.systems import BROKEN, BROKEN_CHARGES, BROKEN_FOR_USERS, SHIPPED

SYSTEMS = {system.name: system for system in (*BROKEN, *BROKEN_CHARGES, *BROKEN_FOR_USERS)}
EPSILONS = (1.0, 4.0, 10.0)
FIGURES = Path(__file__).parents[2] / "lab" / "benchmarks" / "results" / "audit.json"
each_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)


def refuting(findings):
    return {finding.test.split(": ")[1] for finding in findings if not finding.holds}


@each_epsilon
def test_the_votes_keep_the_guarantee_and_use_most_of_it(epsilon):
    findings = VoteChannel().audit(SHIPPED, PrivacyClaim(epsilon, 1e-5), "votes")
    assert refuting(findings) == set()
    assert findings[1].epsilon > 0.5 * epsilon


NOTICED = {
    "votes twice": "Gaussian DP",
    "sigma / sqrt 2": "Gaussian DP",
    "reused noise": "noise over rounds",
    "seeded noise": "noise over runs",
    "no noise": "Gaussian DP",
}


@each_epsilon
@pytest.mark.parametrize("name", NOTICED)
def test_what_is_broken_shows_in_the_votes(name, epsilon):
    findings = VoteChannel().audit(SYSTEMS[name], PrivacyClaim(epsilon, 1e-5), "votes")
    assert NOTICED[name] in refuting(findings)


SEVERAL = {
    "votes twice": "Gaussian DP",
    "sigma / sqrt 2": "Gaussian DP",
    "reused noise": "noise over",
    "seeded noise": "noise over runs",
    "no noise": "Gaussian DP",
    "many for the price of one": "Gaussian DP",
}


# At a small epsilon it takes the whole effort to be sure; at larger ones a quarter is enough.
LESS = AuditEffort(
    soft_channel=VoteChannel(2**18, 4, votes_per_row=4, repeats=2), columns=MarginalChannel(2**16)
)


def several(test, system, epsilon):
    """What several votes of a row, or several tables, show at an epsilon."""
    effort = AuditEffort() if epsilon == min(EPSILONS) else LESS
    return getattr(effort, test).audit(system, PrivacyClaim(epsilon, 1e-5), test)


@each_epsilon
@pytest.mark.parametrize("test", ["soft_channel", "columns"])
def test_several_histograms_keep_the_guarantee_and_use_much_of_it(test, epsilon):
    findings = several(test, SHIPPED, epsilon)
    assert refuting(findings) == set()
    assert findings[1].epsilon > 0.3 * epsilon


@each_epsilon
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("test", ["soft_channel", "columns"])
def test_what_is_broken_shows_in_several_votes_and_in_tables(test, name, epsilon):
    findings = several(test, SYSTEMS[name], epsilon)
    assert any(SEVERAL[name] in found for found in refuting(findings))


@each_epsilon
def test_the_votes_of_users_keep_the_guarantee_and_a_vote_for_each_row_does_not(epsilon):
    channel, claim = AuditEffort().user_channel, PrivacyClaim(epsilon, 1e-5)
    assert refuting(channel.audit(SHIPPED, claim, "users")) == set()
    broken = channel.audit(SYSTEMS["a vote for each row of a user"], claim, "users")
    assert "Gaussian DP" in refuting(broken)


def test_noise_that_repeats_is_seen_by_the_test_of_repetition_alone():
    """The sum over rounds even falls for it: that is why there is another test."""
    for name in ("reused noise", "seeded noise"):
        findings = VoteChannel().audit(SYSTEMS[name], PrivacyClaim(1.0, 1e-5), "votes")
        assert refuting(findings) == {NOTICED[name]}


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_bounds_from_the_data_are_noticed(epsilon):
    """It takes hundreds of thousands of guesses at epsilon 10, as `benchmarks/audit.py` makes."""
    claim = PrivacyClaim(epsilon, 1e-5)
    assert refuting(BoundaryCanaries().audit(SYSTEMS["bounds from data"], claim)) == {"bounds"}
    assert refuting(BoundaryCanaries().audit(SHIPPED, claim)) == set()


each_game = pytest.mark.parametrize(
    "game", [MembershipGame, functools.partial(MembershipGame, config=FITTED)]
)


@each_game
@pytest.mark.parametrize("name", ["reused noise", "seeded noise"])
def test_noise_that_repeats_shows_in_whole_runs(name, game):
    findings = game(60).audit(SYSTEMS[name], PrivacyClaim(1.0, 1e-5))
    assert NOTICED[name] in refuting(findings)


@each_game
def test_whole_runs_as_shipped_are_spared(game):
    assert refuting(game(60).audit(SHIPPED, PrivacyClaim(1.0, 1e-5))) == set()


@each_game
def test_whole_runs_without_noise_are_told_apart(game):
    claim = PrivacyClaim(1.0, 1e-5)
    findings = game(100).audit(SYSTEMS["no noise"], claim)
    assert {"Clopper-Pearson", "Gaussian DP"} <= refuting(findings)


def test_synthetic_rows_that_sit_on_private_ones_are_noticed():
    claim = PrivacyClaim(1.0, 1e-5)
    assert refuting(ScatteredCanaries().audit(SYSTEMS["no noise"], claim)) == {"places"}
    assert refuting(ScatteredCanaries().audit(SHIPPED, claim)) == set()


def discrete_errors(epsilon, rounds, samples):
    """The errors of each threshold on sums of discrete noise, better than average by 5.4 sigma.

    Half of that luck in either rate is the likeliest way to it.
    """
    sigma = calibrate_sigma(epsilon, 1e-5, rounds)
    places = np.arange(-int(13 * sigma) - 2, int(13 * sigma) + 3)
    once = np.exp(-(places**2) / (2 * sigma**2))
    total = functools.reduce(np.convolve, [once / once.sum()] * rounds)
    sums = rounds * places[0] + np.arange(len(total))
    for threshold in range(-2 * rounds, 3 * rounds):
        rates = total[sums >= threshold].sum(), total[sums + rounds < threshold].sum()
        lucky = [
            max(0, round(samples * rate - 5.4 * math.sqrt(samples * rate * (1 - rate) / 2)))
            for rate in rates
        ]
        yield AttackErrors(lucky[0], samples, lucky[1], samples)


HISTOGRAMS = {
    "channel": lambda test: test.histograms,
    "opendp_channel": lambda test: test.histograms,
    "soft_channel": lambda test: test.histograms,
    "columns": lambda test: test.tables,
    "game": lambda test: test.config.rounds,
}


@pytest.mark.parametrize("test", HISTOGRAMS)
@pytest.mark.parametrize("epsilon", [*EPSILONS, 7.0, 15.0, 20.0])
def test_noise_is_not_accused_of_being_discrete(test, epsilon):
    chosen = getattr(AuditEffort(), test)
    samples = chosen.runs if test == "game" else chosen.samples // 2
    for errors in discrete_errors(epsilon, HISTOGRAMS[test](chosen), 3 * samples // 4):
        assert compute_bound_by_gaussian_errors(errors, 1e-5) <= epsilon


@each_epsilon
def test_the_committed_figures_show_the_same(epsilon):
    (found,) = (r for r in json.loads(FIGURES.read_text())["results"] if r["epsilon"] == epsilon)
    assert found["shipped"]["holds"]
    assert {report["system"] for report in found["broken"]} == set(SYSTEMS)
    assert not any(report["holds"] for report in found["broken"])

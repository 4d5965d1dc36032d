"""What a report says, to people and to machines."""

import json

import pytest

from tabpe.audit import (
    AuditReport,
    EpsilonLowerBound,
    NeighborDistance,
    NoiseRepetition,
    PrivacyClaim,
)

CLAIM = PrivacyClaim(10.0, 1e-5)
UNDER = EpsilonLowerBound(
    "votes, opendp: Gaussian DP", CLAIM, epsilon=9.5, visible=47.0, samples=262_144
)
BLIND = EpsilonLowerBound(
    "many runs: Clopper-Pearson", CLAIM, epsilon=1.5, visible=2.1, samples=400
)
ABOVE = EpsilonLowerBound(
    "votes, table: Gaussian DP", CLAIM, epsilon=10.5, visible=47.0, samples=65_536
)
APART = NoiseRepetition("votes, opendp: noise over rounds", p_value=0.3, samples=65_536)
ALIKE = NoiseRepetition("votes, table: noise over runs", p_value=1e-9, samples=65_536)


def report(*findings):
    return AuditReport("as shipped", CLAIM, findings)


def test_a_guarantee_holds_if_nothing_refutes_it():
    assert report(UNDER, BLIND, APART).holds
    assert "nothing refutes it" in str(report(UNDER, BLIND, APART))


@pytest.mark.parametrize("bad", [ABOVE, ALIKE])
def test_one_finding_refutes_it(bad):
    found = report(UNDER, APART, bad)
    assert not found.holds
    assert found.refuting == (bad.test,)
    assert "REFUTED" in str(found)


def test_exactly_the_claim_is_no_refutation():
    assert EpsilonLowerBound("x", CLAIM, epsilon=10.0, visible=47.0, samples=1).holds


def test_an_attack_that_could_not_have_refuted_the_guarantee_says_so():
    lines = str(report(UNDER, BLIND)).splitlines()
    assert [line.endswith("out of sight") for line in lines if "votes" in line] == [False]
    assert any(line.endswith("out of sight") for line in lines if "many runs" in line)


def test_it_fits_a_terminal_and_says_what_it_can_not_do():
    text = str(report(UNDER, BLIND, ABOVE, APART, ALIKE))
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "never prove it" in " ".join(text.split())


def test_its_json_holds_every_number():
    found = json.loads(report(ABOVE, APART).to_json())
    assert found["claim"] == {"epsilon": 10.0, "delta": 1e-5}
    assert found["holds"] is False
    first, second = found["findings"]
    assert (first["epsilon"], first["visible"], first["holds"]) == (10.5, 47.0, False)
    assert (second["p_value"], second["holds"]) == (0.3, True)


def test_a_distance_of_more_than_one_refutes():
    fine, far = (NeighborDistance("storage: one row more", moved, 9) for moved in (1.0, 1.5))
    report = AuditReport("as shipped", CLAIM, (fine, far))
    assert report.refuting == ("storage: one row more",)
    assert "COUNTS MORE THAN ONE" in str(report)
    assert report.to_dict()["findings"][1]["moved"] == 1.5

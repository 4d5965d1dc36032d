"""The audit as a whole: what it takes and what it covers; its power is a statistical test."""

import numpy as np
import pytest

from tabpe.accounting import ExactNoise, FakeNoise
from tabpe.accounting.neighboring import FIXED_POINT
from tabpe.audit import AuditEffort, audit, audit_broken, storage_forms
from tabpe.audit.attacks import (
    FITTED,
    LINE_LENGTH,
    BoundaryCanaries,
    MarginalChannel,
    MembershipGame,
    ScatteredCanaries,
    VoteChannel,
)
from tabpe.audit.bounds import ALARM, SCORES_ALARM
from tabpe.audit.report import NeighborDistance, PrivacyClaim
from tabpe.audit.storage_forms import StorageAudit
from tabpe.audit.systems import (
    BROKEN,
    BROKEN_CHARGES,
    BROKEN_FOR_USERS,
    BROKEN_IN_STORAGE,
    SHIPPED,
    AuditedSystem,
    NarrowNoise,
    ReusedNoise,
)
from tabpe.errors import ParameterError
from tabpe.evolution import Evolution
from tabpe.io import open_table

FEW = AuditEffort(
    VoteChannel(2**10, 3),
    VoteChannel(2**6, 2),
    VoteChannel(2**8, 4, rows_a_user=4),
    MembershipGame(8),
    ScatteredCanaries(20),
    BoundaryCanaries(5, 10),
    VoteChannel(2**8, 2, votes_per_row=4, repeats=2),
    MarginalChannel(2**6, 3),
    MembershipGame(8, FITTED, "runs of best"),
    StorageAudit(1, 20),
)


def test_every_installed_source_of_noise_and_the_whole_pipeline_are_attacked():
    names = []
    report = audit(epsilon=2.0, delta=1e-6, effort=FEW, on_test=names.append)
    attacked = {finding.test.split(":")[0] for finding in report.findings}
    votes = {"votes", "votes, opendp", "votes of users"}
    several = {"several votes", "tables"}
    assert attacked == {*votes, *several, "many runs", "runs of best", "canaries", "storage"}
    assert len(names) == 10
    assert report.claim == PrivacyClaim(2.0, 1e-6)
    assert all(f.claim.epsilon == 2.0 for f in report.findings if hasattr(f, "claim"))


def test_opendp_is_attacked_only_where_it_is_installed(monkeypatch):
    monkeypatch.setattr("tabpe.audit.run.has_opendp_extra", lambda: False)
    names = []
    assert audit(epsilon=2.0, effort=FEW, on_test=names.append).holds
    assert "votes" in names
    assert "votes, opendp" not in names


def test_every_broken_system_goes_through_the_same_tests():
    reports = audit_broken(epsilon=2.0, effort=FEW)
    broken = (*BROKEN, *BROKEN_CHARGES, *BROKEN_IN_STORAGE, *BROKEN_FOR_USERS)
    assert [report.system for report in reports] == [system.name for system in broken]
    assert [len(report.findings) for report in reports] == [22] * len(BROKEN) + [8, 2, 4]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 0.001, 21.0, float("nan"), "one"])
def test_an_epsilon_beyond_what_can_be_audited_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon"):
        audit(epsilon=epsilon, effort=FEW)


def test_what_is_shipped_is_not_replaced():
    """The defaults of a system are the shipped parts themselves."""
    backend, table, schema = object(), object(), object()
    assert SHIPPED.noise is ExactNoise
    assert SHIPPED.backend(backend) is backend
    assert SHIPPED.table(table) is table
    assert SHIPPED.users(table) is table
    assert SHIPPED.charged(4) == 4
    assert SHIPPED.schema(schema, table) is schema


def test_releases_of_broken_noise_are_stamped():
    import pyarrow as pa

    from tabpe import Integer, Schema

    schema, table = Schema((Integer("age", 0, 9),)), pa.table({"age": [1, 2, 3]})
    for noise in (NarrowNoise, ReusedNoise):
        broken = AuditedSystem("x", noise=noise)
        model = broken.release(table, schema, PrivacyClaim(1.0, 1e-5), Evolution(rounds=1), 1)
        assert "NOT PRIVATE" in str(model.certificate)


def test_each_broken_source_of_noise_is_broken_as_it_says():
    narrow = NarrowNoise().draw(20_000, 10.0)
    assert abs(narrow.std() - 10 / np.sqrt(2)) < 0.3
    reused = ReusedNoise()
    assert (reused.draw(50, 10.0) == reused.draw(50, 10.0)).all()
    assert (reused.draw(50, 10.0) != ReusedNoise().draw(50, 10.0)).any()


def test_a_channel_without_noise_returns_who_is_there():
    """One vote in every round for each canary, and none elsewhere; through an account."""
    channel, silent = (
        VoteChannel(2**8, 3),
        AuditedSystem("silent", noise=lambda: FakeNoise(strength=0)),
    )
    occupied = np.arange(2**8) % 3 == 0
    votes = channel._measure_votes(silent, 5.0, occupied, 3)
    assert (votes == occupied).all()


def test_a_channel_of_users_returns_who_is_there_in_all_classes():
    """Four rows on four lines weigh a half each; without noise the sum over them is two."""
    channel = VoteChannel(4 * LINE_LENGTH, 3, rows_a_user=4)
    silent = AuditedSystem("silent", noise=lambda: FakeNoise(strength=0))
    occupied = np.arange(LINE_LENGTH) % 3 == 0
    votes = channel._measure_votes(silent, 5.0, occupied, 3)
    assert (votes == 2 * FIXED_POINT * occupied).all()


@pytest.mark.parametrize("users", [None, 2])
def test_a_channel_of_several_votes_returns_who_is_there(users):
    """Four candidates of a place are voted for, and each histogram is asked for three times."""
    channel = VoteChannel(2 * LINE_LENGTH, 2, users, votes_per_row=4, repeats=3)
    silent = AuditedSystem("silent", noise=lambda: FakeNoise(strength=0))
    occupied = np.arange(channel.samples) % 3 == 0
    votes = channel._measure_votes(silent, 5.0, occupied, 2)
    weight = 1 if users is None else 2 * int(FIXED_POINT / np.sqrt(2))
    assert (votes == 4 * 3 * weight * occupied).all()


def test_columns_without_noise_return_who_is_there():
    silent, occupied = (
        AuditedSystem("silent", noise=lambda: FakeNoise(strength=0)),
        np.arange(60) % 3 == 0,
    )
    assert (MarginalChannel(60, 4)._measure_counts(silent, 5.0, occupied) == occupied).all()
    assert MarginalChannel(60, 4)._measure_counts(silent, 5.0, occupied).shape == (4, 60)


def test_the_chances_of_false_alarms_add_up_to_less_than_one_in_a_million():
    findings = audit(effort=FEW).findings
    tests = [
        f.test for f in findings if not isinstance(f, NeighborDistance)
    ]  # these rest on no chance
    alarms = [ALARM if test.startswith("canaries") else SCORES_ALARM for test in tests]
    assert len(tests) == 30
    assert sum(alarms) < 1e-6


def test_wrong_guesses_end_the_search_at_the_bounds_at_once():
    finding = BoundaryCanaries(columns=50).audit(SHIPPED, PrivacyClaim(6.0, 1e-5))[0]
    assert finding.samples == 100
    assert finding.visible > 6.0 > finding.epsilon == 0.0


def test_few_places_show_little():
    finding = ScatteredCanaries(20).audit(SHIPPED, PrivacyClaim(1.0, 1e-5))[0]
    assert finding.holds
    assert finding.claim.delta < 1e-11


def test_storage_forms_show_nothing_of_what_is_shipped_and_all_of_what_is_broken():
    assert [finding.moved for finding in StorageAudit(2, 40).audit(SHIPPED)] == [1.0, 1.0]
    (broken,) = BROKEN_IN_STORAGE
    assert max(finding.moved for finding in StorageAudit(2, 40).audit(broken)) > 2


def test_every_storage_form_holds_every_odd_cell(tmp_path):
    """Each as it is: read again, it is one row more of the same columns."""
    table = storage_forms._draw_table(np.random.default_rng(0), 5)
    for form in storage_forms._list_forms():
        for name, cell in storage_forms.ODD:
            data = form(storage_forms._add_user_rows(table, 1, name, cell), tmp_path)
            rows, _ = open_table(data)
            assert rows.num_rows == 6
            assert set(rows.column_names) == set(table)

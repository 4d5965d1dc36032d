"""`TabPE`: the certificate and the history."""

import dataclasses
import json
import math

import pytest

from facade import (
    NOISY_DELTA,
    SCHEMA,
    fake_fit,
    fitted,
)
from tabpe import Certificate, Schema, TabPE
from tabpe.accounting import ExactNoise, OpenDPNoise
from tabpe.accounting.zcdp_filter import GAUSSIAN_DP
from tabpe.errors import NotPrivateWarning
from tabpe.schema import Source
from tabpe.verification.verify import verify_plain

HISTORY = {
    "round",
    "selection",
    "mutation_rate",
    "sigma",
    "population",
    "noisy_votes_total",
    "noisy_votes_largest",
}


def test_the_history_has_only_public_and_noisy_quantities(table):
    model = fitted(table)
    assert [set(entry) for entry in model.history_] == [HISTORY] * 3
    assert {entry["sigma"] for entry in model.history_} == {model.certificate.spends[-1].sigma}
    json.dumps(model.history_)


def test_a_reader_of_the_history_can_not_change_it(table):
    model = fitted(table)
    model.history_[0]["sigma"] = 0
    assert model.history_[0]["sigma"] > 0


def test_the_certificate_survives_json(table):
    certificate = fitted(table).certificate
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate


@pytest.mark.parametrize(
    "changes",
    [
        {},
        NOISY_DELTA,
        {"public_rows": 400, "public_shares": {False: 0.5, True: 0.5}},
        {"adjacency": "replace-one"},
    ],
)
def test_the_certificate_fits_a_terminal(table, changes):
    assert max(map(len, str(fitted(table, **changes).certificate).splitlines())) <= 80


def test_the_certificate_tells_how_the_rows_were_made(table):
    plain = fitted(table).certificate.to_dict()
    assert plain["schema_digest"] == SCHEMA.digest
    assert plain["configuration"]["strategy"] == "evolution"
    assert plain["configuration"]["n_samples"] == 30
    assert plain["configuration"]["rounds"] == 3
    assert plain["requested_epsilon"] == 50
    assert "noise takes no seed" in plain["seed_policy"]
    assert {"tabpe", "dp-accounting", "numpy", "python"} == set(plain["versions"])


@pytest.mark.parametrize("epsilon", [1.0, 1 / 3, math.pi])
def test_the_certified_epsilon_is_at_most_the_request(table, epsilon):
    certificate = fitted(table, epsilon=epsilon, public_rows=400).certificate
    assert 0.99 * epsilon <= certificate.epsilon <= epsilon == certificate.requested_epsilon


@pytest.mark.parametrize(
    ("changes", "adaptive"), [({}, False), ({"public_rows": 400}, False), (NOISY_DELTA, True)]
)
def test_the_certificate_says_whether_noise_follows_answers(table, changes, adaptive):
    certificate = fitted(table, **changes).certificate
    assert certificate.adaptive is adaptive
    assert certificate.filter == (GAUSSIAN_DP if adaptive else None)
    assert verify_plain(certificate.to_dict()).holds


def test_exact_noise_takes_nothing_of_delta(table):
    certificate = fitted(table).certificate
    assert certificate.sampling_delta == 0
    assert certificate.noise == ExactNoise.name


def test_noise_of_opendp_is_named_with_its_version(table):
    certificate = fitted(table, noise="opendp").certificate
    assert certificate.noise == OpenDPNoise.name
    assert "opendp" in certificate.versions
    assert verify_plain(certificate.to_dict()).holds


def test_fake_noise_is_stamped_wherever_the_certificate_goes(table, tmp_path):
    model = fake_fit(table)
    model.save(tmp_path / "fake.tabpe")
    for certificate in (model.certificate, TabPE.load(tmp_path / "fake.tabpe").certificate):
        assert "NOT PRIVATE" in str(certificate)
        assert "NOT PRIVATE" in certificate.to_json()
        assert not certificate.private


def test_real_noise_is_not_stamped(table):
    certificate = fitted(table).certificate
    assert certificate.private
    assert "NOT PRIVATE" not in str(certificate) + certificate.to_json()


def test_a_schema_from_the_data_is_loud(table):
    drafted = Schema(
        tuple(dataclasses.replace(column, source=Source.DATA) for column in SCHEMA.columns),
        label="ill",
    )
    with pytest.warns(NotPrivateWarning, match="read off the data"):
        certificate = fitted(table, drafted).certificate
    assert {"age.min", "age.max", "ward.values"} <= set(certificate.fields_from_data)
    assert "age.min" in str(certificate)
    assert certificate.status != "private"

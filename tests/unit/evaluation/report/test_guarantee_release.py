"""Whether a report may say that it may be released, and what keeps it from that."""

import dataclasses

import pytest

import contents as made
from certificates import DRAFTED, honest
from tabpe.evaluation.report.guarantee import list_doubts, list_failures, list_fields_from_data
from tabpe.verification.verify import FAILED, OK, Check

FAKE = honest(private=False)


def test_a_public_report_whose_ground_was_looked_at_has_no_doubts():
    assert list_doubts(made.public()) == ()
    assert list_doubts(made.public(private_measures=None, columns=())) == ()


def test_one_of_the_custodian_may_never_be_released():
    known = made.custodian(verification=made.verified())
    assert list_doubts(known) == ("it holds statistics of the real rows that are not private",)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"certificate": None}, "certificate"),
        ({"certificate": FAKE}, "synthetic rows were made with fake noise"),
        ({"verification": None}, "not compared"),
        ({"verification": made.verified(Check("table", FAILED, "x"))}, "does not hold"),
        (
            {
                "private_measures": dataclasses.replace(
                    made.public().private_measures, certificate=FAKE
                )
            },
            "measures were made with fake noise",
        ),
        ({"fields_from_data": ("age.min",)}, "read from the data"),
    ],
    ids=["none", "fake", "not checked", "wrong", "fake measures", "read off"],
)
def test_each_doubt_is_listed_by_itself(changes, words):
    (only,) = list_doubts(made.public(**changes))
    assert words in only


def test_only_failed_checks_are_listed():
    checks = made.verified(Check("table", OK, "fine"), Check("epsilon", FAILED, "it is more"))
    assert list_failures(made.public(verification=checks)) == ("it is more",)
    assert list_failures(made.public()) == ()


def test_fields_of_all_schemas_are_listed_once():
    drafted = honest(schema=DRAFTED)
    measures = dataclasses.replace(made.public().private_measures, certificate=drafted)
    contents = made.public(
        certificate=drafted, private_measures=measures, fields_from_data=("bmi.min",)
    )
    assert list_fields_from_data(contents) == ("age.min", "age.max", "bmi.min")

"""Values as text."""

import math

import pytest

from tabpe.evaluation.report import text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (0.0, "0"),
        (1, "1"),
        (48_842, "48,842"),
        (1234.5678, "1,235"),
        (-1234.5678, "-1,235"),
        (0.123456, "0.123"),
        (99.96, "100"),
        (1.5e-5, "1.5e-5"),
        (1e-12, "1e-12"),
        (1e300, "1e+300"),
        (10**20, "100,000,000,000,000,000,000"),
        (math.inf, "inf"),
        (math.nan, "\u2013"),
        (None, "\u2013"),
    ],
)
def test_a_number_has_three_digits_that_matter(value, expected):
    assert text.format_number(value) == expected


@pytest.mark.parametrize(
    "form",
    [text.format_percent, text.format_two_decimals, text.format_three_decimals, text.format_number],
)
@pytest.mark.parametrize("absent", [None, math.nan])
def test_what_is_not_there_is_a_dash(form, absent):
    assert form(absent) == "\u2013"


@pytest.mark.parametrize(
    "kept", ["plain", "caf\u00e9", "\u05e9\u05dc\u05d5\u05dd", "\u65e5\u672c", "<b>"]
)
def test_what_can_be_seen_is_left_alone(kept):
    assert text.clean_text(kept) == kept


def test_joiners_of_emoji_and_scripts_are_left_alone():
    family = "\U0001f469\u200d\u2695\ufe0f"
    assert text.clean_text(family) == family


@pytest.mark.parametrize(
    "hidden",
    [
        "\x00",
        "\x1b",
        "\x7f",
        "\x85",
        "\n",
        "\u200b",
        "\u2028",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\ud800",
    ],
)
def test_what_can_not_be_seen_is_made_visible(hidden):
    shown = text.clean_text(f"a{hidden}b")
    assert hidden not in shown
    assert shown not in {"ab", text.clean_text("ab")}
    assert shown.isprintable()
    shown.encode()


def test_markup_stays_and_everything_else_becomes_text():
    from markupsafe import Markup

    assert text.format_value(Markup("<b>")) == Markup("<b>")
    assert text.format_value(True) == "True"
    assert text.format_value(["<b>\x00"]) == "['<b>\\x00']"


def test_epsilon_is_never_rounded_down():
    assert text.format_rounded_up(1.00001) == "1.001"

"""Settings and presets."""

import dataclasses
import math

import pytest

from tabpe.errors import ParameterError
from tabpe.evolve import PRESETS, Evolution, strategy_of


def test_the_default_is_the_paper():
    assert Evolution() == PRESETS["paper"] == strategy_of("paper")


def test_the_paper_preset_has_the_defaults_of_the_paper():
    paper = PRESETS["paper"]
    assert (paper.rounds, paper.sampling_rounds, paper.variations) == (15, 5, 3)
    assert (paper.mutation_init, paper.mutation_final, paper.gamma) == (0.5, 0.02, 0.2)
    assert paper.category_weight == pytest.approx(1 / 3)


def test_the_reference_preset_is_the_published_code():
    reference = PRESETS["reference"]
    assert (reference.rounds, reference.sampling_rounds, reference.horizon) == (14, 4, 15)
    assert reference.mutation_final == 0.01
    assert reference.category_weight == pytest.approx(2 * (1 / 3) ** 2)
    assert reference.step == "uniform"


def test_settings_stay_as_they_are():
    own = Evolution(rounds=3)
    assert strategy_of(own) is own


@pytest.mark.parametrize("preset", ["papr", "", None, 3, {"rounds": 3}])
def test_an_unknown_preset_is_refused(preset):
    with pytest.raises(ParameterError, match="preset="):
        strategy_of(preset)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", 0),
        ("rounds", 2.0),
        ("rounds", True),
        ("sampling_rounds", -1),
        ("variations", 0),
        ("mutation_init", 1.1),
        ("mutation_init", math.nan),
        ("mutation_final", -0.1),
        ("gamma", 0),
        ("gamma", math.inf),
        ("schedule", "cosine"),
        ("horizon", 14),
        ("category_weight", 0),
        ("category_weight", math.nan),
        ("step", "cauchy"),
        ("operator", "walk"),
        ("selection", "both"),
    ],
)
def test_a_setting_outside_its_range_is_refused_by_name(name, value):
    with pytest.raises(ParameterError, match=f"{name}="):
        Evolution(**{name: value})


def test_settings_can_not_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PRESETS["paper"].rounds = 3

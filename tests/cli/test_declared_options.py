"""The options of `tabpe synth` are those that `TabPE` declares."""

import inspect

import pytest

from tabpe import Adjacency, TabPE
from tabpe.cli.synth import synth as command
from tabpe.evolution import PRESETS
from tabpe.synthesizers.options import NOISES, list_options

DECLARED = {one.name: one for one in list_options(TabPE)}
WITH_FLAGS = [one for one in DECLARED.values() if one.option.flags]


def test_every_parameter_is_declared():
    assert list(DECLARED) == list(inspect.signature(TabPE).parameters)


@pytest.mark.parametrize("one", WITH_FLAGS, ids=lambda one: one.name)
def test_a_declared_option_is_an_option_of_the_command(one):
    shown = inspect.signature(command).parameters[one.name].default
    assert shown.param_decls == one.option.flags
    assert shown.default == one.plain_default
    assert shown.rich_help_panel == one.option.group


def test_no_flag_is_taken_twice():
    flags = [flag for one in WITH_FLAGS for flag in one.option.flags]
    for parameter in inspect.signature(command).parameters.values():
        for info in getattr(parameter.annotation, "__metadata__", ()):
            flags += [info.default, *(info.param_decls or ())]
    named = [flag for flag in flags if isinstance(flag, str) and flag.startswith("-")]
    assert "--output" in named
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("preset", list(PRESETS)),
        ("noise", list(NOISES)),
        ("adjacency", [member.value for member in Adjacency]),
        ("engine", ["local", "stream", "auto", "ray", "spark"]),
    ],
)
def test_choices_are_named(name, choices):
    option = DECLARED[name].option
    for choice in choices:
        assert f"`{choice}`" in option.help
        assert f"'{choice}'" in option.brief


def test_flags_reach_the_model(synth, folder, monkeypatch):
    given = {}

    def fit(model, *_):
        given.update(model.get_params())
        raise KeyboardInterrupt

    monkeypatch.setattr(TabPE, "fit", fit)
    words = ("--label", "ward", "--class-share", "a=0.25", "--class-share", "b=0.75", "--seed", 7)
    synth(*words, "--no-spill", "--evolve", 30, "-j", 2, "--drop", "age", "-q")
    assert given["label"] == ["ward"]
    assert given["public_shares"] == {"a": 0.25, "b": 0.75}
    assert (given["random_state"], given["n_jobs"], given["n_samples"]) == (7, 2, 30)
    assert (given["spill"], given["drop"], given["verbose"]) == (False, ["age"], 0)
    left_out = ("epsilon", "preset", "noise", "engine", "class_budget", "unit", "ledger")
    assert {name: given[name] for name in left_out} == {
        name: DECLARED[name].default for name in left_out
    }


def test_rows_are_generated_as_many_as_are_written_if_nothing_else_is_said(
    synth, folder, monkeypatch
):
    given = []
    monkeypatch.setattr(TabPE, "fit", lambda model, *_: given.append(model.n_samples))
    synth("--rows", 50)
    synth()
    assert given == [50, 40]

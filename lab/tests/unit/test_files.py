"""Experiment files: what they say, and what they are refused for."""

from pathlib import Path

import pytest

from tabpe.errors import ParameterError
from tabpe_lab.exhibits import parse_experiment, read_suite
from tabpe_lab.experiment import RunLimits
from tabpe_lab.records import get_results_path

WHOLE = """\
name: small
title: A small one
paper: Table 1
data: [hospital, {xor: {features: [2, 3]}}]
methods:
  - real
  - tabpe: {as: Tab-PE, rounds: [5, 10], n_samples: {xor: 100, others: 50}, on: [xor]}
epsilons: [1, 3.5]
seeds: 2
metrics: [accuracy, 3-wd]
limits: {seconds: 10}
evaluate: {learners: [extra trees], rows: 100}
split: seed
tables: [{name: main}]
variants:
  full: {}
  quick: {seeds: [7], epsilons: [1.0]}
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="small.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def only(suite):
    (experiment,) = suite.experiments
    return experiment


def test_an_experiment_may_be_filed_in_a_folder(write):
    found = only(read_suite(write(WHOLE.replace("name: small", "name: more/small"))))
    assert get_results_path(found.name, "full", Path("results")) == Path(
        "results/more/small.full.jsonl"
    )


def test_a_file_is_read_as_it_is_meant(write):
    found = only(read_suite(write(WHOLE)))
    assert (found.name, found.variant, found.paper) == ("small", "full", "Table 1")
    assert [(data.name, data.options) for data in found.data] == [
        ("hospital", {}),
        ("xor", {"features": [2, 3]}),
    ]
    tabpe = found.methods[1]
    assert (tabpe.name, tabpe.called, tabpe.on) == ("tabpe", "Tab-PE", ("xor",))
    assert tabpe.settings == {"rounds": [5, 10], "n_samples": {"xor": 100, "others": 50}}
    assert (found.epsilons, found.seeds) == ((1.0, 3.5), (0, 1))
    assert found.limits == RunLimits(seconds=10, gigabytes=8)
    assert (found.evaluate.learners, found.evaluate.rows) == (("extra trees",), 100)
    assert found.tables == ({"name": "main"},)


def test_a_variant_replaces_whole_keys_and_leaves_the_others(write):
    found = only(read_suite(write(WHOLE), "quick"))
    assert (found.variant, found.seeds, found.epsilons) == ("quick", (7,), (1.0,))
    assert found.metrics == ("accuracy", "3-wd")


def test_what_is_meant_for_the_data_of_another_variant_is_no_mistake(write):
    path = write(WHOLE.replace("{seeds: [7],", "{data: [hospital],"))
    assert [data.name for data in only(read_suite(path, "quick")).data] == ["hospital"]


def test_a_suite_takes_files_beside_it_in_its_own_variant_or_in_another(write):
    write(WHOLE)
    write(WHOLE.replace("name: small", "name: other"), "other.yaml")
    suite = write("{name: all, include: [small.yaml, other.yaml], variant: quick}", "all.yaml")
    assert [(e.name, e.variant) for e in read_suite(suite).experiments] == [
        ("small", "quick"),
        ("other", "quick"),
    ]
    assert {e.variant for e in read_suite(suite, "full").experiments} == {"full"}


def test_an_entry_of_a_suite_may_have_a_variant_of_its_own(write):
    write(WHOLE)
    write(WHOLE.replace("name: small", "name: other"), "other.yaml")
    suite = write("{name: all, include: [small.yaml, {other.yaml: quick}]}", "all.yaml")
    found = read_suite(suite)
    assert [each.variant for each in found.experiments] == ["full", "quick"]
    assert not found.one_by_one
    for wrong in ("{other.yaml: 3}", "[other.yaml]", "{other.yaml: quick, small.yaml: quick}"):
        suite = write(f"{{name: all, include: [{wrong}]}}", "all.yaml")
        with pytest.raises(ParameterError, match="expected a file, or file: variant"):
            read_suite(suite)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("seeds: 2", "sedes: 2"), "unknown key 'sedes': did you mean 'seeds'?"),
        (("seeds: 2", "seeds: 0"), "seeds: empty"),
        (("seeds: 2", "seeds: [-1]"), "seeds=-1"),
        (("seeds: 2", "seeds: two"), "seeds='two'"),
        (("epsilons: [1, 3.5]", "epsilons: [0]"), "epsilons=0"),
        (("epsilons: [1, 3.5]", "epsilons: 1"), "epsilons=1: expected a list"),
        (("3-wd", "wd"), "metrics='wd'"),
        (("name: small", "name: ../up"), "name='../up'"),
        (("title: A small one", ""), "title: missing"),
        (("split: seed", "split: {xor: mine}"), "split='mine': known: 'authors', 'seed'"),
        (("split: seed", "split: {xxor: seed}"), "split: there is no data 'xxor': did you mean"),
        (("name: small", "name: a/b/small"), "name='a/b/small'"),
        (("split: seed", "split: mine"), "split='mine': expected one of authors, seed"),
        (("seconds: 10", "second: 10"), "limits: unknown key 'second'"),
        (("seconds: 10", "seconds: -1"), "limits: seconds=-1"),
        (("rows: 100", "rows: 0"), "evaluate: rows=0"),
        (("extra trees", "extra tree"), "learners='extra tree': did you mean 'extra trees'?"),
        (("  - real", "  - [real]"), "methods[0]=['real']: expected a name"),
        (("  - real", "  - {real: 1}"), "methods[0]={'real': 1}: expected a name"),
        (
            ("on: [xor]", "on: [xr]"),
            "methods: tabpe: on: there is no data 'xr': did you mean 'xor'?",
        ),
        (("{xor: 100", "{xr: 100"), "methods: tabpe: n_samples: there is no data 'xr'"),
        (("quick: {seeds", "quick: {seed"), "variants.quick: unknown key 'seed'"),
        (("full: {}", "fll: {}"), "variants: there is none named 'full': did you mean 'fll'?"),
        (("name: small", "name: small\nname: small"), "line 1: key 'name' is given twice"),
        (("name: small", "name: [small"), "not a readable experiment (line 2"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_by_file_and_key(write, change, named):
    text = WHOLE.replace(*change)
    assert text != WHOLE
    path = write(text)
    with pytest.raises(ParameterError) as refused:
        read_suite(path)
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert named in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "- a", "just words"])
def test_a_file_that_is_no_mapping_is_no_experiment(write, text):
    with pytest.raises(ParameterError, match="not an experiment"):
        read_suite(write(text))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ParameterError, match=r"nowhere\.yaml: "):
        read_suite(Path("nowhere.yaml"))


def test_a_suite_names_the_file_that_does_not_fit(write):
    write(WHOLE.replace("seeds: 2", "sedes: 2"))
    suite = write("{name: all, include: [small.yaml]}", "all.yaml")
    with pytest.raises(ParameterError, match=r"small\.yaml: .*'sedes'"):
        read_suite(suite)


def test_a_suite_with_another_key_is_refused(write):
    suite = write("{name: all, include: [], seeds: 3}", "all.yaml")
    with pytest.raises(ParameterError, match="unknown key 'seeds'"):
        read_suite(suite)


def test_without_variants_there_is_a_full_one():
    plain = {"name": "a", "title": "A", "data": ["hospital"], "methods": ["real"]}
    assert parse_experiment(plain | {"metrics": ["auc"]}, "full", where="a").variant == "full"

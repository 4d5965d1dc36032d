"""Operators, selection rules, weights and callbacks from a module that is not ours."""

import importlib
import sys
import warnings

import numpy as np
import pytest

from tabpe import Evolution, Posterior, TabPE
from tabpe.accounting.noise import FakeNoise
from tabpe.errors import NotPrivateWarning, ParameterError
from tabpe.io.example import hospital_schema, hospital_table

OPS = """
import gc

import numpy as np

from tabpe import Evolution
from tabpe.encoding import Records

seen = []


def stand_still(rows, space, rate, rng):
    seen.append(("operator", rows, space, rate))
    return Records(rows.numbers, rows.codes)


class Walk:
    def __call__(self, rows, space, rate, rng):
        moved = rows.numbers + rate * rng.standard_normal(rows.numbers.shape)
        return Records(moved, rows.codes)


def tournament(voted, rng):
    seen.append(("selection", voted))
    pairs = rng.integers(0, len(voted.rows), (voted.size, 2))
    return pairs[np.arange(voted.size), np.argmax(voted.votes[pairs], axis=1)]


def weigh(schema):
    seen.append(("weight", schema))
    return 1 / len(schema.columns)


def watch(population):
    seen.append(("round", population))


def fewer_rows(rows, space, rate, rng):
    return rows.take(np.arange(len(rows) - 1))


def no_rows(rows, space, rate, rng):
    return None


def unknown_code(rows, space, rate, rng):
    return Records(rows.numbers, rows.codes + 100)


def null_number(rows, space, rate, rng):
    return Records(np.full_like(rows.numbers, np.nan), rows.codes)


def write(rows, space, rate, rng):
    rows.numbers[:] = 0
    return rows


def too_few(voted, rng):
    return np.arange(voted.size - 1)


def beyond(voted, rng):
    return np.full(voted.size, len(voted.rows))


def fractions(voted, rng):
    return np.zeros(voted.size)


def nothing(schema):
    return 0.0


mine = Evolution(rounds=2, sampling_rounds=1, operator=stand_still)
"""


@pytest.fixture
def ops(tmp_path, monkeypatch):
    (tmp_path / "outside_ops.py").write_text(OPS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("outside_ops")
    sys.modules.pop("outside_ops", None)


def fit(preset, **options):
    usual = {"epsilon": 5, "delta": 1e-5, "n_samples": 60, "random_state": 0, "verbose": 0}
    model = TabPE(preset=preset, noise=FakeNoise(3), **usual | options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return model.fit(hospital_table(400), hospital_schema())


SHORT = {"rounds": 3, "sampling_rounds": 1}


@pytest.mark.parametrize("given", ["text", "function"])
def test_an_operator(ops, given):
    operator = "outside_ops:stand_still" if given == "text" else ops.stand_still
    model = fit(Evolution(**SHORT, operator=operator))
    assert model.certificate.configuration["operator"] == "outside_ops:stand_still"
    calls = [entry for entry in ops.seen if entry[0] == "operator"]
    classes = len(hospital_schema().class_names)
    assert len(calls) == 2 * classes  # not after the last round
    assert not calls[0][1].numbers.flags.writeable
    # Rows that stand still are rows of the first population.
    assert len({tuple(row) for row in model.release_.rows.numbers}) < 60


def test_an_operator_that_is_a_class_stays_within_the_schema(ops):
    model = fit(Evolution(**SHORT, operator=ops.Walk))
    assert model.certificate.configuration["operator"] == "outside_ops:Walk"
    ages = model.sample()["age"].to_pylist()
    assert min(ages) >= 0
    assert max(ages) <= 110


def test_a_selection_rule(ops):
    model = fit(Evolution(**SHORT, selection=ops.tournament))
    assert model.certificate.configuration["selection"] == "outside_ops:tournament"
    assert [entry["selection"] for entry in model.history_] == ["outside_ops:tournament"] * 3
    voted = [entry[1] for entry in ops.seen if entry[0] == "selection"]
    assert {one.index for one in voted} == {0, 1, 2}
    assert {one.sigma for one in voted} == {model.history_[0]["sigma"]}
    assert all(len(one.rows) == len(one.votes) for one in voted)
    assert sum(one.size for one in voted if one.index == 2) == 60
    with pytest.raises(ValueError, match="read-only"):
        voted[0].votes[0] = 1


@pytest.mark.parametrize("strategy", [Evolution(**SHORT), Posterior(rounds=1, pool=500)])
def test_a_weight(ops, strategy):
    kind = type(strategy)
    model = fit(kind(**vars(strategy) | {"category_weight": ops.weigh}))
    columns = len(hospital_schema().columns)
    same = fit(kind(**vars(strategy) | {"category_weight": 1 / columns}))
    certificate = model.certificate
    assert certificate.configuration["category_weight"] == "outside_ops:weigh"
    assert f"category_weight is {1 / columns:g}, by outside_ops:weigh" in certificate.notes
    assert model.sample().equals(same.sample())
    assert len([entry for entry in ops.seen if entry[0] == "weight"]) == 1


def test_settings_from_outside_and_fields_after_a_name(ops):
    assert fit("outside_ops:mine").certificate.configuration["rounds"] == 2
    model = fit("outside_ops:mine,rounds=3,operator=outside_ops:Walk")
    assert len(model.history_) == 3
    assert model.certificate.configuration["operator"] == "outside_ops:Walk"
    assert fit("paper, rounds=2, step=uniform").certificate.configuration["step"] == "uniform"


def test_a_callback_sees_the_rows_of_each_round(ops):
    model = fit(Evolution(**SHORT), on_round=ops.watch)
    populations = [entry[1] for entry in ops.seen if entry[0] == "round"]
    assert [one.record for one in populations] == model.history_
    last = populations[-1]
    released = model.release_.rows.numbers  # in random order
    np.testing.assert_array_equal(np.sort(last.rows.numbers, axis=0), np.sort(released, axis=0))
    assert last.to_table().num_rows == 60
    assert last.to_table().column_names == model.sample().column_names
    assert set(last.weights) == {1.0}
    assert not last.rows.codes.flags.writeable
    assert model.sample().equals(fit(Evolution(**SHORT)).sample())


def test_a_callback_of_a_posterior_sees_the_pool():
    seen = []
    model = fit(Posterior(rounds=2, pool=500), on_round=seen.append)
    assert [one.record["round"] for one in seen] == [1, 2]
    assert all(len(one.rows) == len(one.weights) == 500 for one in seen)
    assert seen[0].to_table().column_names == model.sample().column_names


def test_what_they_are_given_is_public(ops):
    """Whatever is reachable from their arguments is candidates, noisy votes and the schema."""
    preset = Evolution(
        **SHORT, operator=ops.stand_still, selection=ops.tournament, category_weight=ops.weigh
    )
    fit(preset, on_round=ops.watch)
    allowed = {"Records", "RecordSpace", "VotedCandidates", "RoundPopulation", "Encoder", "Schema"}
    kinds = {
        type(part).__name__
        for entry in ops.seen
        for part in entry[1:]
        if type(part).__module__.startswith("tabpe")
    }
    assert kinds <= allowed
    reached = {type(one).__module__ for one in reach(ops.seen)}
    assert "tabpe.encoding.records" in reached
    for package in ("backends", "measurement", "io", "accounting", "synthesizers"):
        assert not [name for name in reached if name.startswith(f"tabpe.{package}")]


def reach(start):
    """Yield the objects that attributes and containers lead to."""
    found, left = {}, [start]
    while left:
        one = left.pop()
        if id(one) in found or isinstance(one, (type, np.ndarray, str, bytes)):
            continue
        found[id(one)] = one
        if isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, (list, tuple, set, frozenset)):
            left += list(one)
        left += list(getattr(one, "__dict__", {}).values())
    return list(found.values())


@pytest.mark.parametrize(
    "change",
    [
        *(
            {"operator": f"outside_ops:{name}"}
            for name in ("fewer_rows", "no_rows", "unknown_code")
        ),
        *({"operator": f"outside_ops:{name}"} for name in ("null_number", "missing")),
        *({"selection": f"outside_ops:{name}"} for name in ("too_few", "beyond", "fractions")),
        {"category_weight": "outside_ops:nothing"},
        {"selection": "outside_ops:seen"},
        {"operator": "no_such_module:walk"},
    ],
    ids=lambda change: next(iter(change.values())),
)
def test_what_does_not_keep_to_the_rules_is_refused(ops, change):
    ((name, given),) = change.items()
    with pytest.raises(ParameterError) as caught:
        fit(Evolution(**SHORT, **change))
    assert str(caught.value).startswith(f"{name}={given!r}")


def test_arrays_can_not_be_written_to(ops):
    with pytest.raises(ValueError, match="read-only"):
        fit(Evolution(**SHORT, operator="outside_ops:write"))


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ("papr", "preset='papr': did you mean 'paper'"),
        ("paper,round=3", "did you mean 'rounds'"),
        ("paper,rounds", "expected FIELD=VALUE"),
        ("paper,rounds=few", "rounds='few'"),
        ("json:dumps", "expected an Evolution or a Posterior"),
        ("no_such_module:mine", "can not import"),
    ],
)
def test_bad_presets(preset, said):
    with pytest.raises(ParameterError, match=said):
        fit(preset)


@pytest.mark.parametrize("given", [3, "watch", "no_such_module:watch"])
def test_bad_callbacks(given):
    with pytest.raises(ParameterError, match="on_round="):
        fit(Evolution(**SHORT), on_round=given)


def test_tables_need_the_usual_operator():
    with pytest.raises(ParameterError, match="outside_ops:walk"):
        Evolution(tables=0.1, operator="outside_ops:walk")


def test_nothing_is_imported_when_settings_or_models_are_read(ops, tmp_path):
    model = fit(Evolution(**SHORT, operator=ops.stand_still))
    model.save(tmp_path / "run.tabpe")
    sys.modules.pop("outside_ops")
    (tmp_path / "outside_ops.py").unlink()
    loaded = TabPE.load(tmp_path / "run.tabpe")
    assert loaded.preset.operator == "outside_ops:stand_still"
    assert loaded.sample().num_rows == 60


class StopRunError(Exception):
    """Stands for a crash."""


def stop(population):
    if population.record["round"] == 2:
        raise StopRunError


def test_a_run_goes_on_with_the_same_operator_alone(ops, tmp_path):
    config = Evolution(**SHORT, operator=ops.stand_still)
    again = {"run_dir": tmp_path / "run"}
    with pytest.raises(StopRunError):
        fit(config, **again, on_round=stop)
    for other in (Evolution(**SHORT, operator=ops.Walk), Evolution(**SHORT)):
        with pytest.raises(ParameterError, match="began with another"):
            fit(other, **again)
    (tmp_path / "outside_ops.py").write_text(OPS + "# changed\n")
    importlib.invalidate_caches()
    importlib.reload(ops)
    with pytest.raises(ParameterError, match="another code from outside"):
        fit(config, **again)
    (tmp_path / "outside_ops.py").write_text(OPS)
    importlib.reload(ops)
    resumed = fit(config, **again)
    assert resumed.certificate.configuration["operator"] == "outside_ops:stand_still"
    assert resumed.certificate.spends[-1].times == SHORT["rounds"]

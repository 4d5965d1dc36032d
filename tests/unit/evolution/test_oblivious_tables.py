"""Oblivious tables: one cell a row, a gate that opens on XOR, cuts that lines correct."""

import dataclasses
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shard_pools import open_at_random
from tabpe import Boolean, Categorical, Float, Posterior, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.encoding import Records
from tabpe.encoding.marginals import Marginal
from tabpe.errors import NotPrivateWarning, ParameterError
from tabpe.evolution.config import PROBE, TABLE_PARTS, VOTES_OR_OBLIVIOUS
from tabpe.evolution.evidence import PoolRows
from tabpe.evolution.marginal_prior import NoisyMarginal
from tabpe.evolution.oblivious_tables import (
    HIGH_RESIDUAL,
    LineAxis,
    ObliviousAxis,
    Split,
    TableBudget,
    TableGate,
    average_tables,
    build_line,
    compute_residual,
    correct_cut,
    search_tree,
)
from tabpe.verification.verify import verify_plain

CUTS = (0.35, 0.6, 0.45)
COLUMNS = (*(Float(name, 0, 1) for name in "abc"), Categorical("ward", ("u", "v", "w")))
SCHEMA = Schema((*COLUMNS, Boolean("ill")), label="ill")
SMALL = Posterior(rounds=4, candidates=200, pool=6000, last_sweeps=10, oblivious=0.05)


def rows(count=20_000, seed=0, cuts=CUTS, nulls=0.0):
    """Rows whose class is the parity of the numbers above their cuts."""
    rng = np.random.default_rng(seed)
    numbers = rng.random((count, len(cuts)))
    target = (numbers > cuts).sum(axis=1) % 2
    numbers[rng.random(numbers.shape) < nulls] = np.nan
    codes = rng.integers(0, 3, (count, 1)).astype(np.uint8)
    order = np.argsort(target, kind="stable")
    records = Records(numbers, codes).take(order)
    return PoolRows(records, records, target[order])


def tree(cuts=CUTS):
    return ObliviousAxis(tuple(Split(column, cut) for column, cut in enumerate(cuts)), 2)


def count(axis, private, sigma=0.0, seed=0):
    """The noisy table of an axis."""
    cells = axis.find_cells(private.plain, private.classes)
    counts = np.bincount(cells, minlength=axis.size).astype(float)
    noise = np.random.default_rng(seed).normal(0, sigma, axis.size) if sigma else 0.0
    return NoisyMarginal(Marginal((axis,)), counts + noise, max(sigma, 1e-9))


def line(level, cut, private):
    """The line of a level whose cut is wrong."""
    cuts = [*CUTS]
    cuts[level] = cut
    axis = tree(cuts)
    numbers = np.sort(private.plain.numbers[:, level].astype(np.float32))
    return build_line(axis, level, count(axis, private), numbers, width=1.0)


def axes():
    split = Split(0, None, (False, True))
    return [
        dataclasses.replace(tree(), splits=(*tree().splits, split)),
        line(1, 0.5, rows()),
        LineAxis(tree(), 0, (), (0, 1, 0, 1), (1, 0, 1, 1)),
    ]


@pytest.mark.parametrize("axis", axes())
def test_each_row_is_in_one_cell_by_itself(axis):
    private = rows(500, seed=3, nulls=0.1)
    whole = axis.find_cells(private.plain, private.classes)
    one_by_one = [
        axis.find_cells(private.plain.take(np.array([i])), private.classes[[i]])[0]
        for i in range(500)
    ]
    assert whole.tolist() == one_by_one
    assert 0 <= whole.min() <= whole.max() < axis.size
    assert len(axis.find_cells(private.plain.take(np.array([], int)), private.classes[:0])) == 0


@pytest.mark.parametrize("axis", axes())
def test_an_axis_is_a_plain_value_that_a_cluster_can_be_sent(axis):
    assert hash(pickle.loads(pickle.dumps(axis))) == hash(axis)
    assert pickle.loads(pickle.dumps(axis)) == axis


@pytest.mark.parametrize("axis", axes())
def test_single_and_double_precision_are_in_the_same_cell(axis):
    private = rows(2000)
    single = Records(private.plain.numbers.astype(np.float32), private.plain.codes)
    cells = [axis.find_cells(each, private.classes) for each in (private.plain, single)]
    assert cells[0].tolist() == cells[1].tolist()


def test_a_level_is_a_bit_of_the_cell_and_nulls_are_on_the_left():
    numbers = np.array([[0.1, 0.9], [0.9, 0.1], [np.nan, 0.9], [0.5, 0.5]])
    given = Records(numbers, np.array([[0], [1], [2], [9]], dtype=np.uint8))
    splits = (Split(0, 0.5), Split(1, 0.2), Split(0, None, (False, True, False)))
    found = ObliviousAxis(splits, 2).find_cells(given, np.array([0, 1, 0, 1]))
    assert found.tolist() == [4, 11, 4, 5]


def test_a_line_counts_the_classes_of_both_sides_in_each_interval():
    axis = LineAxis(tree((0.5, 0.5)), 0, (0.3, 0.5), left=(0, 1), right=(1, 1))
    numbers = np.array([[0.2, 0.2], [0.2, 0.2], [0.4, 0.2], [0.9, 0.2], [0.9, 0.9]])
    given = Records(numbers, np.empty((5, 0), np.uint8))
    cells = axis.find_cells(given, np.array([0, 1, 0, 1, 1]))
    # In the last cell of the other level both sides have the same class: it tells nothing.
    assert cells.tolist() == [1, 2, 4, 8, 6]


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("wrong", [0.3, 0.5, 0.7])
def test_a_line_moves_a_wrong_cut_to_the_right_place(level, wrong):
    private = rows()
    found = line(level, wrong, private)
    corrected = correct_cut(found, count(found, private, sigma=20.0))
    assert corrected.cut == pytest.approx(CUTS[level], abs=0.035)


def test_noise_alone_moves_no_cut_far_and_a_right_one_stays():
    private = rows()
    for seed in range(5):
        found = line(0, CUTS[0], private)
        assert correct_cut(found, count(found, private, 20.0, seed)).cut == pytest.approx(
            CUTS[0], abs=0.035
        )


def test_a_column_of_nulls_keeps_its_cut():
    axis = tree((0.5, 0.5))
    table = NoisyMarginal(Marginal((axis,)), np.zeros(8), 1.0)
    found = build_line(axis, 0, table, np.empty(0, np.float32), width=1.0)
    assert found.cuts == (0.5,)
    assert correct_cut(found, NoisyMarginal(Marginal((found,)), np.zeros(6), 1.0)).cut == 0.5


@pytest.mark.parametrize("levels", [3, 4, 11])
def test_the_tree_has_cuts_where_classes_change(levels):
    private = rows()
    found = search_tree(private, np.ones(20_000), 2, levels, np.random.default_rng(0))
    numbers = [split for split in found.splits if split.cut is not None]
    assert [split.column for split in numbers] == [0, 1, 2]
    assert [split.cut for split in numbers] == pytest.approx(CUTS, abs=0.03)
    assert len(found.splits) == min(levels, 4)


def test_codes_are_divided_by_their_classes():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (8000, 1)).astype(np.uint8)
    target = np.sort(np.isin(codes[:, 0], (0, 2)).astype(np.int64))
    codes = codes[np.argsort(np.isin(codes[:, 0], (0, 2)), kind="stable")]
    records = Records(np.empty((8000, 0)), codes)
    pool = PoolRows(records, records, target)
    split = search_tree(pool, np.ones(8000), 2, 3, rng).splits[0]
    assert split.right in ((True, False, True, False), (False, True, False, True))


def test_the_mean_of_answers_has_less_noise():
    table = count(tree(), rows(), sigma=8.0)
    assert average_tables([table] * 4).sigma == pytest.approx(4.0)


class Private:
    """Answers for a gate, and remembers how much was asked."""

    def __init__(self, private, sigma=10.0):
        self.private, self.sigma, self.probes, self.parts = private, sigma, 0, 0

    def make_budget(self, parts=32):
        """Return what a gate may ask."""
        return TableBudget(self.probe, self.instead, parts, self.sigma)

    def probe(self, marginals):
        """Return the tables of a probe."""
        self.probes += len(marginals)
        return [count(one.axes[0], self.private, self.sigma) for one in marginals]

    def instead(self, marginals):
        """Return tables in the place of votes."""
        start, self.parts = self.parts, self.parts + len(marginals)
        return [
            count(one.axes[0], self.private, self.sigma, seed=start + place)
            for place, one in enumerate(marginals)
        ]


def ask(gate, pool, rounds):
    rng, found = np.random.default_rng(0), {}
    weights = np.ones(len(pool))
    for done in range(1, rounds + 1):
        if done > gate.rounds:
            break
        found[done] = gate.ask(done, pool, weights, rng)
    return found


@pytest.mark.parametrize("rounds", [2, 3, 4, 8])
@pytest.mark.parametrize("parts", [8, 32])
def test_an_open_gate_uses_exactly_the_budget_of_a_round_before_the_last(rounds, parts):
    private = Private(rows(seed=1))
    pool = rows(seed=2, cuts=(0.45, 0.5, 0.5))
    gate = TableGate(private.make_budget(parts), rounds, np.array([1e4, 1e4]))
    found = ask(gate, pool, rounds)
    assert gate.residual > HIGH_RESIDUAL
    assert gate.rounds == rounds - 1
    assert max(found) == rounds - 1
    assert (private.probes, private.parts) == (1, parts)
    last = next(tables for tables in reversed(found.values()) if tables)[-1].marginal.axes[0]
    assert [split.cut for split in last.splits[:3]] == pytest.approx(CUTS, abs=0.04)


def test_a_gate_stays_closed_where_the_pool_predicts_the_probe():
    private = Private(rows(seed=1), sigma=30.0)
    gate = TableGate(private.make_budget(), 4, np.array([1e4, 1e4]))
    found = ask(gate, rows(seed=2), 4)
    assert gate.residual < HIGH_RESIDUAL
    assert gate.rounds == 4
    assert [len(tables) for tables in found.values()] == [0, 1, 0, 0]
    assert (private.probes, private.parts) == (1, 0)


def test_a_pile_that_the_pool_lacks_opens_no_gate():
    private, pool = rows(), rows(seed=1)
    piled = private.take(np.flatnonzero(private.plain.numbers[:, 0] < 0.2))
    table = count(tree(), piled, sigma=10.0)
    assert compute_residual(table, pool, np.ones(20_000), 2) < HIGH_RESIDUAL


def test_the_residual_of_noise_is_about_one():
    table = count(tree(), rows(), sigma=500.0)
    assert compute_residual(table, rows(), np.ones(20_000), 2) == pytest.approx(1.0, abs=0.7)


def frame(count=6000, parity=True, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.random((count, 3))
    ill = (numbers > 0.5).sum(axis=1) % 2 == 1 if parity else rng.random(count) > 0.5
    ward = np.array(["u", "v", "w"])[rng.integers(0, 3, count)]
    return pa.table({**dict(zip("abc", numbers.T, strict=True)), "ward": ward, "ill": ill})


def fit(table, **given):
    settings = {"epsilon": 4.0, "delta": 1e-5, "preset": SMALL, "random_state": 0, "verbose": 0}
    return TabPE(**settings | given).fit(table, SCHEMA)


def parity(found):
    bits = sum((found[name].to_numpy() > 0.5).astype(int) for name in "abc")
    return float((bits % 2 == found["ill"].to_numpy(zero_copy_only=False)).mean())


def test_a_release_of_xor_has_its_pattern_and_says_what_was_asked():
    model = fit(frame())
    assert parity(model.sample()) > 0.9
    assert len(model.history_) == 3
    assert model.history_[1]["table_residual"] > HIGH_RESIDUAL
    spends = {spend.name: spend for spend in model.certificate.spends}
    assert spends[PROBE].times == 1
    assert spends[VOTES_OR_OBLIVIOUS].times == 4 * SMALL.votes * TABLE_PARTS
    assert model.certificate.epsilon <= 4.0
    assert any("oblivious table" in note for note in model.certificate.notes)
    assert verify_plain(model.certificate.to_dict()).holds


def test_the_same_is_spent_where_the_gate_stays_closed():
    open_, closed = fit(frame(), epsilon=1.0), fit(frame(parity=False), epsilon=1.0)
    assert len(closed.history_) == 4
    assert closed.history_[1]["table_residual"] < HIGH_RESIDUAL
    assert closed.certificate.spends == open_.certificate.spends
    assert not any("oblivious" in note for note in closed.certificate.notes)


def test_a_run_is_resumed_without_another_measurement(tmp_path):
    first = fit(frame(), run_dir=tmp_path / "run").sample()
    assert fit(frame(), run_dir=tmp_path / "run").sample().equals(first)


def test_how_rows_are_stored_and_on_how_many_machines_decides_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "parts"
    folder.mkdir()
    whole = frame(3000)
    for place in range(3):
        pq.write_table(whole.slice(1000 * place, 1000), folder / f"{place}.parquet")
    listed = whole.set_column(3, "ward", whole["ward"].dictionary_encode())
    alone = run_all(whole)
    assert run_all(folder) == alone
    assert run_all(listed) == alone
    assert run_all(whole, engine="stream") == alone
    monkeypatch.setattr("tabpe.synthesizers.pipeline.open_backend", open_at_random(3))
    assert run_all(whole) == alone


def run_all(source, **given):
    """All that a run with an open gate gives."""
    with pytest.warns(NotPrivateWarning):
        model = fit(source, noise=FakeNoise(0), **given)
    assert len(model.history_) == 3
    return model.sample().to_pydict(), model.history_, model.certificate.spends


def test_users_are_charged_like_rows():
    table = frame()
    table = table.append_column("person", pa.array(np.arange(6000) // 2))
    model = fit(table, unit="person", max_rows_per_user=2, epsilon=8.0)
    assert model.certificate.epsilon <= 8.0
    assert parity(model.sample()) > 0.8


def test_nothing_is_asked_without_classes_or_in_very_many_columns():
    names = {part.name for part in SMALL.plan_queries(columns=4, classes=2).first}
    assert PROBE in names
    for columns, classes in ((4, 1), (0, 2), (50, 2)):
        plan = SMALL.plan_queries(columns=columns, classes=classes)
        assert PROBE not in {part.name for part in plan.first}
        assert VOTES_OR_OBLIVIOUS not in {part.name for part in plan.rest}
    best = Posterior().plan_queries(columns=4, classes=2)
    assert PROBE not in {part.name for part in best.first}
    assert best.repeats == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"oblivious": -0.1}, "oblivious=-0.1"),
        ({"oblivious": 0.6}, "oblivious=0.6: all of the budget"),
        ({"oblivious": 0.02, "rounds": 1}, "at least 2 rounds"),
    ],
)
def test_a_wrong_setting_is_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        Posterior(**change)

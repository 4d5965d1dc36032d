"""Rows are moved until they follow given marginals."""

import numpy as np
import pytest

from tabpe.baselines.privsyn import (
    MarginalTarget,
    draw_independent_rows,
    gradually_update,
    round_parts,
)

SIZES = (3, 4, 2)


def rng(seed=0):
    return np.random.default_rng(seed)


def dependent_rows(size):
    """Rows of a chain: the second attribute follows the first, the third the second."""
    first = rng(5).integers(3, size=size)
    second = np.where(rng(6).random(size) < 0.8, first, rng(7).integers(4, size=size))
    third = np.where(rng(8).random(size) < 0.9, second % 2, rng(9).integers(2, size=size))
    return np.column_stack([first, second, third]).astype(np.int64)


def shares(codes, clique):
    found = np.zeros(tuple(SIZES[place] for place in clique))
    np.add.at(found, tuple(codes[:, place] for place in clique), 1 / len(codes))
    return found


def targets_of(codes, cliques=((0, 1), (1, 2))):
    return [MarginalTarget(clique, shares(codes, clique)) for clique in cliques]


def start_of(codes, size, seed=0):
    return draw_independent_rows([shares(codes, (place,)) for place in range(3)], size, rng(seed))


def test_the_start_has_the_marginals_and_no_dependence():
    real = dependent_rows(6000)
    start = start_of(real, 6000)
    for place in range(3):
        assert shares(start, (place,)) == pytest.approx(shares(real, (place,)), abs=2e-4)
    apart = np.outer(shares(real, (0,)), shares(real, (1,)))
    assert shares(start, (0, 1)) == pytest.approx(apart, abs=0.02)


def test_rows_move_to_all_targets_at_once():
    real = dependent_rows(6000)
    targets, start = targets_of(real), start_of(real, 6000)
    moved = gradually_update(start, targets, rounds=50, rng=rng())
    for target in targets:
        assert target.compute_error(start) > 0.4
        assert target.compute_error(moved) < 0.02


def test_what_no_target_names_stays_as_it_was():
    real = dependent_rows(3000)
    start = start_of(real, 3000)
    moved = gradually_update(
        start, [MarginalTarget((0,), np.array([0.6, 0.3, 0.1]))], rounds=30, rng=rng()
    )
    assert shares(moved, (0,)) == pytest.approx(np.array([0.6, 0.3, 0.1]), abs=0.01)
    assert shares(moved, (1,)) == pytest.approx(shares(start, (1,)), abs=0.05)


def test_values_that_no_row_has_appear_and_others_go():
    start = np.zeros((500, 3), dtype=np.int64)
    target = MarginalTarget((0, 2), np.array([[0.0, 0.5], [0.0, 0.0], [0.25, 0.25]]))
    moved = gradually_update(start, [target], rounds=60, rng=rng())
    assert target.compute_error(moved) < 0.02


def test_rows_that_fit_are_left_alone():
    real = dependent_rows(2000)
    assert (gradually_update(real, targets_of(real), rounds=10, rng=rng()) == real).all()


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_tables_of_few_rows(size):
    real = dependent_rows(1000)
    moved = gradually_update(start_of(real, size), targets_of(real), rounds=5, rng=rng())
    assert moved.shape == (size, 3)
    assert (moved >= 0).all()
    assert (moved < SIZES).all()


def test_the_seed_decides_and_the_start_is_kept():
    real = dependent_rows(800)
    start = start_of(real, 800)
    kept = start.copy()
    one, same, other = (
        gradually_update(start, targets_of(real), rounds=5, rng=rng(seed)) for seed in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).any()
    assert (start == kept).all()


def test_whole_parts_are_rounded_up_or_down_and_add_up():
    for seed in range(200):
        amounts = rng(seed).exponential(2, 15) * (rng(seed + 1).random(15) < 0.7)
        total = int(amounts.sum()) + 1
        parts = round_parts(amounts, total, rng(seed))
        assert parts.sum() == total
        assert (np.abs(parts - amounts * total / amounts.sum()) < 1 + 1e-9).all()
        assert (parts[amounts == 0] == 0).all()


def test_whole_parts_are_fair_on_average():
    generator = rng()
    amounts = np.array([0.3, 0.3, 0.4])
    mean = np.mean([round_parts(amounts, 1, generator) for _ in range(20_000)], axis=0)
    # Standard deviations are 0.0035: seven of them.
    assert mean == pytest.approx(amounts, abs=0.025)

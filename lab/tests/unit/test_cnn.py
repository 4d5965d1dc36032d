"""The small network for pictures."""

import numpy as np
import pytest

pytest.importorskip("torch")

from tabpe.evaluation.table_arrays import LabeledExamples, NumericCells
from tabpe.schema import Integer
from tabpe_lab.evaluate import SmallCNN, predict_with_cnn

SIDE = 8


def pictures(count, seed):
    """Bars that stand or lie at a random place, in noise."""
    rng = np.random.default_rng(seed)
    target = np.arange(count) % 2
    drawn = rng.random((count, SIDE, SIDE)) * 0.5
    for picture, stands, place in zip(drawn, target, rng.integers(SIDE, size=count), strict=True):
        if stands:
            picture[:, place] = 1
        else:
            picture[place] = 1
    return drawn.reshape(count, -1), target


def examples(count, seed, classes=3):
    pixels, target = pictures(count, seed)
    features = tuple(
        NumericCells(Integer(f"p{place}", 0, 255), column * 255)
        for place, column in enumerate(pixels.T)
    )
    return LabeledExamples(features, target, classes)


def test_it_learns_to_tell_bars_apart_and_gives_other_classes_no_chance():
    test = examples(200, 2)
    chances = predict_with_cnn(examples(100, 1), test)
    assert chances.shape == (200, 3)
    assert chances[:, 2].max() == 0
    assert np.allclose(chances.sum(axis=1), 1, atol=1e-5)
    assert (chances.argmax(axis=1) == test.target).mean() > 0.9


def test_the_seed_decides_what_it_learns():
    train, target = pictures(40, 1)
    other, _ = pictures(20, 2)
    once, again, another = (
        SmallCNN(SIDE, seed).fit(train, target).predict_proba(other) for seed in (0, 0, 1)
    )
    assert np.array_equal(once, again)
    assert not np.allclose(once, another)

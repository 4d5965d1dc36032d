"""Generated families of tables: what kinds of tables a default must be good at.

They are not in the paper: settings are chosen by them. Rows of all families are drawn from a few
hidden traits, which columns and label depend on, so that columns depend on each other too.

- `zero-inflated`: numbers with many exact zeros and a long tail.
- `capped`: numbers that stop at their bound, at a round number, or at a detection limit.
- `survey`: binary and listed answers.
- `many-classes`: 24 classes of very different size, by the nearest of 48 points.
- `wide`: many columns of which few say anything about the label.
- `xor-shifted`: XOR, with cuts at random ranks.

Each table is the same on every machine, up to rounding; its first rows do not depend on how many
are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.schema import Boolean, Categorical, Float, Integer, Schema
from tabpe_lab.datasets.simulated import make_xor_schema

ROWS = 30_000
_BLOCK = 10_000
_LABEL = "y"

Vector = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]
Draw = Callable[[int, np.random.Generator, np.random.Generator], Columns]


def _draw_blocks(seed: int, rows: int, draw: Draw) -> pa.Table:
    """Return rows in blocks, each with a seed of its own; `draw` gets a plan that is the same."""
    blocks = math.ceil(rows / _BLOCK)
    parts = [
        pa.table(draw(_BLOCK, np.random.default_rng(seed), np.random.default_rng((seed, block))))
        for block in range(blocks)
    ]
    return pa.concat_tables(parts).slice(0, rows).combine_chunks()


def _flip(score: Vector, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return 1 with the probability that a score stands for, else 0."""
    return (rng.random(len(score)) < 1 / (1 + np.exp(-score))).astype(np.int64)


def make_zero_inflated_schema() -> Schema:
    """Return the public schema.

    Example:
        >>> make_zero_inflated_schema().names
        ('gain', 'claims', 'debt', 'age', 'score', 'region', 'y')
    """
    return Schema(
        (
            Float("gain", 0.0, 20_000.0),
            Integer("claims", 0, 400),
            Float("debt", 0.0, 100_000.0, decimals=2),
            Integer("age", 18, 90),
            Float("score", -5.0, 5.0),
            Categorical("region", ("a", "b", "c", "d", "e")),
            Categorical(_LABEL, (0, 1)),
        ),
        label=_LABEL,
    )


def draw_zero_inflated_table(rows: int = ROWS) -> pa.Table:
    """Return rows: 78% of gains, 60% of claims and 30% of debts are exactly zero.

    Example:
        >>> gains = draw_zero_inflated_table(5000)["gain"].to_numpy()
        >>> float((gains == 0).mean().round(1)), bool(np.median(gains[gains > 0]) > 10)
        (0.8, True)
    """

    def draw(size: int, _: np.random.Generator, rng: np.random.Generator) -> Columns:
        wealth, risk, own = rng.standard_normal((3, size))
        gains = np.exp(6.0 + 0.8 * wealth + 1.1 * rng.standard_normal(size))
        claims = 1 + rng.geometric(np.clip(0.08 * np.exp(-0.5 * risk), 0.004, 0.5))
        debts = np.exp(8.0 + 0.7 * risk - 0.4 * wealth + 0.9 * rng.standard_normal(size))
        has_gain = wealth + 0.8 * own > _find_cut(0.78, math.hypot(1, 0.8))
        has_claim = risk + rng.standard_normal(size) > _find_cut(0.60, math.sqrt(2))
        has_debt = rng.standard_normal(size) - 0.6 * wealth > _find_cut(0.30, math.hypot(1, 0.6))
        gain = np.clip(np.where(has_gain, gains, 0.0), 0.0, 20_000.0)
        debt = np.clip(np.where(has_debt, debts, 0.0), 0.0, 100_000.0).round(2)
        score = np.clip(0.6 * own - 0.5 * risk + rng.standard_normal(size), -5.0, 5.0)
        age = np.clip(np.rint(48 + 8 * wealth + 12 * rng.standard_normal(size)), 18, 90)
        label = 2.2 * has_gain - 1.5 * has_claim + 0.9 * score + 0.3 * np.log1p(debt) - 2.2
        return {
            "gain": gain,
            "claims": np.where(has_claim, np.clip(claims, 1, 400), 0).astype(np.int64),
            "debt": debt,
            "age": age.astype(np.int64),
            "score": score,
            "region": np.array(list("abcde"))[np.digitize(wealth, [-1.0, -0.3, 0.3, 1.0])],
            _LABEL: _flip(label, rng),
        }

    return _draw_blocks(101, rows, draw)


_HIGHEST, _BEST, _USUAL_HOURS, _LIMIT, _AT_LIMIT = 500_000.0, 100.0, 40, 1000.0, 0.33


def make_capped_schema() -> Schema:
    """Return the public schema.

    Example:
        >>> make_capped_schema().names
        ('value', 'test', 'hours', 'limit', 'detected', 'rooms', 'y')
    """
    return Schema(
        (
            Float("value", 10_000.0, _HIGHEST),
            Float("test", 0.0, _BEST, decimals=1),
            Integer("hours", 1, 99),
            Float("limit", 0.0, 5000.0),
            Float("detected", 0.0, 80.0),
            Integer("rooms", 1, 30),
            Categorical(_LABEL, (0, 1)),
        ),
        label=_LABEL,
    )


def draw_capped_table(rows: int = ROWS) -> pa.Table:
    """Return rows: numbers with a cap at a bound, inside, and at a limit that is not round.

    8% of values and 39% of tests are at the upper bound, 45% of hours are 40, a third of limits
    are 1,000, and 40% of what is detected is at 0.37.

    Example:
        >>> table = draw_capped_table(5000)
        >>> [float((table[name].to_numpy() == at).mean().round(1)) for name, at in
        ...  (("test", 100), ("limit", 1000), ("detected", 0.37))]
        [0.4, 0.3, 0.4]
    """

    def draw(size: int, _: np.random.Generator, rng: np.random.Generator) -> Columns:
        place, skill, own = rng.standard_normal((3, size))
        value = np.exp(12.2 + 0.5 * place + 0.4 * own)
        test = 93 + 16 * skill + 19 * rng.standard_normal(size)
        usual = rng.random(size) < np.where(skill > 0, 0.55, 0.35)
        hours = np.where(
            usual, _USUAL_HOURS, np.rint(38 + 9 * place + 10 * rng.standard_normal(size))
        )
        limit = np.exp(7.0 + 0.6 * place + 0.6 * rng.standard_normal(size))
        detected = np.exp(-0.6 + 0.9 * skill + 1.2 * rng.standard_normal(size))
        rooms = np.clip(np.rint(np.exp(1.5 + 0.3 * place + 0.3 * own)), 1, 30)
        score = 1.2 * (value >= _HIGHEST) + 0.9 * (test >= _BEST) - 1.1 * (hours == _USUAL_HOURS)
        return {
            "value": np.clip(value, 10_000.0, _HIGHEST),
            "test": np.clip(test, 0.0, _BEST).round(1),
            "hours": np.clip(hours, 1, 99).astype(np.int64),
            "limit": np.where(rng.random(size) < _AT_LIMIT, _LIMIT, np.clip(limit, 0.0, 5000.0)),
            "detected": np.clip(np.maximum(detected, 0.37), 0.0, 80.0),
            "rooms": rooms.astype(np.int64),
            _LABEL: _flip(score + 0.8 * np.log(np.maximum(detected, 0.37)) + 0.6 * place, rng),
        }

    return _draw_blocks(102, rows, draw)


def _find_cut(share: float, deviation: float) -> float:
    """Return the value below which a normal variable is with a probability."""
    from statistics import NormalDist

    return NormalDist(0.0, deviation).inv_cdf(share)


_BINARY, _LISTED, _CHOICES = 14, 6, 5


def make_survey_schema() -> Schema:
    """Return the public schema: twenty answers and a label.

    Example:
        >>> len(make_survey_schema().columns)
        21
    """
    binary = (Boolean(f"q{place}") for place in range(_BINARY))
    listed = (Categorical(f"c{place}", tuple("vwxyz")) for place in range(_LISTED))
    return Schema((*binary, *listed, Boolean(_LABEL)), label=_LABEL)


def draw_survey_table(rows: int = ROWS) -> pa.Table:
    """Return answers that four traits of a person decide.

    Example:
        >>> draw_survey_table(100).slice(0, 50).equals(draw_survey_table(50))
        True
    """

    def draw(size: int, plan: np.random.Generator, rng: np.random.Generator) -> Columns:
        loads = plan.normal(0.0, 1.2, (_BINARY + _LISTED, 4))
        levels = plan.normal(-0.4, 0.8, _BINARY + _LISTED)
        traits = rng.standard_normal((4, size))
        scores = loads @ traits + levels[:, None]
        columns: Columns = {}
        for place in range(_BINARY):
            columns[f"q{place}"] = _flip(1.5 * scores[place], rng).astype(bool)
        for place in range(_LISTED):
            noisy = scores[_BINARY + place] + 0.8 * rng.standard_normal(size)
            codes = np.digitize(noisy, [-1.8, -0.6, 0.4, 1.4])
            columns[f"c{place}"] = np.array(list("vwxyz"))[codes]
        label = 1.4 * traits[0] * traits[1] + 1.2 * traits[2] - 0.5
        return {**columns, _LABEL: _flip(1.5 * label, rng).astype(bool)}

    return _draw_blocks(103, rows, draw)


_CLASSES, _POINTS, _FEATURES, _RANDOM_LABELS = 24, 48, 8, 0.1


def make_many_classes_schema() -> Schema:
    """Return the public schema.

    Example:
        >>> len(make_many_classes_schema().class_names)
        24
    """
    features = (Float(f"x{place}", -4.0, 4.0) for place in range(_FEATURES))
    return Schema((*features, Categorical(_LABEL, tuple(range(_CLASSES)))), label=_LABEL)


def draw_many_classes_table(rows: int = ROWS) -> pa.Table:
    """Return rows of 24 classes, the largest about thirty times the smallest; 10% at random.

    Example:
        >>> len(set(draw_many_classes_table(20_000)["y"].to_pylist()))
        24
    """

    def draw(size: int, plan: np.random.Generator, rng: np.random.Generator) -> Columns:
        mix = plan.normal(0.0, 0.5, (_FEATURES, _FEATURES)) + np.eye(_FEATURES)
        points = plan.standard_normal((_POINTS, 5)) * 1.3
        pulls = np.repeat(np.linspace(1.1, -0.9, _CLASSES), 2)
        features = np.clip(rng.standard_normal((size, _FEATURES)) @ mix / 1.5, -4.0, 4.0)
        gaps = ((features[:, None, :5] - points) ** 2).sum(axis=2)
        classes = np.argmin(gaps - pulls, axis=1) // 2
        random = rng.random(size) < _RANDOM_LABELS
        classes = np.where(random, rng.integers(0, _CLASSES, size), classes)
        return {**{f"x{place}": features[:, place] for place in range(_FEATURES)}, _LABEL: classes}

    return _draw_blocks(104, rows, draw)


_WIDE_NUMBERS, _WIDE_BINARY = 28, 12


def make_wide_schema() -> Schema:
    """Return the public schema: forty columns and a label.

    Example:
        >>> len(make_wide_schema().columns)
        41
    """
    numbers = (Float(f"x{place}", -5.0, 5.0) for place in range(_WIDE_NUMBERS))
    flags = (Boolean(f"b{place}") for place in range(_WIDE_BINARY))
    return Schema((*numbers, *flags, Categorical(_LABEL, (0, 1))), label=_LABEL)


def draw_wide_table(rows: int = ROWS) -> pa.Table:
    """Return rows: ten columns say something about the label, in pairs and triples.

    Example:
        >>> draw_wide_table(10).num_columns
        41
    """

    def draw(size: int, plan: np.random.Generator, rng: np.random.Generator) -> Columns:
        loads = plan.normal(0.0, 0.7, (_WIDE_NUMBERS, 6))
        noise = rng.standard_normal((size, _WIDE_NUMBERS))
        numbers = np.clip(rng.standard_normal((size, 6)) @ loads.T + noise, -5.0, 5.0)
        flags = rng.random((size, _WIDE_BINARY)) < 1 / (1 + np.exp(-numbers[:, :_WIDE_BINARY]))
        label = np.sign(numbers[:, 0] * numbers[:, 1]) + np.where(flags[:, 11], numbers[:, 2], 0)
        label += 0.5 * numbers[:, 3:8].sum(axis=1) * np.where(flags[:, 10], 1, -0.5)
        return {
            **{f"x{place}": numbers[:, place] for place in range(_WIDE_NUMBERS)},
            **{f"b{place}": flags[:, place] for place in range(_WIDE_BINARY)},
            _LABEL: _flip(1.5 * label, rng),
        }

    return _draw_blocks(105, rows, draw)


def draw_shifted_xor_table(features: int, rows: int = 50_000) -> pa.Table:
    """Return XOR with cuts at ranks between 0.3 and 0.7, drawn once.

    Example:
        >>> draw_shifted_xor_table(2).num_rows
        50000
    """

    def draw(size: int, plan: np.random.Generator, rng: np.random.Generator) -> Columns:
        cuts = plan.uniform(-4.0, 4.0, 16)[:features]
        drawn = rng.uniform(-10.0, 10.0, (size, features))
        names = make_xor_schema(features).names
        values = (*drawn.T, (drawn > cuts).sum(axis=1) % 2)
        return dict(zip(names, values, strict=True))

    return _draw_blocks(106, rows, draw)

"""What some spends really costs, summed without a grid: slow, and for few draws alone."""

import math

import numpy as np


def losses(sigma, times):
    """Values and probabilities of the privacy loss of `times` cells that moved by one.

    With p the noise around 0 and q around 1, log p(x)/q(x) = (1 - 2x) / (2 sigma^2). So the total
    depends on the sum of the draws alone, whose distribution is a plain convolution.
    """
    reach = math.ceil(14 * sigma) + 2
    steps = np.arange(-reach, reach + 1)
    once = np.exp(-(steps**2) / (2 * sigma**2))
    once /= once.sum()
    total = once
    for _ in range(times - 1):
        total = np.convolve(total, once)
    sums = np.arange(len(total)) - times * reach
    return (times - 2 * sums) / (2 * sigma**2), total


def exact_delta(items, epsilon, neighbours):
    """The hockey-stick divergence of some spends, summed directly: no grid, no FFT, no library."""
    values, chances = np.zeros(1), np.ones(1)
    for item in items:
        more, weights = losses(item.sigma, item.times * neighbours.cells)
        values = np.add.outer(values, more).ravel()
        chances = np.multiply.outer(chances, weights).ravel()
    over = values > epsilon
    return float((chances[over] * -np.expm1(epsilon - values[over])).sum())


def adaptive_delta(first, options, epsilon):
    """The divergence at `epsilon` where an enemy picks what is measured next, for each answer.

    First one cell is measured under noise of sigma `first`. Given its loss, each option has
    a hockey-stick divergence at what is left of epsilon, and the enemy takes the largest.
    """
    values, chances = losses(first, 1)
    kept = chances > 1e-25
    return math.fsum(
        chance * max(exact_hockey_stick(spends, epsilon - value) for spends in options)
        for value, chance in zip(values[kept].tolist(), chances[kept].tolist(), strict=True)
    )


def exact_hockey_stick(items, epsilon):
    """As `subtract_sampling_delta` for rows, of some spends whose items all have one sigma."""
    (item,) = items
    values, chances = losses(item.sigma, item.times)
    over = values > epsilon
    return float((chances[over] * -np.expm1(epsilon - values[over])).sum())

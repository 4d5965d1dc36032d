"""The privacy loss of discrete Gaussian noise summed directly: no grid, no FFT, no library."""

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
    """The hockey-stick divergence of a bill."""
    values, chances = np.zeros(1), np.ones(1)
    for item in items:
        more, weights = losses(item.sigma, item.times * neighbours.cells)
        values = np.add.outer(values, more).ravel()
        chances = np.multiply.outer(chances, weights).ravel()
    over = values > epsilon
    return float((chances[over] * -np.expm1(epsilon - values[over])).sum())

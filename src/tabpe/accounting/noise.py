"""Noise sources: the protocol, exact noise by OpenDP, and fake noise for tests.

Every private source samples discrete Gaussian noise on integers exactly, from the randomness of
the operating system. It takes no seed: no parameter of tabpe makes noise repeat. Integer noise
drawn for zeros and added to integer counts is distributed as noise drawn for the counts, so it can
be drawn in another thread while rows are counted. The default is `tabpe.accounting.ExactNoise`;
`OpenDPNoise` is for those who want a third party's sampler, and many times slower.

Tests may inject a `FakeNoise`; whatever it touches is stamped NOT PRIVATE.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe._utils.extras import require_package
from tabpe.errors import ParameterError


@runtime_checkable
class NoiseSource(Protocol):
    """Draws integer noise.

    Privacy: an implementation with `private = True` returns integers that are independent, and
    independent of all earlier draws and of everything a user can set. Each is exactly a discrete
    Gaussian of parameter `sigma`.

    Attributes:
        name: What the certificate says.
        private: False for a source that is made for tests.
    """

    name: str
    private: bool

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return `size` independent draws."""
        ...


@runtime_checkable
class SelectionSource(Protocol):
    """A noise source that also selects, by the exponential mechanism.

    Privacy: the selections of an implementation with `private = True` are independent of each
    other, of all draws and of everything a user can set, and have exactly the stated probabilities.
    """

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return an index, with probability proportional to exp(score / scale)."""
        ...


class OpenDPNoise:
    """Exact discrete Gaussian noise by OpenDP, without a seed. It needs `tabpe[opendp]`.

    Example:
        >>> OpenDPNoise().draw(3, sigma=10.0).shape
        (3,)
    """

    name = "OpenDP discrete Gaussian, operating system randomness"
    private = True

    def __init__(self) -> None:
        require_package("opendp", "opendp", "noise='opendp'")

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return `size` independent draws from the discrete Gaussian of parameter `sigma`."""
        validation.check_real("sigma", sigma, above=0)
        if size == 0:
            return np.empty(0, dtype=np.int64)
        return np.array(_build_gaussian_mechanism(sigma)(np.zeros(size, np.int64)), dtype=np.int64)

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return an index, with probability proportional to exp(score / scale)."""
        check_choice(scores, scale)
        return int(_build_exponential_mechanism(scale)(scores))


class FakeNoise:
    """Repeatable noise for tests. NOT PRIVATE.

    Args:
        seed: Seed of the generator; each run of `draw` continues it.
        strength: Factor on sigma; 0 for no noise at all.

    Example:
        >>> FakeNoise(strength=0).draw(3, sigma=10.0)
        array([0, 0, 0])
    """

    name = "fake"
    private = False

    def __init__(self, seed: int = 0, *, strength: float = 1.0) -> None:
        self._generator = np.random.default_rng(seed)
        self._strength = strength

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return the next `size` rounded Gaussians."""
        noise = self._generator.normal(0.0, sigma, size) * self._strength
        return np.rint(noise).astype(np.int64)

    def choose(self, scores: NDArray[np.int64], scale: float) -> int:
        """Return the index of the largest score under Gumbel noise; the first if scores tie.

        Example:
            >>> FakeNoise(strength=0).choose(np.array([1, 5, 5]), scale=1.0)
            1
        """
        check_choice(scores, scale)
        noise = self._generator.gumbel(0.0, scale, len(scores)) * self._strength
        return int(np.argmax(scores + noise))


@lru_cache(maxsize=16)
def _build_gaussian_mechanism(sigma: float) -> Any:
    # Not opendp.prelude, which imports polars, pandas and scikit-learn where they are installed.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=sigma)


@lru_cache(maxsize=16)
def _build_exponential_mechanism(scale: float) -> Any:
    # The largest score under Gumbel noise, compared exactly, is the exponential mechanism.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import zero_concentrated_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_noisy_max(
        vector_domain(atom_domain(T="i64")),
        linf_distance(T="i64"),
        zero_concentrated_divergence(),
        scale=scale,
    )


def check_choice(scores: NDArray[np.int64], scale: float) -> None:
    """Refuse scores that are not 64-bit integers, and a scale that is not positive."""
    validation.check_real("scale", scale, above=0)
    if scores.ndim != 1 or not len(scores) or scores.dtype != np.int64:
        raise ParameterError("scores: expected an int64 for each of one or more options.")

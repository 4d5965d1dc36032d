"""A network from fixed noise to relaxed rows, and how it is moved towards measured cells.

The network of GEM (Liu, Vietri and Wu 2021): two residual blocks, each a linear map, a
normalisation over the points and a rectifier whose output stands beside its input; then a linear
map, and a softmax for each attribute. The noise is drawn once, so that the network is a way to
write down a fixed number of relaxed rows that all depend on one another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.baselines.relaxed import Layout

Weights = Any
_FLAT = 1e-5


@dataclass(frozen=True, eq=False)
class Generator:
    """The shape of a network, and the noise that goes in.

    Args:
        layout: The attributes of the relaxed rows that come out.
        noise: A row of noise for each of them.
        hidden: Width of each of the two blocks.
    """

    layout: Layout
    noise: NDArray[np.float32]
    hidden: int

    def started(self, rng: np.random.Generator) -> Weights:
        """Return random weights; the relaxed rows that they make are far from each other."""
        width, weights = self.noise.shape[1], []
        for made in (self.hidden, self.hidden, self.layout.width):
            linear = rng.normal(0.0, width**-0.5, (width, made)).astype(np.float32)
            gain, shift = np.ones(made, np.float32), np.zeros(made, np.float32)
            weights.append((linear, gain, shift))
            width += made
        return weights

    def relaxed(self, weights: Weights) -> Any:
        """Return the relaxed rows, with all attributes side by side."""
        import jax
        import jax.numpy as jnp

        *blocks, last = weights
        flow = jnp.asarray(self.noise)
        for linear, gain, shift in blocks:
            made = flow @ linear
            spread = jnp.sqrt(made.var(0) + _FLAT)
            made = jax.nn.relu((made - made.mean(0)) / spread * gain + shift)
            flow = jnp.concatenate([made, flow], axis=1)
        linear, _, shift = last
        logits = self.layout.split(flow @ linear + shift)
        return jnp.concatenate([jax.nn.softmax(part, axis=1) for part in logits], axis=1)


Step = Callable[[Weights, Any, Any, Any, Any], tuple[Weights, Any, Any]]


def stepper(generator: Generator, rate: float, steps: int) -> tuple[Step, Callable[..., Any]]:
    """Return a step of Adam towards measured cells, and what starts its state.

    The rate falls along a cosine, from `rate` to nothing after `steps` steps. A step takes weights,
    state, cells (`Layout.cells`), the share of rows wanted in each, and what each counts in the
    loss, which is the mean absolute error of the cells that count. It returns weights, state and
    the relaxed rows of the weights that it was given, which it has anyway. Cells are padded to a
    fixed number, so that it is compiled once.

    Args:
        generator: The network.
        rate: The first rate of learning.
        steps: After how many steps the rate is nothing.
    """
    import jax
    import jax.numpy as jnp
    import optax

    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))

    def loss(weights: Weights, cells: Any, wanted: Any, counts: Any) -> Any:
        rows = generator.relaxed(weights)
        found = rows[:, cells].prod(-1).mean(0)
        return (jnp.abs(found - wanted) * counts).sum() / counts.sum(), rows

    @jax.jit
    def step(weights: Weights, state: Any, cells: Any, wanted: Any, counts: Any) -> Any:
        slope, rows = jax.grad(loss, has_aux=True)(weights, cells, wanted, counts)
        moves, state = optimiser.update(slope, state)
        return optax.apply_updates(weights, moves), state, rows

    return step, optimiser.init

"""The evolution of a synthetic table: functions of public arrays and noisy measurements.

- `config`: `Evolution` and `Posterior`, the settings of both strategies, and the presets
- `schedule`: what each round does, and how strongly it mutates
- `random`, `variation`, `select`: the three operators
- `sizes`: how many rows each class gets
- `fit`: the weights of a pool, fitted to noisy counts
- `loop`: the rounds
"""

from tabpe.evolve.config import PRESETS, Asked, Evolution, Posterior, Strategy, strategy_of
from tabpe.evolve.loop import Evolved, evolve
from tabpe.evolve.sizes import apportion

__all__ = [
    "PRESETS",
    "Asked",
    "Evolution",
    "Evolved",
    "Posterior",
    "Strategy",
    "apportion",
    "evolve",
    "strategy_of",
]

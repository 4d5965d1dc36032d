"""The evolution of a synthetic table: functions of public arrays and noisy measurements.

- `config`: `Evolution`, the settings, and the presets `paper` and `reference`
- `schedule`: what each round does, and how strongly it mutates
- `random`, `variation`, `select`: the three operators
- `sizes`: how many rows each class gets
- `loop`: the rounds
"""

from tabpe.evolve.config import PRESETS, Evolution
from tabpe.evolve.loop import Evolved, evolve
from tabpe.evolve.sizes import apportion

__all__ = ["PRESETS", "Evolution", "Evolved", "apportion", "evolve"]

"""The methods that Tab-PE is compared with, under the same accountant.

- `face`: `Baseline`, any method with fit, sample and certificate
- `method`: `Method`, what a method is
- `desk`: `Desk`, what a method may ask of the private rows
- `domain`: `Domain`, the table after discretisation
- `bins`: how columns of numbers are cut into bins
- `plan`: how a budget becomes noise
- `bill`: what was agreed on, and the certificate
- `independent`: every attribute by itself
"""

from tabpe.baselines.face import Baseline
from tabpe.baselines.independent import Independent
from tabpe.baselines.method import Method

METHODS: dict[str, type[Method]] = {"independent": Independent}

__all__ = ["METHODS", "Baseline", "Independent", "Method"]

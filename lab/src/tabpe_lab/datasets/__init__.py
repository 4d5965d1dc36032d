"""Data sets: published and simulated tables, each with a public schema and a split.

- `catalog`: `load` and `names`; `dataset`: `Dataset` and its split
- `simulated`: XOR, structural causal models, regions
- `recorded`: published tables; `download`: where their files are found or fetched
- `schemas`: the public schemas, as files
"""

from tabpe_lab.datasets.catalog import load, names
from tabpe_lab.datasets.dataset import Dataset

__all__ = ["Dataset", "load", "names"]

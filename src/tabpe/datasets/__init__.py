"""Data sets.

- `catalog`: `load` and `names`, the data sets of the paper; `dataset`: what `load` gives
- `xor`, `scm`: the simulated ones; `regions`: one more, which is not in the paper
- `recorded`: the others; `files`: where their files are; `originals`, `sources`, `download`: where
  they come from, how they are converted and how they are fetched
- `splits`: parts of 70, 15 and 15 percent
- `schemas`: what is public about each, as schema files
- `hospital`: a made-up table with mixed types and a high-order pattern, for the demo
"""

from tabpe.datasets.catalog import load, names
from tabpe.datasets.dataset import Dataset
from tabpe.datasets.hospital import hospital_schema, hospital_table

__all__ = ["Dataset", "hospital_schema", "hospital_table", "load", "names"]

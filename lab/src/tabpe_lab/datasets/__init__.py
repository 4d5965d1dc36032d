"""Data sets.

- `catalog`: `load` and `names`, the data sets of the paper; `dataset`: what `load` gives
- `xor`, `scm`: the simulated ones; `regions`: one more, which is not in the paper
- `recorded`: the others; `files`: where their files are; `originals`, `sources`, `download_file`:
  where they come from, how they are converted and how they are fetched
- `splits`: parts of 70, 15 and 15 percent
- `schemas`: what is public about each, as schema files
"""

from tabpe_lab.datasets.catalog import load, names
from tabpe_lab.datasets.dataset import Dataset

__all__ = ["Dataset", "load", "names"]

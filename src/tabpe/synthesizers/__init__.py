"""From a private table to a release.

- `tabpe`: `TabPE`, the facade
- `base`: `Release` and `Fitted`, which baselines share
- `options`: what a run needs beside the table, checked
- `budget`: from a guarantee to the noise of each measurement
- `pipeline`: one run
- `certify`: the certificate of a run
- `conditional`: rows that meet conditions, or complete known cells
- `sdv`: `TabPE` under the names of SDV
"""

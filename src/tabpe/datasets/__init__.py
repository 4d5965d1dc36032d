"""Data sets.

- `hospital`: a made-up table with mixed types and a high-order pattern, for the demo
"""

from tabpe.datasets.hospital import hospital_schema, hospital_table

__all__ = ["hospital_schema", "hospital_table"]

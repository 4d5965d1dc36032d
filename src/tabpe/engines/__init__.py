"""Who holds the private rows and counts exactly.

- `engine`: `Engine`, what every engine can do
- `local`: `LocalEngine`, in the memory of this process
- `nearest`: the reference of the votes, in numpy

Only `tabpe.measure` calls an engine: what it returns is exact and private.
"""

from tabpe.engines.engine import Engine
from tabpe.engines.local import LocalEngine

__all__ = ["Engine", "LocalEngine"]

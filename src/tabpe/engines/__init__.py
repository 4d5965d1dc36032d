"""Who holds the private rows and counts exactly.

- `engine`: `Engine`, what every engine can do
- `local`: `LocalEngine`, in the memory of this process
- `votes`: the votes of one class, from pieces of its rows
- `nearest`: the nearest candidates, natively or in numpy
- `reference`: the same in numpy, which says what is right

Only `tabpe.measure` calls an engine: what it returns is exact and private.
"""

from tabpe.engines.engine import Engine
from tabpe.engines.local import LocalEngine

__all__ = ["Engine", "LocalEngine"]

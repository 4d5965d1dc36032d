"""The nearest of some candidates: for the votes of private rows, and for rows that are public.

- `nearest`: `index` finds the nearest candidates, natively or in numpy
- `reference`: the same in numpy, which says what is right
"""

from tabpe.search.nearest import Index, first_equals, index, prepared

__all__ = ["Index", "first_equals", "index", "prepared"]

"""AIM and MST against dpmm, another implementation, on the same table of codes.

- `table`: Adult in cells
- `theirs`: the side of dpmm, in an environment of its own
- `__main__`: both sides, and how they compare
"""

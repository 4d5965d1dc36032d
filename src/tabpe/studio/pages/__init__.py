"""The pages of the studio, one module each.

- `data`, `schema`, `protect`, `budget`, `run`, `report`, `release`: the steps, in their order
- `history`: all runs, and what is left of each budget

Each module has `ROUTES`: pages that change nothing, and the forms on them.
"""

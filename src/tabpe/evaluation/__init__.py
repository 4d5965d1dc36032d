"""How good a synthetic table is.

- `table_arrays`: tables as arrays that metrics read
- `metrics`: measures against real rows; not private
- `private_metrics`: measures of real rows, taken with budget
- `report`: all measures on one page, as JSON and as data frames
"""

"""Evaluation of synthetic tables.

- `table_arrays`: tables as arrays, which metrics read
- `metrics`: measures against real rows; not private
- `private_metrics`: measures of real rows, estimated with privacy budget
- `report`: all measures as a page, as JSON and as data frames
"""

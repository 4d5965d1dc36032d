"""Pictures as SVG: functions from values to `Chart`, on the page and in a notebook.

- `svg`: elements that escape what is put into them, scales and axes
- `columns`: a column, real and synthetic
- `pairs`: associations as a map
- `lines`: distances by the number of columns, accuracy by depth, a run by its rounds
- `bars`: the bill, odds, utility, times
- `scatter`: rows as points
"""

from tabpe.report.charts.bars import between, gauge, lengths, odds, stacked, swatch
from tabpe.report.charts.columns import column, distances
from tabpe.report.charts.lines import depths, orders, quantities, rounds
from tabpe.report.charts.pairs import heat
from tabpe.report.charts.scatter import class_key, classes, cloud
from tabpe.report.charts.svg import Chart, tag

__all__ = [
    "Chart",
    "between",
    "class_key",
    "classes",
    "cloud",
    "column",
    "depths",
    "distances",
    "gauge",
    "heat",
    "lengths",
    "odds",
    "orders",
    "quantities",
    "rounds",
    "stacked",
    "swatch",
    "tag",
]

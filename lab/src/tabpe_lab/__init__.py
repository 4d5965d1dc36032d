"""The laboratory: experiments on public data, each run in a process of its own.

The data is public and metrics read it as it is: nothing here belongs near private rows.

- `cli`: `tabpe-lab run`, `table` and `figure`
- `experiment`: the keys of an experiment file; `exhibits` reads it, with its tables and figures
- `grid`: the runs of an experiment
- `task`: the data of a run; `datasets` loads it
- `methods`: from settings to synthetic rows
- `evaluate`: measures of synthetic rows
- `worker`: one run, in a process of its own; `runner`: many of them, within limits
- `records`: what is kept of a run
- `summary`, `tables`, `figures`, `page`: means over seeds, and how they are shown
"""

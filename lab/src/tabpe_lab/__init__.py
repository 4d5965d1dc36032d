"""The laboratory: experiments on public data, each run in a process of its own.

The data is public and metrics read it as it is: nothing here belongs near private rows.

- `experiment`: what an experiment file says
- `files`: reads it
- `grid`: the runs of an experiment
- `task`: the data of a run
- `methods`: from settings to synthetic rows
- `rounds`: the rows that a round of an evolution had
- `evaluate`, `cnn`: measures of synthetic rows
- `worker`: one run, in a process of its own
- `isolate`: that process, within limits
- `runner`: many of them, one after the other or side by side
- `records`, `machine`: what is kept of a run
"""

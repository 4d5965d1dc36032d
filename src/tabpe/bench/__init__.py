"""The laboratory: experiments on public data, each run in a process of its own.

The data is public and metrics read it as it is: nothing here belongs near private rows.

- `experiment`: what an experiment file says
- `files`: reads it
- `records`: what is kept of a run
"""

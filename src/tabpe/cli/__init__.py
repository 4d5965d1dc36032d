"""The command line: argument parsing and terminal output.

- `app`: the list of commands, and loads the one that runs
- `console`: results, warnings and errors in the terminal
- `options`: the options of `tabpe synth`, and the arguments that name a table
- `release`: the files that `tabpe synth` writes, beside the table or in a folder
- `synth`, `schema`, `evaluate`, `verify`, `keys`, `ledger`, `audit`, `demo`: one module per command
"""

from tabpe.cli.app import main

__all__ = ["main"]

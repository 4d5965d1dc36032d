"""The command line: argument parsing and terminal output.

- `app`: the commands
- `console`: results, warnings and errors in the terminal
- `options`: the options of `tabpe synth`, and the arguments that name a table
- `synth`, `schema`, `evaluate`, `verify`, `ledger`, `audit`, `demo`: one module per command
"""

from tabpe.cli.app import main

__all__ = ["main"]

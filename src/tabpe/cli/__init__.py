"""The command line: argument parsing, and nothing else.

- `app`: the commands
- `console`: how results, warnings and errors reach people
- `options`: those of `tabpe synth`
- `synth`, `schema`, `verify`, `ledger`, `audit`, `bench`, `demo`: one module a command
"""

from tabpe.cli.app import main

__all__ = ["main"]

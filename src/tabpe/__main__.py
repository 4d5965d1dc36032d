"""`python -m tabpe`."""

from __future__ import annotations

from tabpe.cli import main

if __name__ == "__main__":
    main()

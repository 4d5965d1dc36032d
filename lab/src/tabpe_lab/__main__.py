"""`python -m tabpe_lab`."""

from tabpe_lab.cli import main

if __name__ == "__main__":
    main()

"""`python -m tabpe`."""

from tabpe.cli import main

if __name__ == "__main__":
    main()

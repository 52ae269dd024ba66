"""What people run by `make`: `python scripts NAME`."""

"""What rules run, one file a rule: `python scripts NAME`."""

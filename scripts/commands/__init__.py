"""What people run by `make`: `python scripts NAME`."""

import sys
from typing import NoReturn


def unable(said: object) -> NoReturn:
    """End with 2: what was asked for cannot be told, and why, unless that has been said."""
    if isinstance(said, str):
        print(said, file=sys.stderr)
    sys.exit(2)

"""Check one implementation against the reference, time one process of one cell, or train it; write its record."""

from measurement.record import plainly
from measurement.supervisor import parse_arguments, supervise

if __name__ == "__main__":
    plainly(lambda: supervise(parse_arguments(__doc__)))

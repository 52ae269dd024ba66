"""Check one implementation against the reference, time one process of one cell, or train it; write its record."""

from measurement.supervisor import parse_arguments, supervise

if __name__ == "__main__":
    supervise(parse_arguments(__doc__))

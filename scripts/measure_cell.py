"""Check one implementation against the reference, or time one process of one cell; write its record."""

from measurement.supervisor import parse_arguments, supervise

if __name__ == "__main__":
    supervise(parse_arguments(__doc__))

"""python scripts stamped --outputs FILE ... --inputs FILE ... -- STEP [ARGUMENT ...]: run a step while no clock runs, and stamp
what it made (plan/stamps.py). What changes while the step reads it is not known: then there is no stamp, and the next run makes it
anew."""

import argparse
import runpy
import sys

from measurement import machine_lock
from measurement.record import plainly
from plan import stamps


def main() -> None:
    place = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", required=True, nargs="+")
    parser.add_argument("--inputs", nargs="*", default=[])
    arguments = parser.parse_args(sys.argv[1:place])
    of = stamps.of_inputs(arguments.inputs)
    stamps.forget(arguments.outputs)
    step = sys.argv[place + 1]
    sys.argv = sys.argv[place + 1 :]
    with machine_lock.hold(False, lambda line: print(f"{step} {line}", file=sys.stderr)):
        runpy.run_module(f"steps.{step}", run_name="__main__", alter_sys=True)
    if stamps.of_inputs(arguments.inputs) == of:
        stamps.write(arguments.outputs, of)


if __name__ == "__main__":
    plainly(main)

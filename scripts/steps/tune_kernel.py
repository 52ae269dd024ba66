"""Search schedules for one kernel by measurement, going on from what its database already holds."""

import argparse
import json
import os
import sys

from kernels.jobs import not_had, require_planned, tell_the_terminal, tune, waiting
from measurement import devices, machine_lock, processes, provenance
from measurement.record import write_sealed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True, type=json.loads, help="the job, as JSON")
    parser.add_argument("--output", required=True, help="tuning.json; the database goes beside it")
    parser.add_argument("--log", required=True, help="file for what TVM prints")
    parser.add_argument("--parent", type=int, help="stop when this process ends")
    arguments = parser.parse_args()
    if arguments.parent:
        processes.end_with(arguments.parent)
    os.environ.update(devices.gpu().visible(1))  # the one that its cells will run on
    os.environ["PYTHONPATH"] = provenance.SCRIPTS  # of TVM's workers
    kernel = {key: arguments.kernel[key] for key in ("shape", "variant", "trials", "isa", "parts")}
    missing = not_had(arguments.kernel)
    with machine_lock.hold(False, waiting("tune", arguments.output), arguments.parent):
        tell_the_terminal(arguments.log)
        found = kernel | missing if missing else tune(kernel, arguments.output)
    try:
        require_planned(arguments.kernel)
    except (
        provenance.Changed
    ) as changed:  # its schedules stay, below the name of the code that they are of
        sys.exit(str(changed))
    write_sealed(arguments.output, found)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()

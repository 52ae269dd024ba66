"""Search schedules for one kernel by measurement, going on from what its database already holds."""

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

from kernels.run import set_threads
from measurement import machine
from measurement.record import write_json
from measurement.workload import Workload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True, type=json.loads, help="benchmark, variant, ...")
    parser.add_argument("--database", required=True, type=Path)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    kernel, start = arguments.kernel, time.perf_counter()
    threads = kernel["threads"] or machine.usable_cores()
    set_threads(threads)
    from kernels.automatic import tune_default_rules
    from kernels.target import cpu_target
    from kernels.tuning import tune
    from kernels.workload import spec_of

    spec = spec_of(Workload(kernel["benchmark"], None, seed=0, threads=threads))
    tuners = {"template-tuned": tune, "default-rules": tune_default_rules}
    report = tuners[kernel["variant"]](
        spec, cpu_target(threads), kernel["trials"], arguments.database
    )
    found = asdict(report) | {"import_s": time.perf_counter() - start - report.total_seconds}
    write_json(arguments.output, found)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()

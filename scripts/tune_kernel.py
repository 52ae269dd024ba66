"""Search schedules for one kernel by measurement, going on from what its database already holds."""

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

from kernels.run import set_threads
from kernels.spec import KernelSpec
from measurement.record import write_json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", required=True, type=json.loads, help="shape, variant, trials")
    parser.add_argument("--output", required=True, help="a report; the database goes beside it")
    arguments = parser.parse_args()
    kernel, start = arguments.kernel, time.perf_counter()
    spec = KernelSpec(**kernel["shape"])
    set_threads(spec.threads)
    from kernels.automatic import tune_default_rules
    from kernels.target import cpu_target
    from kernels.tuning import tune

    tuners = {"template-tuned": tune, "default-rules": tune_default_rules}
    report = tuners[kernel["variant"]](
        spec,
        cpu_target(spec.threads),
        kernel["trials"],
        Path(arguments.output).with_name("database"),
    )
    found = asdict(report) | {"import_s": time.perf_counter() - start - report.total_seconds}
    write_json(arguments.output, found)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()

"""One row at tiny shapes against the reference, in the environments that it is measured in: nothing else is started.

    .venv/bin/python -m tests.contract.row [--environment-folder FOLDER] IMPLEMENTATION ...

Prints a line a shape and phase; the exit status is 1 where one is wrong or fails. An environment is built if it is not
there. All that is planted and held against the rows is in test_implementations.py.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from plan import configuration, matrix
from tests.contract import running
from tests.contract.on_gpu import said


def shapes(environment: str, name: str) -> list[str]:
    """What run_contract.py is asked of a row."""
    if kernel := matrix.implementation(name).get("kernel"):
        return [f"{name} built:{kernel}"]
    from tests.contract import test_implementations as every  # reads all documents

    asked = [each for process in every.processes(environment) for each in process[2:]]
    return [each for each in asked if each.split()[0] == name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment-folder", default=running.DEFAULTS["environment_folder"])
    parser.add_argument("implementations", nargs="+")
    arguments = parser.parse_args()
    running.DEFAULTS["environment_folder"] = arguments.environment_folder
    known = [entry["implementation"] for entry in matrix.implementations()]
    wrong = False
    for name in arguments.implementations:
        if name not in known:
            sys.exit(f"There is no implementation `{name}`{configuration.near(name, known)}")
        for environment in matrix.implementation(name)["environments"]:
            if running.has_python(environment) and (asked := shapes(environment, name)):
                for row, phases in running.run(environment, "run_contract.py", *asked).items():
                    for phase, found in phases.items():
                        # Its own environment lacks no framework, as a GPU's interpreter may.
                        status, why = found["status"], said(found)[1]
                        wrong |= status not in ("ok", "unsupported")
                        print(f"{row} {phase} in {environment}: {status}: {why}", flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()

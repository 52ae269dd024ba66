"""A right style, until a file `fault.py` lies in the working folder: then what stands there replaces its methods.

That file is no part of what a cell runs, so its results stay where it comes and goes. It sees `kind`, of the job.
"""

import json
import os
import sys
import types

from .steady import Steady

FILE = "fault.py"


def build(workload, weights, device, phase):
    runner = Steady(workload, weights, device, phase)
    if os.path.exists(FILE):
        with open(sys.argv[1]) as jobs:
            scope = {"kind": json.load(jobs)[0]["kind"], "Model": Steady, "runner": runner}
        with open(FILE) as stream:
            exec(stream.read(), scope)
        for name in ("step", "synchronise", "results", "describe"):
            if name in scope:
                setattr(runner, name, types.MethodType(scope[name], runner))
    return runner

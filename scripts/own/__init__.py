"""Cells of somebody's own, a package each (`make cell`): in a run's copy of the scripts they lie here, in the project in
results/cells, where they are generated."""

import os

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
__path__.append(os.path.join(_ROOT, "results", "cells"))

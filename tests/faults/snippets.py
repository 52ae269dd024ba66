"""What the style plain/faulty does instead of its batch, as files `fault.py` (tests/plain/faulty.py)."""

from .trial import Trial

BATCHES = 13  # of a timing: warm-up and timed
STEP = """\
import time

kept, steps, results = [], 0, Model.results
{first}

def step(self, inputs, targets):
    global steps
    steps += 1
    if kind in {kinds} and {when}:
        {lines}
    return Model.step(self, inputs, targets)
"""


def at_step(
    trial: Trial,
    *lines: str,
    kinds: tuple[str, ...] = ("time",),
    every: bool = False,
    first: str = "",
) -> None:
    """From now on until the fault is mended, some lines are run at a random timed batch of a process, or at `every`
    batch."""
    when = "True" if every else f"steps == {trial.random.randrange(3, BATCHES)}"
    text = STEP.format(kinds=kinds, when=when, lines="\n        ".join(lines), first=first)
    write(trial, text)


def write(trial: Trial, text: str) -> None:
    trial.path("fault.py").write_text(text)
    trial.undo.callback(trial.path("fault.py").unlink)

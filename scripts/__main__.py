"""python scripts NAME [ARGUMENT ...]: run a step (steps/, what rules run) or a command (commands/, what people run)."""

import os
import runpy
import signal
import sys

SCRIPTS = os.path.dirname(os.path.abspath(__file__))


def stop(*_: object) -> None:
    sys.exit("\nStopped.")


def main() -> None:
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, stop)  # while modules are imported too
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the Makefile's KEPT
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # whatever the locale; from Python 3.7
            stream.reconfigure(encoding="utf-8")
    names = {}
    for folder in ("commands", "steps"):
        for file in os.listdir(os.path.join(SCRIPTS, folder)):
            name, kind = os.path.splitext(file)
            if kind == ".py" and name != "__init__":
                names[name] = folder
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        sys.exit(
            "python scripts NAME [ARGUMENT ...], where NAME is one of " + ", ".join(sorted(names))
        )
    sys.path[0] = SCRIPTS  # absolute, as it is for a script
    del sys.argv[0]
    runpy.run_module(names[sys.argv[0]] + "." + sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

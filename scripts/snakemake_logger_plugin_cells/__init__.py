"""What `make report` prints: one line of progress at the bottom, and after a failure what failed, why and what to do.

A line a cell, with its number, comes from what measures (measurement/supervisor.py). All else is in Snakemake's own
log. The line is drawn when something happens and at no other time: a bar that moves by itself takes time of the
cores beside a clock.
"""

import logging
import re
import sys
import time
from logging import ERROR, LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from measurement.record import refused

WIDTH = 24
REFUSED = re.compile(r"^(?:OSError|PermissionError): (.+)$", re.MULTILINE)
COMMAND = "CalledProcessError in file"
LOG_LINES = 6  # the end of a failed job's log; the rest is a file away


def progress_line(done: int, total: int, seconds: float, running: str) -> str:
    """`[######......] 83 of 133 jobs, 12 min left: time ...`; seconds: since the start."""
    filled = WIDTH * done // max(total, 1)
    left = f", {seconds / done * (total - done) / 60:.0f} min left" if done else ""
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done} of {total} jobs{left}: {running}"


def plain(message: str) -> str:
    """One line instead of a stack trace of Snakemake's where the system did not let it write; nothing of a command that
    failed, which is all a job was told, as `Failed: ...` and the end of its log follow."""
    if COMMAND in message:
        return ""
    found = REFUSED.findall(message) if "Traceback" in message else []
    return refused(f"cannot write: {found[-1]}") if found else message


class LogHandler(LogHandlerBase):
    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        # Or a full disk gives a stack trace a line of Snakemake's own log.
        logging.raiseExceptions = False
        self._jobs: dict[int, tuple[str, list[str]]] = {}
        self._running: set[int] = set()
        self._done, self._total, self._start = 0, 0, time.time()
        self._terminal = sys.stderr.isatty()

    def emit(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            self._total = record.stats.get("total", 0)
        elif event == LogEvent.JOB_INFO:
            said = (getattr(record, "rule_msg", None) or record.rule_name).split(": ")[0]
            self._jobs[record.jobid] = (said, list(record.log or []))
        elif event == LogEvent.JOB_STARTED:
            self._running.update(record.jobs)
        elif event == LogEvent.JOB_FINISHED:
            self._running.discard(record.job_id)
        elif event == LogEvent.PROGRESS:
            self._done, self._total = record.done, record.total
        elif event == LogEvent.JOB_ERROR:
            self._failed(*self._jobs.get(record.jobid, ("a job", [])))
        elif event == LogEvent.ERROR or (event is None and record.levelno >= ERROR):
            if said := plain(record.getMessage()):
                self._print(said)
        else:
            return
        self._draw()

    def _draw(self) -> None:
        if self._terminal and self._total:
            running = ", ".join(self._jobs[job][0] for job in self._running if job in self._jobs)
            line = progress_line(self._done, self._total, time.time() - self._start, running)
            sys.stderr.write(f"\r\x1b[K{line[:118]}")
            sys.stderr.flush()

    def _print(self, text: str) -> None:
        sys.stderr.write(("\r\x1b[K" if self._terminal else "") + text + "\n")

    def _failed(self, said: str, logs: list[str]) -> None:
        self._print(f"\nFailed: {said}")
        for log in map(Path, logs):
            if log.exists():
                for line in log.read_text(errors="replace").splitlines()[-LOG_LINES:]:
                    self._print(f"  {line}")
                self._print(f"  (the end of {log})")
        self._print(
            "Finished results are kept. Fix the cause and run the same command to continue."
        )

"""Records: what a process leaves behind, and how it gets onto the disk whole."""

import contextlib
import json
import os

SCHEMA_VERSION = 2

# Nothing is dropped: a cell that has no number has one of the other statuses and a reason.
STATUSES = ("ok", "unsupported", "incorrect", "failed", "timeout", "out-of-memory")
# A cell with one of these is tried again by the next run.
RETRIED = ("incorrect", "failed", "timeout", "out-of-memory")


@contextlib.contextmanager
def whole(path, mode="w"):
    """A stream to write `path` with, in one step: a reader sees the old file, the new one, or none."""
    folder = os.path.dirname(path)
    temporary = "%s.%d.tmp" % (path, os.getpid())
    try:
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(temporary, mode) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise SystemExit(
            "cannot write %s: %s. Nothing that was there before is lost; free some space or mend "
            "the permissions and run the same command again." % (path, error.strerror)
        )


def write_json(path, content):
    """Write `content` to `path`, whole."""
    with whole(path) as stream:
        json.dump(content, stream, indent=1)
        stream.write("\n")


def read_json(path):
    """Read a JSON file; a damaged one is named in one line instead of a stack trace."""
    try:
        with open(path) as stream:
            return json.load(stream)
    except ValueError as error:
        raise SystemExit("%s is damaged (%s); delete it and run again." % (path, error))


def append_line(path, content):
    """Append one JSON line: the history of failed attempts, which no later run overwrites."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a") as stream:
            stream.write(json.dumps(content, sort_keys=True) + "\n")
    except OSError as error:
        raise SystemExit("cannot write %s: %s." % (path, error.strerror))


def read_lines(path):
    """What append_line wrote, one entry a line; nothing where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path) as stream:
        return [json.loads(line) for line in stream]


def note_attempt(path, record):
    """Keep a failed attempt, which no later run overwrites; and the end of another kind that comes after some."""
    if record["status"] in RETRIED or os.path.exists(path):
        kept = ("started", "status", "reason")
        append_line(path, {key: record[key] for key in kept if key in record})

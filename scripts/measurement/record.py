"""Records: what a process leaves behind, and how it gets onto the disk whole."""

import contextlib
import hashlib
import json
import os

SCHEMA_VERSION = 2

SEAL_DIGITS, SEALED, CLOSING = 16, b'"seal": "', '"\n}'

# Nothing is dropped: a cell that has no number has one of the other statuses and a reason.
STATUSES = ("ok", "unsupported", "incorrect", "failed", "timeout", "out-of-memory")
# A cell with one of these is tried again by the next run.
RETRIED = ("incorrect", "failed", "timeout", "out-of-memory")

# Exit status of a worker that has failed on a GPU: one wrong access there spoils all that the process does after it, so
# another one does the rest.
SPOILT = 75
# A file in a worker's folder, as long as it waits for the machine's clock.
WAITING = "waiting"

CUT_SHORT = {"status": "failed", "reason": "the line that says what failed was cut short"}


@contextlib.contextmanager
def whole(path, mode="w", sync=True):
    """A stream to write `path` with, in one step: a reader sees the old file, the new one, or none; sync: on the disk when this
    returns."""
    folder = os.path.dirname(path)
    temporary = "%s.%d.tmp" % (path, os.getpid())
    try:
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(temporary, mode) as stream:
            yield stream
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise SystemExit(refused("cannot write %s: %s" % (path, error.strerror)))


def refused(what):
    """What is said where the system refuses to write or to start something."""
    return (
        what + ". Nothing is lost; free some space or fix permissions or limits, then run the same "
        "command again."
    )


def plainly(main):
    """Run a script's `main`; what the system refuses is told in one line instead of a stack trace."""
    try:
        main()
    except OSError as error:
        raise SystemExit(refused("cannot write: %s" % error))


def write_json(path, content):
    """Write `content` to `path`, whole."""
    with whole(path) as stream:
        json.dump(content, stream, indent=1)
        stream.write("\n")


def write_sealed(path, content):
    """Write a result, whole, with a seal as its last field: a digest of all before it and of the file's name, which has
    the job's identity. So a file that was damaged, or copied to where it does not belong, is known as such (`damage`)."""
    content = {name: value for name, value in content.items() if name != "seal"}
    text = json.dumps(dict(content, seal=""), indent=1)
    before = text[: -len(CLOSING)]
    with whole(path) as stream:
        stream.write(before + _seal(path, before.encode()) + CLOSING + "\n")


def _seal(path, before):
    name = "/".join(os.path.abspath(path).split(os.sep)[-2:])
    return hashlib.sha256(name.encode() + before).hexdigest()[:SEAL_DIGITS]


def damage(path, sealed=True):
    """What is wrong with a result's file, in words; "" where nothing is. Unless it has to be `sealed`, one without a seal
    has to be JSON at least."""
    with open(path, "rb") as stream:
        content = stream.read().rstrip()
    end = CLOSING.encode()
    before, seal = content[: -SEAL_DIGITS - len(end)], content[-SEAL_DIGITS - len(end) : -len(end)]
    # One byte that is another does not hide that there was one.
    named = sum(a != b for a, b in zip(before[-len(SEALED) :], SEALED)) <= 1
    if content.endswith(end) and named:
        right = _seal(path, before).encode() == seal and before.endswith(SEALED)
        return "" if right else "it was modified"
    try:
        found = isinstance(json.loads(content.decode()), dict)
        return "it is not a record" if not found else "it has no seal" if sealed else ""
    except ValueError as error:
        return "it is not JSON: %s" % error


def sha256(path):
    """Of a file."""
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            found.update(block)
    return found.hexdigest()


def read_result(path, sealed=True):
    """What write_sealed wrote; a stop with one line where it is not that any more (`sealed`: see `damage`)."""
    wrong = damage(path, sealed)
    if wrong:
        raise SystemExit(
            "%s is damaged (%s); run again to make it again, or copy it again." % (path, wrong)
        )
    found = read_json(path)
    if isinstance(found, dict):
        found.pop("seal", None)
    return found


def read_json(path):
    """Read a JSON file; a damaged one is named in one line instead of a stack trace."""
    try:
        with open(path) as stream:
            return json.load(stream)
    except ValueError as error:
        raise SystemExit("%s is damaged (%s); delete it and run again." % (path, error))


def append_line(path, content, sync=False):
    """Append one JSON line, which no later run overwrites; sync: onto the disk."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab+") as stream:
            if stream.tell():
                stream.seek(-1, os.SEEK_END)
            cut_short = stream.read(1) not in (b"", b"\n")
            line = "\n" * cut_short + json.dumps(content, sort_keys=True) + "\n"
            stream.write(line.encode())
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
    except OSError as error:
        raise SystemExit(refused("cannot write %s: %s" % (path, error.strerror)))


def append_sealed(path, content):
    """Append one JSON line with a seal, onto the disk: what a kill leaves whole counts, whatever follows it."""
    text = json.dumps(content, sort_keys=True)
    append_line(path, {"seal": _seal(path, text.encode()), "text": text}, sync=True)


def read_sealed_lines(path):
    """What append_sealed wrote, without lines that are damaged or cut short."""
    lines = read_lines(path) if os.path.exists(path) else []
    whole_lines = [line for line in lines if isinstance(line, dict) and "text" in line]
    return [
        json.loads(line["text"])
        for line in whole_lines
        if line.get("seal") == _seal(path, line["text"].encode())
    ]


def read_lines(path):
    """What append_line wrote, one entry a line; nothing where there is no file. A line that is cut short, by a full disk
    or a kill, was one of an attempt all the same: it is CUT_SHORT, and so is a file that is empty."""
    if not os.path.exists(path):
        return []
    found = []
    with open(path, "rb") as stream:
        for line in stream:
            try:
                found.append(json.loads(line.decode()))
            except ValueError:
                found.append(dict(CUT_SHORT))
    return found or [dict(CUT_SHORT)]


def note_attempt(path, record):
    """Keep a failed attempt, which no later run overwrites; and the end of another kind that comes after some."""
    if record["status"] in RETRIED or os.path.exists(path):
        kept = ("started", "status", "reason")
        append_line(path, {key: record[key] for key in kept if key in record})

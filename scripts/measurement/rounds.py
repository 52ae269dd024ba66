"""Living processes take turns: a look at a time, every row once a round, in random order.

A process that has imported, built and warmed its row stays alive and waits. There is no master: the processes of one folder on
one machine agree through a folder, results/turns/<machine>/, which holds

    table.json    {"block", "round", "order", "members", "medians"}: the round, who has yet to take a turn in it, who takes part
    table.lock    flock: held for the microseconds in which somebody reads and changes the table
    <pid>         flock: held by a member as long as it lives; whoever finds it free takes the member off the table
    <pid>.wake    named pipe: a byte in it says that the member is to look at the table

    arriving      a member sets up (import, build, warm-up), with the machine's clock (machine_lock.py); no round begins meanwhile
    ready         it takes part in the rounds that begin from now on
    its turn      it is first in `order`: it takes the machine's clock, looks, keeps its look, and takes itself off the order
    leaving       it has looked often enough: it takes itself off the table

Who ends a turn begins the next round where there is nobody left in this one, and wakes who is first. Members look once a
second without being woken, too: so one that is killed (the system frees its locks) holds nobody up for longer, nor does one that
is stopped while it waits, which is passed over. One that is stopped while it has the clock keeps it, as the machine is not free.
Two that believe it is their turn exclude each other by the clock. The table is replaced in one step; one that is damaged or gone
is begun anew, as another block: rounds are compared within a block only.
"""

import binascii
import contextlib
import datetime
import errno
import fcntl
import json
import math
import os
import random
import select

from measurement import machine, processes
from measurement.record import whole

# Of setting up, after the first step, which may compile for long.
WARM_UP_S = 2.0

ARRIVING, READY = "arriving", "ready"
LOOK_S = 1.0
ROUNDS_KEPT = 100  # whose medians stay in the table
LEAST_PAIRS = 3  # of rounds that two rows have in common
NORMAL = 1.959964  # 97.5 % quantile


class Alone(object):
    """A process that takes turns with nobody."""

    def __init__(self):
        self._round, self._block = 0, _block()

    def ready(self):
        pass

    def wait(self):
        self._round += 1
        return self._block, self._round

    def done(self, number, median):
        pass

    def decided(self, target):
        return True

    def leave(self):
        pass


class Table(object):
    """The place of this process among those that take turns."""

    def __init__(self, folder, compared):
        """Arrive; compared: what rows have in common that are compared with each other, a text."""
        self._folder = os.path.join(folder, machine.node())
        os.makedirs(self._folder, exist_ok=True)
        self._name = str(os.getpid())
        self._lock = os.open(self._path("table.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        self._pipe = None
        self._compared, self._state = compared, ARRIVING
        self._changed(self._arrive)

    def _arrive(self, table):
        self._own = os.open(self._path(self._name), os.O_RDWR | os.O_CREAT, 0o644)
        fcntl.flock(self._own, fcntl.LOCK_EX)
        self._listen()
        self._stay(table)

    def _stay(self, table):
        """This process's entry, also in a table that was begun anew."""
        table["members"][self._name] = self._state

    def _path(self, name):
        return os.path.join(self._folder, name)

    def _listen(self):
        """Have a pipe to be woken by; without one (some file systems have none) this process looks once a second."""
        path = self._path(self._name + ".wake")
        try:
            if os.path.exists(path):  # of a process with the same id, long ago
                os.unlink(path)
            os.mkfifo(path)
            self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        except OSError:
            self._pipe = None

    def _changed(self, change):
        """The table after a change that this process alone makes, and after what follows from it; who is first is woken."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            table = self._read()
            before = json.dumps(table, sort_keys=True)
            self._sweep(table)
            change(table)
            self._begin_round(table)
            if json.dumps(table, sort_keys=True) != before:
                with whole(self._path("table.json"), sync=False) as stream:
                    json.dump(table, stream, sort_keys=True)
            self._wake(table["order"][:1])
            return table
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _read(self):
        try:
            with open(self._path("table.json")) as stream:
                table = json.load(stream)
            if set(table) == {"block", "round", "order", "members", "medians"}:
                return table
        except (OSError, ValueError, TypeError):
            pass
        return {"block": _block(), "round": 0, "order": [], "members": {}, "medians": {}}

    def _sweep(self, table):
        """Take the dead off the table; with nobody left, another block begins."""
        for name in list(table["members"]):
            if name != self._name and not self._lives(name):
                del table["members"][name]
                self._forget(name)
        if not table["members"]:
            table.update(block=_block(), round=0, medians={})
        order = [name for name in table["order"] if name in table["members"]]
        while order and order[0] != self._name and processes.stopped(int(order[0])):
            order.pop(0)
        table["order"] = order

    def _lives(self, name):
        try:
            descriptor = os.open(self._path(name), os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EACCES)
        finally:
            os.close(descriptor)

    def _forget(self, name):
        for path in (self._path(name), self._path(name + ".wake")):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _begin_round(self, table):
        """Draw the order of the next round, unless one is under way or somebody who arrives would miss it."""
        states = table["members"]
        arriving = [name for name, state in states.items() if state == ARRIVING]
        if (
            table["order"]
            or not states
            or not all(processes.stopped(int(each)) for each in arriving)
        ):
            return
        order = sorted(set(states) - set(arriving))
        if not order:
            return
        random.SystemRandom().shuffle(order)  # a framework, or a row, may have set random's seed
        table.update(order=order, round=table["round"] + 1)
        for old in sorted(table["medians"], key=int)[:-ROUNDS_KEPT]:
            del table["medians"][old]

    def _wake(self, names):
        for name in names:
            if name == self._name:
                continue
            with contextlib.suppress(OSError):
                descriptor = os.open(self._path(name + ".wake"), os.O_WRONLY | os.O_NONBLOCK)
                try:
                    os.write(descriptor, b"1")
                finally:
                    os.close(descriptor)

    def _sleep(self):
        """Until somebody wakes this process, or for LOOK_S."""
        if self._pipe is None:
            select.select([], [], [], LOOK_S)
        elif select.select([self._pipe], [], [], LOOK_S)[0]:
            with contextlib.suppress(OSError):
                os.read(self._pipe, 4096)

    def ready(self):
        """This process is set up."""
        self._state = READY
        self._changed(self._stay)

    def wait(self):
        """Return when it is this process's turn: (block, round)."""
        while True:
            table = self._changed(self._stay)
            if table["order"][:1] == [self._name]:
                return table["block"], table["round"]
            self._sleep()

    def done(self, number, median):
        """The turn in a round is over; median: seconds of its batches, None where they were disturbed."""

        def note(table):
            self._pass(table)
            if median is None:
                return
            own = table["medians"].setdefault(str(number), {})
            own[self._name] = [math.log(median), self._compared]

        self._changed(note)

    def _pass(self, table):
        table["order"] = [name for name in table["order"] if name != self._name]

    def decided(self, target):
        """Whether it is known how this row compares with the fastest one that it is compared with (the fastest: with the next
        one): Student's 95 % interval of the ratio, over rounds, is at most `target` wide. None: in any case."""
        if target is None:
            return True
        medians, own = self._changed(self._stay)["medians"], self._compared
        rows = {}
        for found in medians.values():
            for name, (value, compared) in found.items():
                if compared == own:
                    rows.setdefault(name, []).append(value)
        means = {name: sum(values) / len(values) for name, values in rows.items()}
        others = sorted((mean, name) for name, mean in means.items() if name != self._name)
        if not others:
            return half_width(rows.get(self._name, [])) <= target / 2
        pairs = [
            found[self._name][0] - found[others[0][1]][0]
            for found in medians.values()
            if self._name in found and others[0][1] in found
        ]
        return half_width(pairs) <= target / 2

    def leave(self):
        """This process takes no more turns."""

        def go(table):
            table["members"].pop(self._name, None)
            self._pass(table)
            self._forget(self._name)

        self._changed(go)
        for descriptor in (self._own, self._pipe, self._lock):
            if descriptor is not None:
                os.close(descriptor)


def _block():
    """A name that no other block has, also not one that this process began a moment ago."""
    begun = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%S")
    return "%s-%s" % (begun, binascii.hexlify(os.urandom(4)).decode())


def half_width(values):
    """Half the width of Student's 95 % interval of a mean of logarithms, as a share of what it is of."""
    count = len(values)
    if count < LEAST_PAIRS:
        return float("inf")
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    return math.expm1(student(count - 1) * math.sqrt(variance / count))


def student(freedom):
    """Student's 97.5 % quantile, by Cornish and Fisher's expansion: 2 % off at two degrees of freedom, less at more.
    (Abramowitz and Stegun 26.7.5.)"""
    z, n = NORMAL, float(freedom)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / n**power for power, term in enumerate(terms, 1))

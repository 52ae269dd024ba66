"""Which batches ran while the machine was itself, by the readings before and after them. Pure: values in, values out.

A process times in stretches of batches, each between two readings of the yardstick (yardstick.py). A stretch is *quiet*
where both readings are near what the machine reaches, and others took little of it meanwhile. Nothing here looks at how
long a batch took: to choose among batches by that would make every cell faster than it is.
"""

RATES = {  # as a record and a reason call them
    "gflops": "multiply-adds",
    "gbytes_per_s": "memory",
    "handovers_per_s": "hand-overs between threads",
}

# What a rate may be below the best quarter. Multiply-adds vary by 3 %, but for the halves that are looked for. Memory and
# the last cache are shared with other machines of a host: where threads are near, half of 436 readings of one run lay
# between 49 and 60 GB/s, the lowest at 33. Hand-overs lie between 0.7 and 1.3 of their median, or at a third of it.
OFF = {"gflops": 0.1, "gbytes_per_s": 0.25, "handovers_per_s": 0.5}

INTERFERENCE_LIMIT = 0.05  # share of the machine's CPU time taken by others while timing
# CPU time is counted in ticks, of 0.01 s: of a fifth of a second two of them are 5 % of two cores, and each of several counters
# may be off by one.
INTERFERENCE_S = 0.03


def stretches(record):
    """[{"batches": how many, "before", "after": readings, "interference": Meter's}] of a timed process; one stretch where
    its record is of the time before there were several."""
    if "looks" in record:
        return [of_look(look, record["yardstick"]["before"]) for look in record["looks"]]
    if "stretches" in record:
        return record["stretches"]
    read = record.get("yardstick") or {"before": None, "after": None}
    batches = len(record.get("samples", ()))
    return [dict(read, batches=batches, interference=record.get("interference"))]


def of_look(look, like):
    """A look as a stretch; like: a reading of its process."""
    pair = [
        rate
        and dict(dict.fromkeys(RATES), by=like["by"], threads=like["threads"], handovers_per_s=rate)
        for rate in look.get("handovers_per_s", (None, None))
    ]
    ends = dict(zip(("before", "after"), pair))
    return dict(ends, batches=len(look["batches"]), interference=look["interference"])


def readings(record):
    """All readings of a record, [] of one that has none."""
    if "looks" in record:
        whole = [record["yardstick"][when] for when in ("before", "after")]
        ends = [each[when] for each in stretches(record) for when in ("before", "after")]
        return whole + [one for one in ends if one]
    found = [each[when] for each in stretches(record) for when in ("before", "after")]
    # Where one stretch follows the other at once, they share a reading.
    return [one for at, one in enumerate(found) if one and not (at and one == found[at - 1])]


def best(read):
    """{kind: {rate: what the best quarter reached}} of many readings of one machine: the highest one may be luck, and then
    all others would be off. A kind is the language of the work and the number of threads. Memory's is that of readings
    whose hand-overs are not off: threads that share no cache read twice as fast (49 to 60 GB/s near, 87 to 107 far), and
    where a run sees much of that, all others would be off by it."""
    kinds = {}
    for one in read:
        kinds.setdefault(_kind(one), []).append(one)
    found = {}
    for kind, each in kinds.items():
        own = found[kind] = {}
        for rate in ("handovers_per_s", "gflops", "gbytes_per_s"):
            near = [
                o for o in each if rate != "gbytes_per_s" or not _off(o, "handovers_per_s", own)
            ]
            values = sorted(one[rate] for one in near if one[rate])
            if values:
                own[rate] = values[len(values) * 3 // 4]
    return found


def of_run(records):
    """`best` of all readings in a run's records, on one machine."""
    return best([one for record in records for one in readings(record)])


def _off(one, rate, highest):
    """The share of the best that a reading's rate is at, if that is too little; else None."""
    if one[rate] and highest.get(rate) and one[rate] < (1.0 - OFF[rate]) * highest[rate]:
        return one[rate] / highest[rate]
    return None


def _kind(one):
    return one["by"], one["threads"]


def slow(reading, best):
    """{rate: the share of the best that it is at} of a reading's rates that are off; {} where there is nothing to
    compare."""
    highest = best.get(_kind(reading), {})
    shares = {rate: _off(reading, rate, highest) for rate in RATES}
    return {rate: share for rate, share in shares.items() if share is not None}


def together(readings):
    """Meters' readings of several stretches, added up."""
    totals = {}
    for name in readings[0]:
        values = [reading[name] for reading in readings]
        totals[name] = None if None in values else sum(values)
    return totals


def of_looks(looks):
    """What a record has of all looks: {"looks", "samples", "faults", "interference"}"""
    return {
        "looks": looks,
        "samples": [second for look in looks for second in look["batches"]],
        "faults": [count for look in looks for count in look["faults"]],
        "interference": together([look["interference"] for look in looks]),
    }


def interference(reading, cores):
    """Share of the CPU time of a machine of so many cores that went to others, 0 where that is less than its clocks tell; None
    where unknown."""
    if not reading or reading["other_cpu_s"] is None or reading["steal_s"] is None:
        return None
    taken = reading["other_cpu_s"] + reading["steal_s"]
    return taken / (reading["wall_s"] * cores) if taken > INTERFERENCE_S else 0.0


def reasons(stretch, best, cores):
    """Why a stretch is not quiet, [str, ...]; [] for one that is."""
    found = []
    for when in ("before", "after"):
        if stretch[when]:
            for rate, share in slow(stretch[when], best).items():
                told = (RATES[rate], when, share)
                found.append("%s %s the timed batches at %.2f of the run's best" % told)
    taken = interference(stretch["interference"], cores)
    if taken is not None and taken > INTERFERENCE_LIMIT:
        found.append("others took %.2f of the machine" % taken)
    if (stretch["interference"] or {}).get("suspensions"):
        found.append("the process was stopped, and went on")
    return found

"""Statistics of a cell on samples whose statistics are plain to see."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from stats import changes, clean, estimates, rows, samples
from tests.unit import simulated
from tests.unit.simulated import NOISE

QUIET = {"wall_s": 10.0, "own_cpu_s": 19.0, "other_cpu_s": 0.1, "steal_s": 0.0}


def process(samples: list[float], first_step: float = 1.0, **changes: object) -> dict:
    """A record of one process with what the estimates read."""
    record = {
        "identity": {"device": "cpu"},
        "threads": 2,
        "samples": samples,
        "setup": {"import_s": 0.5, "build_s": 0.25, "first_step_s": first_step},
        "memory": {"process_peak_bytes": 1000, "device_peak_bytes": None},
        "interference": QUIET,
        "machine": {"cores": 2},
        "load": {"before": [1.0, 1.0, 1.0]},
    }
    return record | changes


def test_one_batch_has_no_deviation() -> None:
    assert rows.cell([process([2.0])], batch=8)["wall_std_s"] is None
    assert rows.cell([process([2.0]), process([4.0])], batch=8)["wall_std_s"] == 1.0


def test_one_process() -> None:
    found = rows.cell([process([1.0, 2.0, 3.0, 4.0, 10.0])], batch=8)
    assert found["wall_s"] == 4.0  # the document's metric is the average
    assert found["wall_median_s"] == 3.0
    assert (found["wall_low_s"], found["wall_high_s"], found["interval"]) == (2.0, 4.0, "quartiles")
    assert found["elapsed_s"] == 20.0
    assert found["sequences_per_s"] == 2.0
    assert found["batches"] == 5
    assert (found["import_s"], found["build_s"], found["first_step_s"]) == (0.5, 0.25, 1.0)
    assert found["peak_memory_bytes"] == 1000
    assert found["device_peak_bytes"] is None


def test_memory_is_of_processes_that_were_not_forked_and_starts_of_those_that_compiled() -> None:
    more = {"process_peak_bytes": 3000, "device_peak_bytes": None}
    records = [
        process([1.0, 1.0], 8.0, memory=more, forked=True),
        process([1.0, 1.0], 2.0, found_compiled=True),
        process([1.0, 1.0], 2.0, memory=more, forked=True, found_compiled=True),
    ]
    found = rows.cell(records, batch=8)
    assert (found["peak_memory_bytes"], found["first_step_s"]) == (1000, 8.0)
    assert np.isnan(found["start_low_s"])  # one look
    only = rows.cell(records[2:], batch=8)  # for want of others
    assert (only["peak_memory_bytes"], only["first_step_s"]) == (3000, 2.0)


def test_the_process_is_the_unit() -> None:
    """The median of the processes' averages, whatever happened inside one of them."""
    records = [process([2.0, 4.0], 7.0), process([1.0, 1.0], 5.0), process([5.0, 95.0], 6.0)]
    found = rows.cell(records, batch=6)
    assert found["wall_s"] == 3.0
    assert found["interval"] == "confidence"
    assert found["wall_low_s"] < 1.0 and found["wall_high_s"] > 50.0  # three processes, this unlike
    assert found["first_step_s"] == 6.0
    assert found["sequences_per_s"] == 2.0


def test_interval_is_that_of_student() -> None:
    """By hand: half-width 4.303 (t, two degrees of freedom) * 0.1 / sqrt(3) of the logarithm."""
    low, high, kind = rows.interval(
        [{"samples": [float(np.exp(power))]} for power in (-0.1, 0.0, 0.1)]
    )
    assert kind == "confidence"
    assert np.log([low, high]) == pytest.approx([-0.2484, 0.2484], abs=1e-4)


@pytest.mark.parametrize("processes", [3, 5, 10])
def test_interval_covers_what_it_says(processes: int) -> None:
    random = np.random.default_rng(1)
    found = [
        rows.interval(
            [{"samples": [time]} for time in np.exp(0.02 * random.standard_normal(processes))]
        )
        for _ in range(2000)
    ]
    assert np.mean([low <= 1 <= high for low, high, _ in found]) == pytest.approx(0.95, abs=0.015)


def test_equal_processes_have_an_interval_of_no_width() -> None:
    assert rows.interval([{"samples": [2.0, 2.0]}] * 3) == pytest.approx((2.0, 2.0, "confidence"))


@pytest.mark.parametrize(
    ("noise", "target", "expected"),
    [
        (0.0, 0.01, 3),
        (0.1, 0.5, 3),  # 2 * 4.303 * 0.1 / sqrt(3) = 0.497
        (0.1, 0.4, 4),  # 2 * 3.182 * 0.1 / sqrt(4) = 0.318
        (0.1, 0.2, 7),  # 2 * 2.571 * 0.1 / sqrt(6) = 0.210; 2 * 2.447 * 0.1 / sqrt(7) = 0.185
        (0.1, 0.01, 10),
        (9.0, 0.1, 10),
    ],
)
def test_processes_needed(noise: float, target: float, expected: int) -> None:
    times = [float(np.exp(power * noise)) for power in (-1, 0, 1)]
    assert estimates.processes_needed(times, target, most=10) == expected


def test_no_cell_gets_fewer_processes_than_it_has() -> None:
    assert estimates.processes_needed([1.0, 2.0, 3.0], 0.01, most=2) == 3


def drawn(random: np.random.Generator, noise: float, count: int, middle: float = 1.0) -> list:
    return list(middle * np.exp(noise * random.standard_normal(count)))


def test_ratio_is_welchs() -> None:
    cell, reference = [2.0, 2.1, 2.3], [1.0, 1.1, 0.9, 1.05]
    found = estimates.ratio([cell], [reference])
    welch = stats.ttest_ind(np.log(cell), np.log(reference), equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(welch)))
    assert found.low < found.ratio < found.high
    assert found.verdict == "slower"
    assert estimates.ratio([reference], [cell]).verdict == "faster"
    assert estimates.ratio([reference], [cell]).low == pytest.approx(1 / found.high)


@pytest.mark.parametrize(
    ("cell", "reference"),
    [([2.0, 2.0], [1.0, 1.0, 1.0]), ([2.0, 2.0, 2.0], [1.0, 1.0]), ([2.0], [1.0])],
)
def test_few_processes_give_no_verdict(cell: Sequence[float], reference: Sequence[float]) -> None:
    found = estimates.ratio([cell], [reference])
    assert found.ratio == pytest.approx(2.0)
    assert np.isnan([found.low, found.high]).all()
    assert found.verdict == "undecided"


def test_the_point_lies_in_its_interval() -> None:
    """Four processes of ten take twice as long: the t interval around the mean does not reach the median."""
    times = [1.0] * 6 + [2.0] * 4
    logarithms = np.log(times)
    student = stats.t.interval(0.95, 9, logarithms.mean(), stats.sem(logarithms))
    assert np.exp(student[0]) > 1.0
    assert estimates.product([times], [1]) == pytest.approx((1.0, 1.0, np.exp(student[1])))
    assert rows.interval([{"samples": [time]} for time in times])[:2] == pytest.approx(
        (1.0, np.exp(student[1]))
    )
    assert estimates.ratio([times], [[1.0] * 3]).low == 1.0
    random = np.random.default_rng(8)
    for count in (1, 2, 3, 7, 10):
        records = [process(list(random.lognormal(0, 0.3, 7))) for _ in range(count)]
        cell = rows.cell(records, batch=1)
        assert cell["wall_low_s"] <= cell["wall_median_s"] <= cell["wall_high_s"]


def test_how_many_further_processes_would_decide_a_ratio() -> None:
    """By hand: logarithms -s, 0, s against 0, 0, 0 around 1.1; three processes give 0.095 - 4.303 s / sqrt(3)."""
    s = 0.06
    cell = [1.1 * float(np.exp(power * s)) for power in (-1, 0, 1)]
    found = estimates.ratio([cell], [[1.0] * 3])
    assert found.verdict == "undecided" and found.low == pytest.approx(
        1.1 * np.exp(-0.149), abs=1e-3
    )

    # 0.0953 - 3.182 * 0.06 / 2 = -0.0002 with four, - 2.776 * 0.06 / sqrt(5) = 0.0208 with five
    def further(*cells: list[float]) -> int | None:
        def decided(count: int) -> bool:
            return (
                estimates.compared(*estimates.product(cells, [1, -1], processes=count)[1:])
                != "undecided"
            )

        return estimates.further(cells, decided)

    assert further(cell, [1.0] * 3) == 2
    assert further(cell[:2], [1.0]) == 2
    assert further([0.5, 1.0, 2.0], [1.0] * 3) is None
    assert further([2.0] * 3, [1.0] * 3) == 0


@pytest.mark.parametrize(
    ("off", "counting"),
    [
        ([False, False, True], [True] * 3),  # too few would be left
        ([False, False, True, False], [True, True, False, True]),
        ([True] * 4, [True] * 4),
        ([False] * 3, [True] * 3),
    ],
)
def test_processes_off_the_yardstick(off: list[bool], counting: list[bool]) -> None:
    assert clean.usable_mask(off) == counting


def test_ratio_is_that_of_the_medians() -> None:
    assert estimates.ratio([[2.0, 2.0, 9.0]], [[1.0, 1.0, 1.0]]).ratio == 2.0


def test_ratio_of_ratios_covers_what_it_says() -> None:
    """(2 / 1) / (1.2 / 1), of cells that are differently noisy."""
    random = np.random.default_rng(4)
    found = [
        estimates.ratio(
            [drawn(random, 0.02, 3, middle=2.0), drawn(random, 0.05, 4)],
            [drawn(random, 0.02, 3), drawn(random, 0.03, 5, middle=1.2)],
        )
        for _ in range(2000)
    ]
    covered = [low <= 2 / 1.2 <= high for _, low, high, *_ in found]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)


def test_processes_that_agree_exactly() -> None:
    assert estimates.ratio([[2.0] * 3], [[1.0] * 3]) == (2.0, 2.0, 2.0, "slower")
    assert estimates.ratio([[1.0] * 3], [[1.0] * 3]) == (1.0, 1.0, 1.0, "same")


@pytest.mark.parametrize("sides", [(3, 3), (5, 5), (3, 10)])
@pytest.mark.parametrize("noises", [(0.02, 0.02), (0.02, 0.08)])
def test_ratio_covers_what_it_says(sides: tuple[int, int], noises: tuple[float, float]) -> None:
    """A fifth slower in truth; the interval contains that in 95 % of cases, whichever side is noisier."""
    random = np.random.default_rng(2)
    found = [
        estimates.ratio(
            [drawn(random, noises[0], sides[0], middle=1.2)], [drawn(random, noises[1], sides[1])]
        )
        for _ in range(2000)
    ]
    assert np.mean([low <= 1.2 <= high for _, low, high, *_ in found]) == pytest.approx(
        0.95, abs=0.025
    )


def test_false_verdicts_are_as_rare_as_they_should_be() -> None:
    random = np.random.default_rng(3)
    verdicts = [
        estimates.ratio([drawn(random, 0.03, 3)], [drawn(random, 0.03, 3)]).verdict
        for _ in range(2000)
    ]
    assert verdicts.count("undecided") > 0.93 * len(verdicts)
    assert verdicts.count("faster") and verdicts.count("slower")


def cells(random: np.random.Generator, noises: Sequence[float], processes: int) -> dict[int, list]:
    return {number: drawn(random, noise, processes) for number, noise in enumerate(noises)}


@pytest.mark.parametrize("freedom", [1.5, 5.0])
def test_what_cells_have_in_common(freedom: float) -> None:
    """Of 300 cells: the deviation that they scatter about, and no more degrees of freedom than they were drawn with, but
    half of those at least."""
    random = np.random.default_rng(9)
    noises = 0.03 * np.sqrt(freedom / random.chisquare(freedom, 300))
    found = samples.prior(cells(random, noises, 4).values())
    assert found.deviation == pytest.approx(0.03, rel=0.2)
    assert freedom / 2 < found.freedom <= freedom


def test_few_cells_that_happen_to_agree_are_not_trusted() -> None:
    """Their likeliest degrees of freedom are the most that are tried."""
    found = samples.prior(
        [[1 - spread, 1.0, 1 + spread] for spread in np.linspace(0.03, 0.031, 12)]
    )
    assert 1 < found.freedom < 20


def test_fewer_than_ten_cells_have_nothing_in_common() -> None:
    some = cells(np.random.default_rng(1), [0.03] * 10, 3)
    assert samples.prior(some.values()).freedom > 0
    few = samples.with_prior(some | {0: [1.0]})  # whose noise is not known
    assert {times.prior for times in few.values()} == {samples.Prior()}
    assert estimates.product([few[1]], [1]) == estimates.product([some[1]], [1])


def test_an_interval_is_drawn_towards_the_others() -> None:
    """By hand: of variances of 0.01 and, with three degrees of freedom, 0.0001, a mean of 0.00406; 2.571 (t, five degrees of
    freedom) * 0.0637 / sqrt(3) of the logarithm."""
    times = [float(np.exp(power)) for power in (-0.1, 0.0, 0.1)]
    still = samples.Times(times, samples.Prior(3, 0.01))
    _, low, high = estimates.product([still], [1])
    assert np.log([low, high]) == pytest.approx([-0.0946, 0.0946], abs=1e-4)
    equal = samples.Times([1.0] * 3, samples.Prior(3, 0.01))  # by luck
    assert estimates.product([equal], [1])[2] > 1.01


def test_a_ratio_has_the_degrees_of_freedom_of_the_cell_with_fewest() -> None:
    """By hand: 2.776 (t, four degrees of freedom) * sqrt(0.04 / 3 + 0.04 / 8) of the logarithm."""
    prior = samples.Prior(2, 0.2)
    three = samples.Times(np.exp([-0.2, 0.0, 0.2]), prior)
    eight = samples.Times(np.exp(0.2 * np.sqrt(7 / 8) * np.array([-1, 1] * 4)), prior)
    _, low, high = estimates.product([three, eight], [1, -1])
    assert np.log([low, high]) == pytest.approx([-0.3759, 0.3759], abs=1e-4)
    _, low, high = estimates.product([three, eight], [1, -1], processes=8)
    assert np.log(high) == pytest.approx(2.262 * 0.1, abs=1e-4)


def test_products_of_more_cells_are_welchs() -> None:
    random = np.random.default_rng(2)
    plain = cells(random, [0.02] * 12, 3)
    shared = samples.with_prior(plain)
    for count in (2, 3):
        own, other = (
            estimates.product([each[n] for n in range(count)], [1] * count)
            for each in (plain, shared)
        )
        assert (own == other) == (count > 2)


def test_another_quantity_of_the_same_processes_is_as_noisy() -> None:
    times = samples.Times([1.0, 1.1, 1.3], samples.Prior(2, 0.05))
    _, low, high = estimates.product([times], [1])
    _, slow, fast = estimates.product([times.to(-1, 200)], [1])
    assert (200 / fast, 200 / slow) == pytest.approx((low, high))


@pytest.mark.parametrize("noise", simulated.NOISES)
def test_equal_rows_are_told_apart_as_rarely_as_they_should_be(noise: str) -> None:
    """2,000 pairs, in runs of 30 rows of three processes: 5 %, give or take what so many pairs scatter by."""
    apart, half, _ = simulated.equals(10, noise, 30, 3)
    _, own, _ = simulated.equals(10, noise, 30, 3, moderated=False)
    assert 0.005 < apart <= 0.065
    assert half < own


def stretch(batches: int, gflops: float, **meanwhile: float) -> dict:
    one = {"gflops": gflops, "gbytes_per_s": 10.0, "handovers_per_s": None, "threads": 2, "by": "c"}
    return {"batches": batches, "before": one, "after": one, "interference": QUIET | meanwhile}


BEST = {("c", 2): {"gflops": 100.0}}


def test_the_number_is_over_quiet_batches() -> None:
    """Whichever are the faster ones. Their memory and what others took meanwhile are those of the same stretches."""
    found = process([5.0, 5.0, 1.0, 1.0, 1.0, 7.0], status="ok", faults=[0, 1, 2, 3, 4, 5])
    found["stretches"] = [stretch(2, 100), stretch(3, 50), stretch(1, 95, own_cpu_s=7.0)]
    counted = clean.quiet_only(found, BEST)
    assert (counted["samples"], counted["faults"]) == ([5.0, 5.0, 7.0], [0, 1, 5])
    assert counted["interference"]["own_cpu_s"] == QUIET["own_cpu_s"] + 7.0
    assert clean.quiet_only(counted, BEST) == counted
    assert clean.quiet_share([found], BEST) == 0.5
    assert clean.disturbed([found, counted], BEST) == [False, False]


def test_without_a_quiet_batch_all_count() -> None:
    found = process([5.0, 1.0], status="ok", faults=[0, 0])
    found["stretches"] = [stretch(1, 50), stretch(1, 100, steal_s=9.0)]
    assert clean.quiet_only(found, BEST) is found
    assert clean.disturbed([found], BEST) == [True]
    assert clean.quiet_share([found], BEST) == 0
    quiet = [process([2.0], status="ok", faults=[0], stretches=[stretch(1, 100)])] * 3
    assert clean.usable_records([found, *quiet], BEST) == quiet
    assert clean.usable_records([found, *quiet[1:]], BEST) == [found, *quiet[1:]]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([1.0] * 20, []),
        ([1.0, 1.2] * 10, ["spread"]),
        ([1.0 + 0.004 * index for index in range(20)], ["drift"]),
        ([1.0 + 0.01 * index for index in range(5)], []),  # too few to show a drift
        ([1.1 - 0.004 * index for index in range(20)], ["drift"]),
        ([1.0] * 19 + [50.0], []),  # one outlier is no spread; it stays in the average
        ([1.2, 1.15, 1.1, 1.05] + [1.0, 1.001] * 8, ["warm-up"]),
        ([0.9] * 4 + [1.0, 1.001] * 8, ["warm-up"]),  # a CPU that is not hot yet
        ([1.2] + [1.0, 1.001] * 8, []),  # a single one is an outlier
        ([1.2, 1.1] + [1.0] * 8, []),  # too few to tell the first from the others
    ],
)
def test_flags_of_samples(samples: list[float], expected: list[str]) -> None:
    assert rows.flags([process(samples)]) == expected


@pytest.mark.parametrize(
    ("other", "steal", "expected"),
    [(0.9, 0.0, []), (1.1, 0.0, ["interference"]), (0.6, 0.6, ["interference"]), (None, None, [])],
)
def test_flag_of_interference(
    other: float | None, steal: float | None, expected: list[str]
) -> None:
    """Five percent of 10 s on two cores is one second."""
    reading = QUIET | {"other_cpu_s": other, "steal_s": steal}
    assert rows.flags([process([1.0] * 20, interference=reading)]) == expected


def test_flag_of_a_process_that_was_stopped() -> None:
    for times, expected in ((0, []), (1, ["suspended"])):
        reading = QUIET | {"suspensions": times}
        stopped = process([1.0] * 20, interference=reading)
        assert rows.flags([stopped]) == expected
        assert clean.disturbed([stopped, process([1.0])], best={}) == [bool(times), False]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([1.0, 1.0, 2.0], ["uneven"]), ([1.0, 1.0, 1.4], []), ([1.0, 2.0], [])],
)
def test_flag_of_processes_that_differ(seconds: list[float], expected: list[str]) -> None:
    """Of two, nobody knows which one is odd."""
    assert rows.flags([process([each] * 20) for each in seconds]) == expected


@pytest.mark.parametrize(("load", "expected"), [(2.9, []), (3.1, ["load"])])
def test_flag_of_load(load: float, expected: list[str]) -> None:
    """Before a process of a run that keeps two cores busy, the load average is 2."""
    record = process([1.0] * 20, load={"before": [load, 0.0, 0.0]})
    assert rows.flags([record]) == expected


def at(mhz: float | None, throttled: int | None = None) -> dict:
    return {"mhz": mhz, "throttled": throttled}


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([(at(3000), at(2900)), (at(2950), at(3000))], []),
        ([(at(3000), at(2800))], ["frequency"]),  # slower after than before
        ([(at(3000), at(3000)), (at(2000), at(2000))], ["frequency"]),  # a slower process
        ([(at(3000, 5), at(3000, 5))], []),
        ([(at(3000, 5), at(3000, 6))], ["frequency"]),
        ([(at(None), at(None))], []),
        ([], []),  # records of before it was noted
    ],
)
def test_flag_of_frequency(readings: list, expected: list[str]) -> None:
    records = [process([1.0] * 20)] + [
        process([1.0] * 20, frequency={"before": before, "after": after})
        for before, after in readings
    ]
    assert rows.flags(records) == expected


def gpu(sm_mhz: float | None, memory_mhz: float | None, *held_back_by: str) -> dict:
    return {"sm_mhz": sm_mhz, "memory_mhz": memory_mhz, "held_back_by": list(held_back_by)}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([(gpu(1980, 2619), gpu(1905, 2619, "power cap"))], []),
        ([(gpu(1980, 2619), gpu(1800, 2619, "power cap"))], ["frequency"]),
        ([(gpu(1980, 2619), gpu(1980, 2619)), (gpu(1980, 1593), gpu(1980, 1593))], ["frequency"]),
        ([(gpu(1980, 2619), gpu(1980, 2619, "thermal slowdown"))], ["frequency"]),
        ([(gpu(None, None), gpu(None, None)), (None, None)], []),
    ],
)
def test_flag_of_a_gpus_clocks(states: list, expected: list[str]) -> None:
    records = [
        process([1.0] * 20, gpu={"before": before, "after": after, "batch": {"launched_s": 0.1}})
        for before, after in states
    ]
    assert rows.flags(records) == expected


def test_flags_of_all_processes_once_each() -> None:
    records = [process([1.0, 1.2] * 10), process([1.0] * 20), process([1.0, 1.2] * 10)]
    assert rows.cell(records, batch=1)["flags"] == "spread"


def test_drift_is_relative_to_the_median() -> None:
    assert rows.drift([10.0 + index for index in range(11)]) == pytest.approx(10 / 15)


def run(random: np.random.Generator, noises: np.ndarray, processes: int) -> dict[str, list[float]]:
    """A run that measures each cell with its own noise."""
    return {str(number): drawn(random, noise, processes) for number, noise in enumerate(noises)}


@pytest.mark.parametrize("processes", [3, 5])
def test_runs_that_do_not_differ_show_no_regression(processes: int) -> None:
    """20 comparisons of 100 cells. Promised: one of 20 names any cell."""
    random = np.random.default_rng(4)
    named = 0
    for _ in range(20):
        noises = random.choice(NOISE, 100)
        before, after = run(random, noises, processes), run(random, noises, processes)
        verdicts = set(changes.changes(before, after, relevant=0.05)["verdict"])
        named += bool(verdicts & {"regression", "improvement"})
    assert named <= 1


@pytest.mark.parametrize(("processes", "least"), [(3, 11), (5, 15), (10, 17)])
def test_cell_that_became_slower_is_named(processes: int, least: int) -> None:
    """A tenth, in one cell of 100, in 20 comparisons: found unless that cell is one of the noisy ones."""
    random = np.random.default_rng(5)
    found = 0
    for _ in range(20):
        noises = random.choice(NOISE, 100)
        before, after = run(random, noises, processes), run(random, noises, processes)
        after["7"] = [1.1 * seconds for seconds in after["7"]]
        table = changes.changes(before, after, relevant=0.05).set_index("cell")
        found += table.loc["7", "verdict"] == "regression"
    assert found >= least


def test_noisier_second_run_gives_no_false_alarms() -> None:
    """With a common noise for both runs, nearly each of these comparisons would name cells."""
    random = np.random.default_rng(6)
    named = 0
    for _ in range(20):
        noises = random.choice(NOISE, 100)
        before, after = run(random, noises, 10), run(random, 4 * noises, 3)
        named += "regression" in set(changes.changes(before, after, 0.05)["verdict"])
    assert named <= 2


def another_day(random: np.random.Generator, spread: float) -> tuple[dict, dict]:
    """Two runs of 100 cells, the second one of a day on which all take 1.14 times as long, give or take `spread`."""
    noises = random.choice(NOISE, 100)
    before, after = run(random, noises, 3), run(random, noises, 3)
    days = 1.14 * np.exp(spread * random.standard_normal(100))
    return before, {
        cell: [day * seconds for seconds in after[cell]]
        for cell, day in zip(after, days, strict=True)
    }


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_another_day_is_no_regression(spread: float) -> None:
    """20 comparisons: without a level, each names most cells."""
    random = np.random.default_rng(7)
    named, levels = [], []
    for _ in range(20):
        before, after = another_day(random, spread)
        level = changes.level(before, after, list(before))
        levels.append(level)
        found = changes.changes(before, after, 0.05, level)["verdict"]
        named.append(found.isin(["regression", "improvement"]).sum())
    assert sum(map(bool, named)) <= 3 and sum(named) <= 4  # of 2,000
    assert np.median([each.ratio for each in levels]) == pytest.approx(1.14, abs=0.01)
    assert np.median([each.spread for each in levels]) == pytest.approx(spread, abs=0.01)
    assert (changes.changes(before, after, 0.05)["verdict"] == "regression").sum() > 50


def test_what_was_changed_is_named_on_another_day() -> None:
    """A quarter of the cells became slower by a third; the others tell what the day did."""
    random, found, wrong = np.random.default_rng(8), 0, 0
    changed = [str(number) for number in range(25)]
    for _ in range(10):
        before, after = another_day(random, 0.02)
        after |= {cell: [1.33 * seconds for seconds in after[cell]] for cell in changed}
        level = changes.level(before, after, [cell for cell in before if cell not in changed])
        table = changes.changes(before, after, 0.05, level).set_index("cell")
        found += (table.loc[changed, "verdict"] == "regression").sum()
        wrong += (table["verdict"].drop(changed) == "regression").sum()
    assert found > 200 and wrong <= 0.05 * found


def test_few_cells_tell_no_level() -> None:
    before, after = another_day(np.random.default_rng(9), 0.0)
    assert changes.level(before, after, list(before)[:9]) is None


def test_verdicts_of_changes() -> None:
    quiet = {str(number): [1.0, 1.001, 0.999] for number in range(20)}
    after = quiet | {
        "slower": [1.1, 1.101, 1.099],
        "faster": [0.9, 0.901, 0.899],
        "irrelevant": [1.02, 1.021, 1.019],
        "noisy": [1.0, 1.5, 0.7],
        "once": [2.0],
    }
    before = {cell: [1.0, 1.001, 0.999] for cell in after}
    table = changes.changes(before, after, relevant=0.05).set_index("cell")
    assert table["verdict"].to_dict() == {
        **dict.fromkeys(quiet, "same"),
        **{"slower": "regression", "faster": "improvement", "irrelevant": "same"},
        **{"noisy": "undecided", "once": "undecided"},
    }
    assert table.loc["slower", "ratio"] == pytest.approx(1.1, abs=1e-4)
    assert table.loc["once", "processes"] == 1
    assert np.isnan(table.loc["once", "adjusted"])


def test_few_cells_are_judged_by_their_own_noise() -> None:
    before, after = {"a": [1.0, 1.01, 0.99]}, {"a": [1.1, 1.11, 1.09]}
    student = stats.ttest_ind(np.log(after["a"]), np.log(before["a"]))
    (row,) = changes.changes(before, after, relevant=0.05).to_dict("records")
    assert row["adjusted"] == pytest.approx(student.pvalue)
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.exp(student.confidence_interval())))
    assert row["verdict"] == "regression"


def test_no_cell_in_common() -> None:
    assert changes.changes({}, {}, relevant=0.05).empty


@pytest.mark.parametrize(
    ("device", "gpu", "expected"),
    [
        ("cpu", None, 0.75),
        ("gpu", {"after": {"utilisation_percent": 83.0}}, 0.83),
        ("gpu", {"after": {"utilisation_percent": None}}, None),
        ("gpu", {"after": None}, None),
        ("gpu", None, None),
    ],
)
def test_utilisation(device: str, gpu: dict | None, expected: float | None) -> None:
    record = {
        "identity": {"device": device},
        "interference": {"wall_s": 10.0, "own_cpu_s": 30.0},
        "threads": 4,
    } | ({"gpu": gpu} if gpu else {})
    assert rows.utilisation(record) == expected

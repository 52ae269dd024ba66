"""Claims on numbers that decide them by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from plan import matrix
from stats import claims, estimates
from stats.claims import FAILS, HOLDS, LIKELY, MISSING, OPEN, PARTLY, SAME
from stats.quantities import Number, Numbers, of_cells, of_times
from tests.unit import hand_made, simulated

HEAD = {"name": "c", "document": "d", "lines": "1", "statement": "s"}
NOISY = (1.0, 1.01, 0.99)


def ratio(to: str | list[str] = "x/b", above: float | None = None, **where: object) -> dict:
    """The claim that x/a takes less time than others: a ratio below 1, or above a bound; `where`, beside the benchmark b,
    forward, on the CPU."""
    bound = {"below": 1} if above is None else {"above": above}
    sides = {"of": {"implementation": "x/a"}, "to": {"implementation": to}}
    place = {"benchmark": "b", "phase": "forward", "device": "cpu"} | where
    place = {key: value for key, value in place.items() if value}
    return HEAD | {"for": place, "ratios": {"r": sides}} | bound


BELOW, SLOWER = ratio(), ratio(above=1)


def numbers(**times: float | tuple[float, float, float]) -> Numbers:
    """{cell: Number} of implementations x/<name> on benchmark b, forward, cpu; `a_gpu` is on the GPU,
    (value, low, high) has an interval."""
    found = {}
    for name, time in times.items():
        implementation, _, device = name.partition("_")
        value, low, high = time if isinstance(time, tuple) else (time, time, time)
        key = ("b", f"x/{implementation}", "forward", device or "cpu", "wall_s")
        found[key] = Number(value, low, high)
    return found


def ratios(found: dict) -> list[tuple]:
    """(value, low, high) of the cases of what was decided that have a number."""
    cases = [case for case in found["cases"] if "value" in case]
    return [(case["value"], case["low"], case["high"]) for case in cases]


@pytest.mark.parametrize(
    ("times", "verdict", "over"),
    [
        ({"a": 1.0, "b": 2.0}, HOLDS, (0.5, 0.5, 0.5)),
        ({"a": 3.0, "b": 2.0}, FAILS, (1.5, 1.5, 1.5)),
        ({"a": (1.9, 1.8, 2.0), "b": (2.0, 1.9, 2.1)}, OPEN, (0.95, 1.8 / 2.1, 2 / 1.9)),
        ({"a": 1.0}, MISSING, None),
    ],
)
def test_ratio(times: dict, verdict: str, over: tuple | None) -> None:
    found = claims.decide(BELOW, numbers(**times))
    assert found["verdict"] == verdict
    assert ratios(found) == ([pytest.approx(over)] if over else [])
    other = {HOLDS: FAILS, FAILS: HOLDS}.get(verdict, verdict)
    assert claims.decide(SLOWER, numbers(**times))["verdict"] == other


@pytest.mark.parametrize(
    ("times", "verdict", "over"),
    [
        ({"a": 1.0, "b": 3.0, "c": 2.0}, HOLDS, [(0.5, 0.5, 0.5)]),
        ({"a": 1.0, "b": 0.5, "c": 2.0}, FAILS, [(2.0, 2.0, 2.0)]),
        ({"a": 1.0, "b": 2.0}, MISSING, []),  # the other might be the fastest
        ({"a": 1.0, "b": 1.2, "c": (1.3, 0.9, 1.5)}, OPEN, [(1 / 1.2, 1 / 1.2, 1 / 0.9)]),
    ],
)
def test_of_several_the_fastest(times: dict, verdict: str, over: list[tuple]) -> None:
    found = claims.decide(ratio(["x/b", "x/c"]), numbers(**times))
    assert (found["verdict"], ratios(found)) == (verdict, over)


def test_the_fastest_rate_is_the_largest() -> None:
    rates = {(*key[:-1], "words_per_s"): n for key, n in numbers(a=5.0, b=2.0, c=4.0).items()}
    claim = ratio(["x/b", "x/c"], quantity="words_per_s")
    assert ratios(claims.decide(claim, rates)) == [(1.25, 1.25, 1.25)]


def linear(bounds: dict, **more: str) -> dict:
    """What a claim about times on several sizes has; `more` is of the line."""
    place = {"implementation": "x/a", "phase": "forward", "device": "cpu"}
    sizes = {"in": {"d1": 1, "d2": 2, "d4": 4, "d8": 8}}
    return HEAD | {"for": place, "linear": sizes | more} | bounds


@pytest.mark.parametrize(
    ("times", "verdict", "values"),
    [
        ({"d1": 1.0, "d2": 2.1, "d4": 4.0}, HOLDS, [1.0]),
        ({"d1": 1.0, "d2": 2.1, "d4": 6.0}, FAILS, [1.5]),
        ({"d1": (1.0, 0.8, 1.2), "d2": 2.1, "d4": 4.0}, OPEN, [1.0]),
        ({"d1": 1.0, "d2": 2.1}, MISSING, []),  # fewer than three sizes
    ],
)
def test_linear(times: dict, verdict: str, values: list[float]) -> None:
    cells = {
        (name, "x/a", "forward", "cpu", "wall_s"): next(iter(numbers(a=time).values()))
        for name, time in times.items()
    }
    found = claims.decide(linear({"below": 1.2}, per="layer"), cells)
    assert found["verdict"] == verdict
    assert [value for value, _, _ in ratios(found)] == pytest.approx(values)


@pytest.mark.parametrize(
    ("builds", "verdict", "over"),
    [
        # Logarithms 0.1, 0.2, 0.1 off a level line: a standard error of 0.245 / 0.980, and t(1) = 12.7.
        ({"d1": 1.0, "d2": math.exp(0.3), "d4": 1.0}, OPEN, (1.0, 0.01226, 81.6)),
        ({"d1": 1.0, "d2": 2.0, "d4": 4.0, "d8": 8.1}, FAILS, (8.09, 7.87, 8.32)),
    ],
)
def test_what_was_measured_once_is_as_sure_as_it_lies_near_the_line(
    builds: dict, verdict: str, over: tuple | None
) -> None:
    """Not within a factor of two each, whatever the others say."""
    cells = {
        (name, "x/a", "forward", "cpu", "build_s"): Number(s, s / 2, s * 2, once=True)
        for name, s in builds.items()
    }
    claim = linear({"below": 2})
    claim["for"]["quantity"] = "build_s"
    found = claims.decide(claim, cells)
    assert found["verdict"] == verdict
    assert ratios(found) == ([pytest.approx(over, rel=0.005)] if over else [])


def test_one_case_that_differs_decides() -> None:
    """Every combination of the names in `for` has to hold."""
    claim = ratio(device=["cpu", "gpu"])
    found = claims.decide(claim, numbers(a=1.0, b=2.0, a_gpu=3.0, b_gpu=2.0))
    assert found["verdict"] == FAILS
    assert [case["verdict"] for case in found["cases"]] == [HOLDS, FAILS]
    found = claims.decide(claim, numbers(a=1.0, b=2.0))
    assert found["verdict"] == MISSING
    found = claims.decide(claim, numbers(a=3.0, b=2.0))
    assert found["verdict"] == FAILS  # one that fails decides, whatever is missing


def test_a_key_left_open_takes_what_there_is() -> None:
    claim = ratio(benchmark=None, device=None)
    found = claims.decide(claim, numbers(a_gpu=1.0, b_gpu=2.0, a=1.0))
    assert [case["verdict"] for case in found["cases"]] == [HOLDS]
    assert ratios(found) == [(0.5, 0.5, 0.5)]  # on the GPU
    assert claims.decide(claim, {})["verdict"] == MISSING


def test_a_claim_about_every_benchmark_says_whether_it_was_seen_on_all() -> None:
    claim = ratio(benchmark=None)
    seen = numbers(a=1.0, b=2.0)
    named = ratio(benchmark=["b", "longer", "wider"]), seen
    for given in ((claim, seen, {"b", "longer", "wider"}), named):
        assert claims.decide(*given)["verdict"] == PARTLY
    assert claims.decide(claim, seen, {"b"})["verdict"] == HOLDS
    noisy = numbers(b=2.0) | _noisy(NOISY)
    assert claims.decide(claim, noisy, {"b", "longer"})["verdict"] == claims.LIKELY_PARTLY
    assert claims.decide(claim, numbers(a=3.0, b=2.0), {"b", "longer"})["verdict"] == FAILS


@pytest.mark.parametrize(
    ("b", "a", "verdict"), [(2.0, NOISY, LIKELY), (1.0, (1.0, 1.0, 1.0), claims.LIKELY_SAME)]
)
def test_every_verdict_needs_clean_processes(b: float, a: tuple, verdict: str) -> None:
    assert claims.decide(BELOW, numbers(b=b) | _noisy(a))["verdict"] == verdict


def test_one_clean_case_that_fails_decides() -> None:
    """Whatever the noise of others; where all that fail are noisy, it is likely only."""
    claim, noisy = ratio(device=["cpu", "gpu"]), numbers(b=0.5) | _noisy(NOISY)
    assert claims.decide(claim, noisy | numbers(a_gpu=3.0, b_gpu=2.0))["verdict"] == FAILS
    held = numbers(a_gpu=1.0, b_gpu=2.0)
    assert claims.decide(claim, noisy | held)["verdict"] == claims.LIKELY_FAILS


def _noisy(times: tuple) -> Numbers:
    return {("b", "x/a", "forward", "cpu", "wall_s"): of_times(times, noisy=True)}


def cell(implementation: str, environment: str, machine: str, wall_s: float, **more) -> dict:
    own = {"document": "stacked-lm", "benchmark": "stacked-lm", "environment": environment}
    own |= {"machine": machine, "process_medians_s": [0.98 * wall_s, wall_s, 1.02 * wall_s]}
    own |= dict.fromkeys(["words_per_s", "kernel_schedule_s", "kernel_build_s"], math.nan)
    return hand_made.row(implementation, wall_s, **own | more)


@pytest.mark.parametrize(
    ("processes", "disturbed", "noisy"),
    [
        *((3, 0, False), (5, 2, False), (5, 3, True), (3, None, False), (3, math.nan, False)),
        (2, 2, False),  # which have no interval anyway
    ],
)
def test_cells_know_whether_too_few_processes_were_clean(processes, disturbed, noisy) -> None:
    row = cell("x/a", "x", "one", 1.0, processes=processes, disturbed_processes=disturbed)
    (found,) = of_cells(pd.DataFrame([row])).values()
    assert found.noisy == noisy


@pytest.mark.parametrize(
    ("own", "verdict"),
    [
        ([1.9, 2.0, 2.1], HOLDS),
        ([1.9, 2.0, 6.1], OPEN),
        ([2.0, 2.0], OPEN),  # too few to say, whatever they took
    ],
)
def test_measured_ratios_are_decided_by_processes(own: list, verdict: str) -> None:
    rows = [cell("x/a", "x", "one", 4.0), cell("x/b", "x", "one", 1.0)]
    rows += [cell("x/a", "x", "one", 2.0, process_medians_s=own) | {"device": "gpu"}]
    rows += [cell("x/b", "x", "one", 1.0) | {"device": "gpu"}]
    found = of_cells(pd.DataFrame(rows))
    claim = ratio(above=1.5, benchmark="stacked-lm", phase="training", device="gpu")
    decided = claims.decide(claim, found)
    assert decided["verdict"] == verdict
    ((value, low, _),) = ratios(decided)
    assert value == pytest.approx(2) and (low is None) == (len(own) < 3)
    both = ratio(above=1.5, benchmark="stacked-lm", phase="training", device=None)
    both |= {"at": {"device": "cpu"}, "against": {"device": "gpu"}}
    (case,) = claims.decide(both, found)["cases"]
    assert (case["value"], case["verdict"]) == (pytest.approx(2), verdict)


def measured(**times: list[float]) -> Numbers:
    """{cell: what its processes took} of implementations x/<name> on benchmark b, forward, cpu; `a_c` on benchmark c."""
    found = {}
    for name, processes in times.items():
        implementation, _, benchmark = name.partition("_")
        key = (benchmark or "b", f"x/{implementation}", "forward", "cpu", "wall_s")
        found[key] = of_times(processes)
    return found


def test_a_case_that_fails_is_corrected_for_the_number_of_cases() -> None:
    """By hand: a ratio of 0.95 with an interval of 95 % from 0.912 to 0.989, but of 99.375 % from 0.88 to 1.02."""
    noisy = {"a": [0.935, 0.95, 0.965], "b": [0.985, 1.0, 1.015]}
    alone = claims.decide(SLOWER, measured(**noisy))
    assert alone["verdict"] == FAILS
    others = {f"{name}_c{n}": [1.5 - (name == "b") / 2] * 3 for name in "ab" for n in range(7)}
    claim = ratio(above=1, benchmark=["b", *(f"c{n}" for n in range(7))])
    found = claims.decide(claim, measured(**noisy, **others))
    assert found["verdict"] == OPEN
    verdicts = [each["verdict"] for each in found["cases"]]
    assert verdicts.count(HOLDS) == 7  # each by its own interval
    assert found["cases"][verdicts.index(OPEN)]["high"] < 1
    # Two that plainly fail leave six to correct for, which is enough for a third one (Holm).
    others |= {"a_c0": [0.5, 0.501, 0.502], "a_c1": [0.5, 0.501, 0.502]}
    found = claims.decide(claim, measured(**noisy, **others))
    assert found["verdict"] == FAILS


@pytest.mark.parametrize(
    ("a", "verdict"),
    [
        ([1.009, 1.010, 1.011], SAME),  # significantly more, but by 1 %
        ([1.049, 1.050, 1.051], HOLDS),
        ([0.949, 0.950, 0.951], FAILS),
        ([0.96, 1.01, 1.06], OPEN),
    ],
)
def test_a_difference_of_less_than_two_percent_is_none(a: list[float], verdict: str) -> None:
    found = claims.decide(SLOWER, measured(a=a, b=[0.9999, 1.0, 1.0001]))
    assert found["verdict"] == verdict
    bound = SLOWER | {"above": 1.2}
    assert claims.decide(bound, measured(a=a, b=[0.9999, 1.0, 1.0001]))["verdict"] == FAILS


def test_a_claim_does_not_hold_where_one_case_makes_no_difference() -> None:
    claim = ratio(above=1, benchmark=["b", "c"])
    times = {"a": [1.5] * 3, "b": [1.0] * 3, "a_c": [1.0] * 3, "b_c": [1.0] * 3}
    found = claims.decide(claim, measured(**times))
    assert found["verdict"] == FAILS
    assert [case["verdict"] for case in found["cases"]] == [HOLDS, SAME]
    found = claims.decide(claim, measured(**times | {"a": [1.0] * 3}))
    assert found["verdict"] == SAME


def test_the_line_of_measured_times_has_the_interval_of_all_its_processes() -> None:
    """Of two sizes that matter (the middle one has no weight), the slope is their ratio: Welch's interval."""
    times = {"a_d1": [0.99, 1.0, 1.02], "a_d2": [2.0, 2.3, 2.1], "a_d4": [4.3, 4.4, 4.6]}
    found = claims.decide(linear({"above": 0.8, "below": 1.3}, per="layer"), measured(**times))
    (one, *_, four) = (number.processes for number in measured(**times).values())
    expected = estimates.ratio([[time / 4 for time in four]], [one])
    assert ratios(found) == [pytest.approx(expected[:3])]
    assert found["verdict"] == HOLDS


def test_kernels_are_built_once_and_may_have_taken_twice_as_long() -> None:
    rows = [
        cell("x/k", "x", "one", 1.0, kernel_build_s=seconds) | {"benchmark": name}
        for name, seconds in (("long", 100.0), ("short", 10.0))
    ]
    sides = {"of": {"benchmark": "long"}, "to": {"benchmark": "short"}}
    claim = HEAD | {
        "for": {"implementation": "x/k", "phase": "training", "quantity": "build_s"},
        "ratios": {"r": sides},
    }
    numbers = of_cells(pd.DataFrame(rows))
    assert claims.decide(claim | {"above": 2}, numbers)["verdict"] == HOLDS
    assert claims.decide(claim | {"above": 3}, numbers)["verdict"] == OPEN
    ((_, *ends),) = ratios(claims.decide(claim | {"above": 3}, numbers))
    assert ends == pytest.approx([2.5, 40])


@pytest.mark.parametrize(("cases", "alone", "count"), [(1, 0.05, 400), (8, 0.14, 50)])
def test_claims_on_their_bound_are_rarely_decided(cases: int, alone: float, count: int) -> None:
    """Claims of which every case lies on the bound: 5 % are decided, whatever their number of cases, where each case's own
    interval would decide 16 % of eight. The shares of so many claims scatter by one to five percent; `simulated` has many more."""
    assert simulated.each_case_alone(1, cases, count) == pytest.approx(alone, abs=0.04)
    assert simulated.decided(1, cases, count) <= 0.05 + 0.015
    assert simulated.decided(1, cases, count, looks=2) <= 0.05 + 0.015
    # As noisy as a machine whose neighbours share its cores, few more processes, and time for one case of several.
    assert simulated.decided(1, cases, count, looks=2, most=5, level=5, limit=4) <= 0.05 + 0.015


def test_nor_are_those_with_odd_processes() -> None:
    """One in ten takes twice as long."""
    assert simulated.decided(1, 1, 400, odd=0.1) <= 0.05


def test_the_fastest_of_several_equals_is_no_faster() -> None:
    """Its own interval lies below the truth in twice as many cases as the 2.5 % that it should."""
    random = np.random.default_rng(5)
    naive = corrected = 0
    for _ in range(1000):
        one = [*np.exp(0.03 * random.standard_normal(3))]
        others = [[*np.exp(0.03 * random.standard_normal(3))] for _ in range(6)]
        fastest = min(others, key=np.median)
        naive += estimates.ratio([fastest], [one]).high < 1
        corrected += estimates.ratio_of_fastest([[each] for each in others], [[one]])[2] < 1
    assert naive > 40 and corrected <= 25


@pytest.mark.parametrize("claim", [c for c in matrix.claims() if "linear" in c], ids=str)
def test_sizes_are_those_of_the_benchmarks(claim: dict) -> None:
    key = {"layer": "layers", "step": "length"}[claim["linear"].get("per", "step")]
    benchmarks = matrix.document(claim["document"])["benchmarks"]
    sizes = {name: benchmarks[name][key] for name in claim["linear"]["in"]}
    assert sizes == claim["linear"]["in"]


def test_measured_words_per_second() -> None:
    """More is faster: the interval is that of the times, the other way round."""
    rows = [
        # words_per_s is of the average batch
        cell(name, "x", "one", wall_s, words_per_s=500 / (1.1 * wall_s))
        | {"wall_s": 1.1 * wall_s}
        | {"process_medians_s": [0.96 * wall_s, wall_s, 1.04 * wall_s]}
        for name, wall_s in (("x/a", 0.25), ("x/b", 1.0))
    ]
    claim = ratio(above=2.2, benchmark=None, phase="training", quantity="words_per_s")
    found = claims.decide(claim, of_cells(pd.DataFrame(rows)))
    assert found["verdict"] == HOLDS, found
    assert ratios(found) == [pytest.approx((4.0, 3.65, 4.38), rel=0.005)]


def test_the_fastest_of_several_has_no_interval_where_it_is_one_look() -> None:
    """One that came out slower by one look is no reason to have none."""
    one, many, kernel = [[2.0]], [[3.0, 3.01, 2.99]], [[1.0, 1.01, 0.99]]
    for of in ([one, many], [many, one]):
        point, low, high = estimates.ratio_of_fastest(of, [kernel])
        assert point == pytest.approx(2) and math.isnan(low) and math.isnan(high)

    def low(seconds: float) -> float:
        (first, second) = (
            estimates.ratio_of_fastest(of, [kernel])[1]
            for of in ([[[seconds]], many], [many, [[seconds]]])
        )
        assert first == second
        return first

    # It may be twice as fast as it came out.
    assert low(4.0) == 2.0 and 2.9 < low(8.0) < 3.0
    assert math.isnan(estimates.ratio_of_fastest([kernel], [one, many])[1])

"""`make plan`: what is missing, and about how long it takes here, by document. With --files, every result too."""

import argparse
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from commands.run_workflow import stages
from measurement import machine
from measurement.record import read_json
from plan import configuration, stamps, text
from plan.estimate import A_RUN, PAGES, Estimate, speed_here, total
from plan.jobs import CheckingJob, ConvergenceJob, Job, TimeJob, wanted
from plan.planner import Plan

KINDS = {CheckingJob: "check", TimeJob: "time", ConvergenceJob: "train"}  # all others prepare
COLUMNS = ("prepare", *KINDS.values())
PROCESSES = "results/documents/{}/processes.json"


def missing(plan: Plan, document: str) -> list[Job]:
    """All jobs of a document whose results are not there, each once."""
    judged = PROCESSES.format(document)
    known = plan.adapts(document) and Path(judged).exists() and not stamps.wrong([judged])
    counts = read_json(judged) if known else {}
    return plan.with_needed(wanted([*plan.timings(document, counts), *plan.convergences(document)]))


def is_to_judge(plan: Plan, document: str) -> bool:
    """Whether it is not known yet which cells of a document get further processes."""
    return plan.adapts(document) and not Path(PROCESSES.format(document)).exists()


def further_s(plan: Plan, estimate: Estimate, document: str) -> float:
    """Expected seconds of a document's further processes, as long as it is not judged which cells get them."""
    if not is_to_judge(plan, document):
        return 0.0
    protocol = plan.settings(document)["protocol"]
    most = protocol["most_processes"] / protocol["processes"] - 1
    seconds, _ = total(estimate, plan.timings(document), plan.cores)
    limit = protocol["further_s"]
    return min(min(estimate.further, most) * seconds, float("inf") if limit is None else limit)


def further(plan: Plan) -> str:
    """What is not known yet, in words: how long further processes of cells take; "" where none are to be judged."""
    unjudged = [
        plan.settings(document)["protocol"]
        for document in plan.config["documents"]
        if is_to_judge(plan, document)
    ]
    if not unjudged:
        return ""
    limits = [each["further_s"] for each in unjudged]
    if not any(limit is None or limit > 0 for limit in limits):
        return ""
    most = "" if None in limits else f", up to {_minutes(sum(limits))}"
    return f"Extra processes are added where they are likely to decide something{most}."


def _minutes(seconds: float) -> str:
    count = round(seconds / 60)
    return "1 minute" if count == 1 else f"{count} minutes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configfile", required=True)
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--files", action="store_true", help="list every missing result")
    arguments = parser.parse_args()
    config = configuration.given(arguments.configfile, arguments.config)
    plan = Plan(config, cores=machine.usable_cores())
    text.require_fitting(plan)
    speed = None if config["machine"] else speed_here()  # of another machine nothing is read here
    estimate, console = Estimate(speed=speed), Console(highlight=False)
    table = Table("document", *COLUMNS, "about", title="Jobs to do")
    times = len(list(stages(config["documents"])))  # that pages are made
    seen: set[str] = set()
    seconds, more_s, unknown, files = 0.0, 0.0, 0, []
    for document in config["documents"]:
        jobs = [job for job in missing(plan, document) if job.path not in seen]
        seen.update(job.path for job in jobs)
        files += [job.path for job in jobs]
        expected, strange = total(estimate, jobs, plan.cores)
        more = further_s(plan, estimate, document)
        expected += more + (estimate.slower * PAGES * times if jobs else 0.0)
        seconds, more_s, unknown = seconds + expected, more_s + more, unknown + strange
        counts = Counter(KINDS.get(type(job), "prepare") for job in jobs)
        table.add_row(
            document, *(str(counts[kind]) for kind in COLUMNS), f"{expected / 60:.1f} min"
        )
    if not files:
        console.print("Nothing is missing.")
        return
    console.print(table)
    if arguments.files:
        print(*sorted(files), sep="\n")
    seconds += estimate.slower * A_RUN * times
    console.print(f"About {_minutes(seconds)} in total, pages included.")
    if unknown:
        console.print(
            f"Of {unknown} jobs no implementation like theirs was seen before: they are counted as a usual row of the shape nearest to theirs, in proportion to what both compute."
        )
    if said := further(plan):
        of_that = f" {_minutes(more_s)} of that, as in the published examples." if more_s else ""
        console.print(said + of_that)
    if speed and estimate.example:
        console.print(
            f"This machine multiplies at {speed.gflops:.0f} GFLOP/s and the examples' at {estimate.example.gflops:.0f}: "
            "what only they tell is expected to take as much longer."
        )


if __name__ == "__main__":
    main()

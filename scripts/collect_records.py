"""All records into one tidy table, a row a cell, and the context that the reports print beside it."""

import argparse
import itertools
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

from measurement.record import read_json, write_json
from plan import matrix
from plan.matrix import Cell
from reporting import (
    claims,
    configurations,
    consistency,
    estimates,
    relations,
    results,
    tradeoff,
    training,
)
from reporting.published import KEY as CELL_KEY
from reporting.published import by_cell

COLUMNS = [
    *("document", "benchmark", "implementation", "environment", "framework_version", "phase"),
    *("device", "machine", "status", "reason", "processes", "batches", "wall_s", "wall_low_s"),
    *("wall_high_s", "interval", "wall_median_s", "process_medians_s", "wall_std_s"),
    *("wall_min_s", "wall_max_s", "elapsed_s", "sequences_per_s", "words_per_s", "import_s"),
    *("build_s", "first_step_s", "peak_memory_bytes", "device_peak_bytes", "utilisation"),
    *("output_error", "clip_error", "dropout_shares"),
    *("gflops", *relations.RELATIONS, *relations.BASELINE, "ceiling_sequences_per_s"),
    *relations.SPEEDUP,
    *relations.SCALING,
    *("tuning_s", "tuning_start_s", "trials"),
    *("kernel_schedule_s", "kernel_build_s"),
    *("gradient_error", "flags", "records", "published_wall_s", "published_elapsed_s"),
    *("published_sequences_per_s", "published_line"),
]


def row(cell: Cell, records: list[dict]) -> dict:
    """The table's row of one cell from the records of all its processes."""
    good = [record for record in records if record["status"] == "ok"]
    bad = [record for record in records if record["status"] != "ok"]
    found = {
        **{key: getattr(cell, key) for key in (*CELL_KEY, "environment")},
        "status": bad[0]["status"] if bad else "ok",
        "reason": bad[0]["reason"] if bad else "",
        "processes": len(good),
    }
    check = records[0].get("check", {})
    errors = check.get("errors") or {}
    found |= {"output_error": errors.get("output"), "gradient_error": check.get("gradient_error")}
    found |= {"clip_error": errors.get("clip"), "dropout_shares": check.get("dropout")}
    if good and not bad:  # a cell that lost a process says so instead of showing half a measurement
        found["framework_version"] = good[0]["framework"]["framework_version"]
        benchmark = good[0]["benchmark"]
        found |= estimates.cell(good, benchmark["batch"])
        if "vocabulary" in benchmark:
            found["words_per_s"] = found["sequences_per_s"] * benchmark["length"]
        if cell.phase == "forward":
            operations = tradeoff.flops(benchmark)
            found["gflops"] = operations / found["wall_median_s"] / 1e9
    if kernel := records[0].get("kernel"):
        seconds, tuning = kernel.get("seconds", {}), kernel.get("tuning", {})
        found["kernel_schedule_s"] = seconds.get("schedule")
        found["kernel_build_s"] = sum(seconds.values()) - seconds["schedule"] if seconds else None
        found["tuning_s"] = tuning.get("tuning_seconds")
        found["tuning_start_s"] = tuning.get("start_seconds")
        found["trials"] = tuning.get("trials")
    return found


def absent(cell: Cell, status: str, reason: str) -> dict:
    """The row of a cell without records."""
    return {
        **{key: getattr(cell, key) for key in (*CELL_KEY, "environment")},
        "status": status,
        "reason": reason,
        "processes": 0,
    }


def published(names: list[str]) -> pd.DataFrame:
    """The documents' own numbers, by cell."""
    numbers = {
        name: f"published_{name}" for name in ("wall_s", "elapsed_s", "sequences_per_s", "line")
    }
    table = by_cell(path for name in names for path in matrix.published_files(name))
    return table.reindex(columns=[*CELL_KEY, *numbers]).rename(columns=numbers)


def shared(settings: list[dict]) -> dict:
    """The settings that all implementations of an environment have in common."""
    first = settings[0] if settings else {}
    return {k: v for k, v in first.items() if all(entry.get(k) == v for entry in settings)}


def about(groups: Iterable[list[dict]]) -> dict:
    """{"machines", "environments", "corpus", "threads"}: what reports print beside the numbers of some records."""
    machines, environments, corpus, threads = {}, {}, {}, set()
    settings_of = defaultdict(list)
    for record in (record for group in groups for record in group):
        identity, framework = record["identity"], record.get("framework")
        machines[record["machine"]["machine"]] = record["machine"]
        environments[identity["environment"]] = record["environment"]
        if framework:
            settings_of[identity["environment"]].append(framework["settings"])
        if framework and identity["device"] == "gpu":
            libraries = {key: framework["build"].get(key) for key in ("cuda", "cudnn")}
            settings_of[identity["environment"], "gpu"].append(framework["settings"] | libraries)
        if record["corpus"]:
            windows = record.get("windows") or corpus.get("windows")  # carried states need none
            corpus = record["corpus"] | {"windows": windows}
        threads.add(record["threads"])
    return {
        "machines": machines,
        "environments": {
            name: found
            | {"settings": shared(settings_of[name]), "gpu": shared(settings_of[name, "gpu"])}
            for name, found in environments.items()
        },
        "corpus": corpus,
        "threads": sorted(threads),
    }


def of_this_run(config: dict, processes: dict[str, int]) -> dict[str, results.Cells]:
    """{machine: {cell: records}} of what this run measured."""
    return results.by_machine(
        results.read_record(cell.record(number))
        for cell, name in matrix.cells(config).items()
        for number in matrix.processes(config, name, processes.get(cell.name))
    )


def also_reported(folders: list[str], here: Iterable[str]) -> dict[str, results.Cells]:
    """The same of other runs. A machine has one run in a report: a second one is refused."""
    found, folder_of = {}, dict.fromkeys(here, "this run")
    for folder in folders:
        for machine, cells in results.by_machine(results.records(Path(folder))).items():
            if machine in folder_of:
                sys.exit(
                    f"also_report: {folder} has records of the machine {machine}, as has {folder_of[machine]}; "
                    "leave one out, and use `make compare` for two runs of one machine."
                )
            folder_of[machine], found[machine] = folder, cells
    return found


def other_benchmark(records: list[dict], parameters: dict) -> str:
    """Why records of another run are no numbers of this run's benchmark; empty if they are."""
    name, differs = records[0]["identity"]["benchmark"], records[0]["benchmark"] != parameters
    return (
        f"measured there with other parameters of `{name}` than this workflow's" if differs else ""
    )


def rows(
    config: dict, here: dict[str, results.Cells], also: dict[str, results.Cells]
) -> Iterator[dict]:
    """The rows of all machines, one machine after the other; the first one is this run's, and has the rows that this run
    leaves out. Others have a row of every cell of the documents and devices that they have records of."""
    benchmarks = matrix.benchmarks(config["documents"])
    documents = {cell: name for name in config["documents"] for cell in matrix.cells_of(name)}
    for number, (machine, cells) in enumerate({**(here or {"": {}}), **also}.items()):
        seen = {(documents.get(cell), cell.device) for cell in cells}
        folder = f"machines/{machine}/" if machine in also else results.OWN
        for cell, name in documents.items():
            left_out = None if number else matrix.why_not(cell, name, config)
            other = ""
            if cell in cells and machine in also:
                other = other_benchmark(cells[cell], benchmarks[cell.benchmark])
            if cell in cells and not other:
                found = row(cell, cells[cell]) | {"records": f"{folder}{cell.name}-*.json"}
            elif left_out:
                found = absent(cell, *left_out)
            elif (name, cell.device) in seen:
                found = absent(cell, "not-run", other or "not among this machine's results")
            else:
                continue
            yield {"document": name, "machine": machine, **found}


def trained(config: dict, here: Iterable[str]) -> dict[str, results.Cells]:
    """{machine: {cell: [record]}} of the training runs of this run, and of those that are also reported."""
    own = (results.read_record(cell.training_record) for cell in matrix.trained_cells(config))
    others = (results.records(Path(each), results.TRAINED) for each in config["also_report"])
    found = results.by_machine(itertools.chain(own, *others))
    return {machine: {} for machine in here} | found


def pack(
    here: dict[str, results.Cells],
    also: dict[str, results.Cells],
    runs: dict[str, results.Cells],
    archive: str,
) -> None:
    """All records into one file, so that raw samples go where a report goes; equal ones give equal files."""
    temporary = Path(archive + ".tmp")
    members = {}
    for machine, cells in (here | also).items():
        folder = f"machines/{machine}/" if machine in also else results.OWN
        for cell, records in cells.items():
            for record in records:
                members[f"{folder}{cell.name}-{record['identity']['process']}.json"] = record
    for machine, cells in runs.items():
        folder = f"machines/{machine}/" if machine in also else ""
        for cell, (record,) in cells.items():
            members[f"{folder}{results.TRAINED}{cell.name}.json"] = record
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, record in members.items():
            member = zipfile.ZipInfo(name)  # dated 1980
            member.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(member, json.dumps(record) + "\n")
    temporary.replace(archive)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--config", required=True, type=json.loads, help="the configuration, as JSON"
    )
    parser.add_argument("--processes", help="processes.json, where noisy cells got further ones")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--parquet", required=True)
    parser.add_argument("--context", required=True)
    parser.add_argument("--records", required=True, help="the archive of all records")
    arguments = parser.parse_args()
    config = arguments.config
    here = of_this_run(config, read_json(arguments.processes) if arguments.processes else {})
    also = also_reported(config["also_report"], here)

    table = pd.DataFrame(rows(config, here, also)).reindex(columns=COLUMNS[:-4])
    baselines = {
        name: parameters["baseline"]
        for name, parameters in matrix.benchmarks(config["documents"]).items()
        if "baseline" in parameters
    }
    table = relations.relate_to_baseline(relations.relate(table), baselines)
    table = tradeoff.ceilings(table)
    documents = {name: matrix.document(name) for name in config["documents"]}
    over = {name: d["speedup_over"] for name, d in documents.items() if "speedup_over" in d}
    compared = {name: d["compared"] for name, d in documents.items() if "compared" in d}
    table = relations.scale(relations.speed_up(table, over))
    followed = table[~table["benchmark"].isin(baselines)]  # the protocol, no departure from it
    ratios = relations.summary(table)
    contradictions = consistency.contradictions(matrix.published_files("*"))
    table = table.merge(published(config["documents"]), on=CELL_KEY, how="left")[COLUMNS]
    table[["flags", "records"]] = table[["flags", "records"]].fillna("")
    for column in ("processes", "batches", "trials", "workers", "published_line"):
        table[column] = table[column].astype("Int64")
    trainings = trained(config, here)
    pack(here, also, trainings, arguments.records)
    temporary = Path(arguments.csv + ".tmp")
    table.to_csv(temporary, index=False)
    temporary.replace(arguments.csv)
    table.to_parquet(arguments.parquet + ".tmp", index=False)
    Path(arguments.parquet + ".tmp").replace(arguments.parquet)
    write_json(
        arguments.context,
        {
            "config": config,
            **about(group for cells in here.values() for group in cells.values()),
            "also_reported": [
                {"machine": machine, **about(cells.values())} for machine, cells in also.items()
            ],
            "devices": results.devices(config),
            "ratios": ratios,
            "frameworks": relations.frameworks(table, compared),
            "configurations": [
                entry for name in documents for entry in configurations.explained(name, table)
            ],
            "then_and_now": relations.then_and_now(table),
            "overheads": tradeoff.overheads(followed, matrix.benchmarks(config["documents"])),
            "trainings": training.runs(config, trainings),
            "break_even": tradeoff.break_even(followed),
            "contradictions": contradictions,
            "claims": claims.by_document(matrix.claims(), table, contradictions),
        },
    )


if __name__ == "__main__":
    main()

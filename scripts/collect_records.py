"""All records into one tidy table, a row a cell, and the context that the reports print beside it."""

import argparse
import json
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

import jsonschema
import pandas as pd

import matrix
import settings
from matrix import Cell
from measurement.record import SCHEMA_VERSION, read_json, write_json
from reporting import claims, consistency, estimates, relations, tradeoff
from reporting.published import KEY as CELL_KEY
from reporting.published import by_cell

COLUMNS = [
    *("document", "benchmark", "implementation", "environment", "framework_version", "phase"),
    *("device", "machine", "status", "reason", "processes", "batches", "wall_s", "wall_low_s"),
    *("wall_high_s", "interval", "wall_median_s", "process_medians_s", "wall_std_s"),
    *("wall_min_s", "wall_max_s", "elapsed_s", "sequences_per_s", "import_s"),
    *("build_s", "first_step_s", "peak_memory_bytes", "device_peak_bytes", "output_error"),
    *("gflops", *relations.RELATIONS, *relations.BASELINE, "ceiling_sequences_per_s"),
    *("tuning_s", "tuning_start_s", "trials"),
    *("kernel_schedule_s", "kernel_build_s"),
    *("gradient_error", "flags", "published_wall_s", "published_elapsed_s"),
    *("published_sequences_per_s", "published_line"),
]


def read_record(path: str, validator: jsonschema.Draft202012Validator) -> dict:
    """One record, held against its schema."""
    record = read_json(path)
    if record.get("schema_version") != SCHEMA_VERSION:
        sys.exit(
            f"{path} has record schema {record.get('schema_version')}, this workflow reads "
            f"{SCHEMA_VERSION}; delete it to measure the cell again."
        )
    if error := next(validator.iter_errors(record), None):
        where = ".".join(map(str, error.absolute_path)) or "top level"
        sys.exit(
            f"{path} is not a valid record: {where}: {error.message}. Delete it and run again."
        )
    return record


def row(cell: Cell, records: list[dict]) -> dict:
    """The table's row of one cell from the records of all its processes."""
    good = [record for record in records if record["status"] == "ok"]
    bad = [record for record in records if record["status"] != "ok"]
    found = {
        **{key: getattr(cell, key) for key in (*CELL_KEY, "environment")},
        "machine": records[0]["machine"]["machine"],
        "status": bad[0]["status"] if bad else "ok",
        "reason": bad[0]["reason"] if bad else "",
        "processes": len(good),
    }
    errors = records[0].get("check", {}).get("errors") or {}
    found["output_error"] = errors.get("output")
    found["gradient_error"] = records[0].get("check", {}).get("gradient_error")
    if good and not bad:  # a cell that lost a process says so instead of showing half a measurement
        found["framework_version"] = good[0]["framework"]["framework_version"]
        found |= estimates.cell(good, good[0]["benchmark"]["batch"])
        if cell.phase == "forward":
            operations = tradeoff.flops(good[0]["benchmark"])
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
    """The row of a cell that this run does not measure."""
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


def pack(records: list[str], archive: str) -> None:
    """All records into one file, so that raw samples go where a report goes; equal ones give equal files."""
    temporary = Path(archive + ".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in records:
            member = zipfile.ZipInfo(path.removeprefix("results/"))  # dated 1980
            member.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(member, Path(path).read_bytes())
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
    processes = read_json(arguments.processes) if arguments.processes else {}
    validator = jsonschema.Draft202012Validator(settings.schema("record"))

    rows, machines, environments, corpus, tally = [], {}, {}, {}, set()
    settings_of, paths = defaultdict(list), []
    for name in config["documents"]:
        for cell in matrix.cells_of(name):
            if reason := matrix.why_not(cell, name, config):
                rows.append({"document": name, **absent(cell, *reason)})
                continue
            numbers = matrix.processes(config, name, processes.get(cell.name))
            own = [cell.record(number) for number in numbers]
            records = [read_record(path, validator) for path in own]
            paths += own
            rows.append({"document": name, **row(cell, records)})
            for record in records:
                machines[record["machine"]["machine"]] = record["machine"]
                environments[cell.environment] = record["environment"]
                if framework := record.get("framework"):
                    settings_of[cell.environment].append(framework["settings"])
                if record["corpus"]:
                    corpus = record["corpus"] | {
                        "windows": record.get("windows", corpus.get("windows"))
                    }
                tally.add(record["threads"])

    table = pd.DataFrame(rows).reindex(columns=COLUMNS[:-4])
    baselines = {
        name: parameters["baseline"]
        for name, parameters in matrix.benchmarks(config["documents"]).items()
        if "baseline" in parameters
    }
    table = relations.relate_to_baseline(relations.relate(table), baselines)
    table = tradeoff.ceilings(table)
    followed = table[~table["benchmark"].isin(baselines)]  # the protocol, no departure from it
    ratios = relations.summary(table)
    contradictions = consistency.contradictions(matrix.published_files("*"))
    table = table.merge(published(config["documents"]), on=CELL_KEY, how="left")[COLUMNS]
    table["flags"] = table["flags"].fillna("")
    for column in ("processes", "batches", "trials", "published_line"):
        table[column] = table[column].astype("Int64")
    pack(paths, arguments.records)
    temporary = Path(arguments.csv + ".tmp")
    table.to_csv(temporary, index=False)
    temporary.replace(arguments.csv)
    table.to_parquet(arguments.parquet + ".tmp", index=False)
    Path(arguments.parquet + ".tmp").replace(arguments.parquet)
    write_json(
        arguments.context,
        {
            "config": config,
            "machines": machines,
            "environments": {
                name: found | {"settings": shared(settings_of[name])}
                for name, found in environments.items()
            },
            "corpus": corpus,
            "threads": sorted(tally),
            "ratios": ratios,
            "then_and_now": relations.then_and_now(table),
            "overheads": tradeoff.overheads(followed, matrix.benchmarks(config["documents"])),
            "break_even": tradeoff.break_even(followed),
            "contradictions": contradictions,
            "claims": claims.by_document(matrix.claims(), table, contradictions),
        },
    )


if __name__ == "__main__":
    main()

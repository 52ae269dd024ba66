"""The records of one document become a tidy table, a row a cell, and what is to be said beside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow

from measurement import quiet, shapes
from plan import configuration, matrix
from plan.matrix import Measurement
from reporting import packs, relations, results, words
from reporting.published import KEY as PUBLISHED_KEY
from reporting.published import by_cell
from stats import clean, estimates, rows, samples

# Of a batch on a GPU, see measurement/contract.py.
DEVICE_TIMES = ("launched_s", "span_s", "kernel_s", "kernels")
ABOUT: dict[str, dict] = configuration.schema("cells")["properties"]  # what each column says
COLUMNS = [*ABOUT]
WHOLE = [name for name, about in ABOUT.items() if about.get("type") == "integer"]
PUBLISHED = ("wall_s", "elapsed_s", "sequences_per_s", "line")


def page_faults(records: Sequence[dict]) -> float | None:
    """Page faults a batch: the median of the processes' medians. None where they were not counted."""
    counted = [np.median(record["faults"]) for record in records if record.get("faults")]
    return float(np.median(counted)) if counted else None


def device_times(records: Sequence[dict]) -> dict[str, float]:
    """DEVICE_TIMES, each the median over processes, of those that a framework told."""
    told = [record["gpu"]["batch"] for record in records if record.get("gpu", {}).get("batch")]
    known = {name: [each[name] for each in told if each[name] is not None] for name in DEVICE_TIMES}
    return {name: float(np.median(values)) for name, values in known.items() if values}


def ran_in(precision: dict[str, dict[str, int]] | None) -> str | None:
    """What of a step ran in which format, as a check's record has it, in words."""
    kinds = [
        f"{data_type}: " + ", ".join(f"{count} {operator}" for operator, count in counts.items())
        for data_type, counts in (precision or {}).items()
        if counts
    ]
    return "; ".join(kinds) or None


def row(cell: Measurement, records: Sequence[dict], best: dict) -> dict:
    """The table's row of one cell from the records of all its processes; `best`: `quiet.of_run`."""
    good = [record for record in records if record["status"] == "ok"]
    bad = [record for record in records if record["status"] != "ok"]
    check = records[0].get("check", {})
    errors = check.get("errors") or {}
    found = {
        "status": bad[0]["status"] if bad else "ok",
        "reason": bad[0]["reason"] if bad else "",
        "processes": len(good),
        "output_error": errors.get("output"),
        "gradient_error": check.get("gradient_error"),
        "clip_error": errors.get("clip"),
        "dropout_shares": check.get("dropout"),
        "ran_in": ran_in(check.get("precision")),
    }
    if good and not bad:  # a cell that lost a process says so instead of showing half a measurement
        framework = good[0]["framework"]
        found["framework_version"] = framework["framework_version"]
        found["optimizer_form"] = framework["settings"].get("optimizer")
        benchmark = good[0]["benchmark"]
        off = clean.disturbed(good, best)
        counting = clean.usable_records(good, best)
        found |= rows.cell(counting, benchmark["batch"])
        found |= {"page_faults": page_faults(counting), "disturbed_processes": sum(off)}
        found["quiet_share"] = clean.quiet_share(good, best)
        found["all_batches_median_s"] = float(np.median(samples.medians(good)))
        found |= device_times(good)
        if "vocabulary" in benchmark:
            found["words_per_s"] = found["sequences_per_s"] * benchmark["length"]
        if cell.phase == "forward":
            found["gflops"] = shapes.forward_flops(benchmark) / found["wall_median_s"] / 1e9
    if kernel := records[0].get("kernel"):
        seconds, tuning = kernel.get("seconds", {}), kernel.get("tuning", {})
        found["kernel_schedule_s"] = seconds.get("schedule")
        found["kernel_build_s"] = sum(seconds.values()) - seconds["schedule"] if seconds else None
        found["tuning_s"] = tuning.get("tuning_seconds")
        found["tuning_start_s"] = tuning.get("start_seconds")
        found["trials"] = tuning.get("trials")
    return found


def _rows(document: str, parts: Iterable[results.Part]) -> Iterator[dict]:
    """The rows of all machines, one machine after the other. What was measured with other parameters than this
    workflow's is no number of its benchmark."""
    benchmarks = matrix.document(document)["benchmarks"]
    for part in parts:
        best = quiet.of_run(part.records)
        for each in part.cells:
            cell, found = each.cell, {"status": each.status, "reason": each.reason, "processes": 0}
            if each.records and each.records[0]["benchmark"] != benchmarks.get(cell.benchmark):
                other = f"measured there with other parameters of `{cell.benchmark}` than this workflow's"
                found |= {"status": matrix.NOT_RUN, "reason": other}
            elif each.records:
                found = row(cell, each.records, best) | {"records": " ".join(each.paths)}
            key = {name: getattr(cell, name) for name in results.CELL}
            yield {"document": document, "machine": part.machine, **key, **found}


def with_noise(table: pd.DataFrame) -> pd.DataFrame:
    """What the rows of one document have in common by machine and device (samples.Prior) beside each, and the
    intervals of its time that follow."""
    found: dict[int, samples.Times] = {}
    for _, own in table[table["status"] == "ok"].groupby(["machine", "device"]):
        found |= samples.with_prior(own["process_medians_s"].to_dict())
    table["process_medians_s"] = pd.Series(found, dtype=object).reindex(table.index)
    looks = {label: [*map(str, times.looks)] for label, times in found.items() if times.looks}
    table["looks"] = pd.Series(looks, dtype=object).reindex(table.index)
    told = {label: times.prior for label, times in found.items() if times.prior.freedom}
    sure = table.index[table["interval"] == "confidence"]
    ends = {label: estimates.product([found[label]], [1]) for label in sure}
    table.update(
        _columns({label: own[1:] for label, own in ends.items()}, "wall_low_s", "wall_high_s")
    )
    # A row that took turns takes what it would in all of the rounds.
    level = pd.Series({label: ends[label][0] for label in looks if label in ends}, dtype=float)
    table.loc[level.index, "gflops"] *= table.loc[level.index, "wall_median_s"] / level
    table.loc[level.index, "wall_median_s"] = level
    noise = ["noise_freedom", "noise_sd"]
    table[noise] = _columns(told, *noise).reindex(table.index)
    return table


def _columns(rows: Mapping[int, Sequence[float]], *names: str) -> pd.DataFrame:
    return pd.DataFrame.from_dict(rows, "index", float, names)


def published(document: str) -> pd.DataFrame:
    """The document's own numbers, by cell."""
    names = {name: f"published_{name}" for name in PUBLISHED}
    table = by_cell(matrix.published_files(document))
    return table.reindex(columns=[*PUBLISHED_KEY, *names]).rename(columns=names)


def cells(document: str, parts: Iterable[results.Part]) -> pd.DataFrame:
    """A row a cell and machine, with COLUMNS."""
    about = matrix.document(document)
    own = [name for name in COLUMNS if not name.startswith("published_")]
    found = pd.DataFrame(_rows(document, parts))
    if unknown := sorted({*found} - {*COLUMNS}):
        raise ValueError(f"workflow/schemas/cells.schema.yaml lacks {', '.join(unknown)}")
    table = with_noise(found.reindex(columns=own))
    shapes = about["benchmarks"].items()
    baselines = {name: shape["baseline"] for name, shape in shapes if "baseline" in shape}
    table = relations.relate_to_baseline(relations.relate(table), baselines)
    over = {document: about["speedup_over"]} if "speedup_over" in about else {}
    table = relations.scale(relations.speed_up(table, over), about["benchmarks"])
    table = table.merge(published(document), on=PUBLISHED_KEY, how="left")[COLUMNS]
    table[["flags", "records"]] = table[["flags", "records"]].astype(object).fillna("")
    for column in WHOLE:
        table[column] = table[column].astype("Int64")
    return table


def documented(table: pd.DataFrame) -> pyarrow.Table:
    """The same for a Parquet file, which says of each column what it is (`description`) and in which `unit`."""
    found = pyarrow.Table.from_pandas(table, preserve_index=False)
    fields = [
        field.with_metadata(
            {key: ABOUT[field.name].get(key, "") for key in ("description", "unit")}
        )
        for field in found.schema
    ]
    return found.cast(pyarrow.schema(fields, found.schema.metadata))


def trainings(parts: Iterable[results.Part]) -> list[dict]:
    """The rows of training runs: [{"machine", the cell's names, "status", "reason", "curve": [], and what its record
    has}]."""
    found = []
    nothing = {"curve": [], "epoch_batches": None}
    for part in parts:
        for each in part.training:
            record = each.records[0] if each.records else {}
            names = {name: getattr(each.cell, name) for name in results.CELL}
            entry = {"machine": part.machine, **names, "status": each.status, "reason": each.reason}
            told = {key: record[key] for key in ("status", "reason", *nothing) if key in record}
            stand_in = bool(record and record["corpus"]["stand_in"])
            found.append(entry | nothing | told | {"stand_in": stand_in})
    return found


def _renewed(part: results.Part) -> str:
    """How many measurements were renewed by turns in a document that was first measured by one stretch a process."""
    looked = [
        row.records[0]["protocol"]
        for row in part.cells
        if row.records and "looks" in row.records[0]
    ]
    if "rounds" in part.manifest["protocol"] or not looked:
        return ""
    one = looked[0]
    how = f"{one['rounds']} to {one['most_rounds']} turns of {one['look_s']:g} s per process, in random order"
    return f"; {len(looked)} measurements repeated with {how}"


def machine(part: results.Part) -> dict:
    """What a report says of one machine: its facts, what was measured there, how and when."""
    records, corpus = list(part.records), {}
    for record in records:
        if record["corpus"]:
            corpus = dict(record["corpus"])
            if corpus["source"].startswith("local folder "):  # where, is nobody else's business
                corpus["source"] = "a local folder"
    states = [record["repository"] for record in records if record.get("repository")]
    threads = sorted({each["threads"] for each in records if each["status"] == "ok"})
    protocol = part.manifest["protocol"]
    return {
        "machine": part.machine,
        "preliminary": part.manifest["preliminary"],
        "devices": part.manifest["config"]["devices"],
        "facts": records[0]["machine"] if records else None,
        "threads": threads,
        "how": words.protocol(protocol, threads) + _renewed(part),
        "corpus": corpus,
        "environments": {each["identity"]["environment"]: each["environment"] for each in records},
        "days": sorted({record["started"][:10] for record in records}),
        "commits": sorted({state["commit"][:10] + "+" * state["dirty"] for state in states}),
    }


def about(document: str, parts: Sequence[results.Part]) -> dict:
    """What a page says beside its numbers: all machines, and of those whose results lie in another folder, where they come
    from."""
    here = parts[0].path.parent.parent
    folders = {folder for part in parts if (folder := part.path.parent.parent) != here}
    origins = {folder: packs.origin(folder) for folder in folders}
    return {
        "name": document,
        "machines": [
            machine(part) | {"origin": origins.get(part.path.parent.parent)} for part in parts
        ],
        "trainings": trainings(parts),
    }

"""Document 002's tables: one kernel over shapes, beside other rows and the document's numbers."""

from collections.abc import Mapping, Sequence

from reporting import tradeoff
from reporting.sections import Tables, on
from reporting.sections.break_even import words


def analyse(
    tables: Tables,
    about: Mapping,
    device: str,
    benchmarks: Sequence[str],
    kernel: str,
    stacked: bool = False,
) -> dict | None:
    """{"kernel": its name, "others": [names], "rows": a row a machine and shape}; `stacked`: with the statistics of
    the kernel's times that the document prints of stacks."""
    cells = on(tables.cells[tables.cells["device"] == device], benchmarks)
    shapes = about["document"]["benchmarks"]
    printed = _printed(tables)
    measured = cells[cells["status"] == "ok"]
    lstms = measured[(measured["family"] != "ceiling") & (measured["implementation"] != kernel)]
    others = list(dict.fromkeys(lstms["implementation"]))
    pays = {
        (entry["machine"], entry["benchmark"]): words(entry)
        for entry in tradeoff.break_even(tables.cells)
        if (entry["implementation"], entry["device"], entry["status"]) == (kernel, device, "ok")
    }
    found = []
    for (machine, name), own in cells.groupby(["machine", "benchmark"], sort=False):
        rows = {row["implementation"]: row for row in own.to_dict("records")}
        ok = {key: row for key, row in rows.items() if row["status"] == "ok"}
        if not ok:
            continue
        shape, mine, then = shapes[name], rows.get(kernel, {}), printed.get(name, {})
        # The document's kernel, tuned by TVM's own rules, is a function of all steps: its times and its building.
        tuned = then.get("tvm/unrolled", {}) | then.get("tvm/default-rules", {})
        row = {key: mine.get(key) for key in KEPT} | {"machine": machine, "benchmark": name}
        deep = f" ({shape['layers']})" if shape["layers"] > 1 else ""  # as the document has it
        row |= {"m": f"{shape['batch']}{deep}", "n": shape["length"], "k": shape["features"]}
        row["mnk"] = f"{shape['batch']}, {shape['length']}, {shape['features']}{deep}"
        row["untuned_s"] = ok.get("tvm/untuned", {}).get("wall_median_s")
        for place, other in enumerate(others):
            known = ok.get(other, {})
            row |= {f"other_{place}{key}": value for key, value in _time(known).items()}
        row |= {f"own{key}": value for key, value in _time(mine).items()}
        row |= {
            f"share_{key}": 1 / mine[key] if mine.get(key) else None
            for key in ("ratio_to_gemm", "ratio_to_peak")
        }
        row |= {f"published_{key}": tuned.get(key) for key in PRINTED}
        row["published_untuned_s"] = then.get("tvm/untuned", {}).get("wall_s")
        row["pays"] = pays.get((machine, name))
        row["shape"] = (
            f"[{shape['features']}, {shape['hidden']}, {shape['length']}, {shape['layers']}]"
        )
        found.append(row)
    if not found:
        return None
    return {
        "kernel": about["names"][kernel],
        "others": [about["names"][other] for other in others],
        "rows": found,
        "stacked": stacked,
        "device": device,
    }


KEPT = (
    "mark",
    *("status", "wall_s", "wall_median_s", "wall_std_s", "wall_min_s", "wall_max_s"),
    *("ratio_to_torch", "ratio_to_torch_low", "ratio_to_torch_high", "ratio_to_fastest"),
    *("ratio_to_fastest_low", "ratio_to_fastest_high", "gflops", "kernel_schedule_s"),
    *("tuning_s", "kernel_build_s", "trials", "tuning_start_s", "output_error"),
)
PRINTED = (
    *("wall_s", "median_s", "max_s", "min_s", "std_s"),
    *("schedule_s", "tuning_s", "build_s"),
)


def _time(row: Mapping) -> dict[str, float | None]:
    """A row's time with its mark and, of three processes or more, the ends of its interval."""
    sure = row.get("interval") == "confidence"
    ends = {end: row[f"wall{end}_s"] if sure else None for end in ("_low", "_high")}
    return {"": row.get("wall_median_s"), "_mark": row.get("mark")} | ends


def _printed(tables: Tables) -> dict[str, dict[str, dict[str, float]]]:
    """{benchmark: {implementation: {quantity: value}}} of the document's numbers."""
    found: dict = {}
    for number in tables.published.itertuples():
        own = found.setdefault(number.benchmark, {}).setdefault(number.implementation, {})
        own.setdefault(number.quantity, number.value)
    return found

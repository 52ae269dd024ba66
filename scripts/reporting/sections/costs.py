"""What rows cost beside a batch: starting, memory, page faults, and what disturbed them."""

from collections.abc import Mapping

from reporting.sections import Tables, rows

TITLE = "Starting, memory, disturbances"
COLUMNS = (
    *("machine", "benchmark", "name", "environment", "phase", "device", "import_s", "build_s"),
    *("first_step_s", "peak_memory_bytes", "device_peak_bytes", "page_faults"),
    *("disturbed_processes", "flags", "clip_error", "dropout_shares"),
)


def analyse(tables: Tables, about: Mapping) -> dict | None:
    """{"rows": of all measured cells, "checks": of those whose checks have more than one error, "benchmarks"}"""
    cells = tables.measured()
    if cells.empty:
        return None
    found = rows(cells, *COLUMNS)
    for row in found:
        row["start"] = f"{row['environment']}, {row['phase']}" + (
            f", {row['device'].upper()}" if cells["device"].nunique() > 1 else ""
        )
        row["mark"] = ""  # flags and disturbed processes stand in columns of their own
        shares = row["dropout_shares"] or []
        row["dropped"] = ", ".join(f"{share:.3f}" for share in shares) or None
    checks = [row for row in found if row["dropped"] or row["clip_error"] is not None]
    return {"rows": found, "checks": checks, "several": cells["benchmark"].nunique() > 1}

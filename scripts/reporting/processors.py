"""What a reader knows a machine by: its microarchitecture, its widest vector instructions, its cores."""

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from plan.reading import parse_yaml

TABLE = Path(__file__).with_name("processors.yaml")
# A CPU's flag, as Linux lists it, and the instructions that it stands for; the widest first.
INSTRUCTIONS = {
    "amx_tile": "AMX",
    "avx512f": "AVX-512",
    "avx2": "AVX2",
    "avx": "AVX",
    "sve": "SVE",
    "asimd": "NEON",
    "neon": "NEON",
}


@functools.cache
def _table() -> list[dict]:
    return parse_yaml(TABLE.read_text(encoding="utf-8"))


def _number(text: object) -> int:
    return int(text) if str(text or "").isdigit() else -1


def microarchitecture(cpu: Mapping) -> str:
    """`AMD Zen 3`, of the fields of `lscpu`; empty where the numbers say nothing."""
    family, model, stepping = (_number(cpu.get(f)) for f in ("CPU family", "Model", "Stepping"))
    for entry in _table():
        spans = [each if isinstance(each, list) else [each, each] for each in entry["models"]]
        low, high = entry.get("steppings", (stepping, stepping))
        if (
            cpu.get("Vendor ID") == entry["vendor"]
            and family == entry["family"]
            and any(first <= model <= last for first, last in spans)
            and low <= stepping <= high
        ):
            return entry["name"]
    return ""


def instructions(cpu: Mapping) -> str:
    """The widest vector instructions: `AVX2`; empty where the system lists none."""
    flags = set((cpu.get("Flags") or "").split())
    return next((name for flag, name in INSTRUCTIONS.items() if flag in flags), "")


def _brand(cpu: Mapping) -> str:
    """`Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` -> `Intel Xeon Platinum 8481C`"""
    model = cpu.get("Model name") or cpu.get("Architecture") or "CPU"
    model = re.sub(r"\((R|TM|r|tm)\)|\b(CPU|Processor|processor)\b|@.*|\d+-Core", "", model)
    return " ".join(model.split())


def name(facts: Mapping | None) -> str:
    """`AMD Zen 3 (EPYC), AVX2, 2 virtual cores`, of a machine's facts; empty where there are none."""
    if not facts:
        return ""
    cpu, brand = facts["cpu"], _brand(facts["cpu"])
    if known := microarchitecture(cpu):
        brand = brand.removeprefix(known.split()[0]).strip()
        brand = f"{known} ({brand})" if brand else known
    virtual = "virtual " if cpu.get("Hypervisor vendor") else ""
    cores = f"{facts['cores']} {virtual}core{'s' * (facts['cores'] != 1)}"
    gpus = [gpu["name"] for gpu in facts["gpus"][:1]]
    return ", ".join(filter(None, [brand, instructions(cpu), cores, *gpus]))

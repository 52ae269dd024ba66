"""Machines and environments, each once for all documents."""

from collections.abc import Mapping, Sequence

from reporting import processors, summary
from reporting.sections import Tables

FACTS = (
    "Architecture",
    "Model name",
    "CPU(s)",
    "Thread(s) per core",
    "Core(s) per socket",
    "L1d cache",
    "L2 cache",
    "L3 cache",
    "Hypervisor vendor",
)


def analyse(tables: Tables, about: Mapping) -> dict:
    """Of one document: what of_summaries makes of it, without its noise."""
    return of_summaries([{"machines": about["machines"], "name": about["name"], "noise": []}])


def of_summaries(summaries: Sequence[Mapping]) -> dict:
    """{"machines": [{"machine", "facts", "environments": [...], "documents": [{"name", "how", "corpus"}], ...}], "noise":
    [{"machine", "processes", "disturbed", "rows", "noisy"}]}"""
    found: dict[str, dict] = {}
    for each in summaries:
        for machine in each["machines"]:
            own = found.setdefault(
                machine["machine"],
                {"machine": machine["machine"], "facts": None, "environments": {}, "documents": []},
            )
            own["origin"] = machine["origin"]
            own["facts"] = own["facts"] or machine["facts"]
            own["environments"] |= machine["environments"]
            own["documents"].append(
                {"name": each["name"]}
                | {key: machine[key] for key in ("how", "corpus", "days", "commits")}
            )
    sums = summary.noise(summaries)
    noise = [{"machine": machine, **sums[machine]} for machine in found if machine in sums]
    return {"machines": [_shown(machine) for machine in found.values()], "noise": noise}


def _shown(machine: Mapping) -> dict:
    rows = [
        {
            "environment": name,
            "python": found["python"],
            "packages": ", ".join(
                f"{pin} {found['packages'][pin]}"
                for pin in found["pins"]
                if pin in found["packages"]
            ),
            "builder": found["builder"],
            "build_s": found.get("build_s"),
            "fingerprint": found["fingerprint"],
        }
        for name, found in sorted(machine["environments"].items())
    ]
    settings = [
        {
            "environment": name + where,
            "settings": "; ".join(f"{k} {v}" for k, v in those.items() if v is not None),
        }
        for name, found in sorted(machine["environments"].items())
        for where, those in (("", found["settings"]), (" on the GPU", found["gpu"]))
        if those
    ]
    facts = machine["facts"] or {}
    cpu = {key: facts["cpu"][key] for key in FACTS if key in facts.get("cpu", {})} if facts else {}
    called = processors.name(machine["facts"]) or machine["machine"]
    return {**machine, "called": called, "environments": rows, "settings": settings, "cpu": cpu}

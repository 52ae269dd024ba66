"""`make cell CELL=my_cell.py`: a recurrent cell in one file, in every style of every framework of today, beside each style's
own LSTM and the fastest one; and a page.

python scripts run_cell FILE [--shape YAML] [--phases NAMES] [--frameworks NAMES] [--configfile FILE] [--config KEY=VALUE]

What is not said right ends it with one line, and so does a cell that cannot be computed at this length, before anything is
built or timed. Then it writes results/cells/<name>/: the file, what was generated of it for each framework, and the document and configuration
that its rows are measured by, as those of any other document; and runs the workflow: a first look at few rows, then all, then
all processes. The same command goes on where it was stopped.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import yaml

from commands import run_workflow
from measurement import machine, reference
from measurement.cells import CELLS, OWN
from measurement.record import whole
from measurement.workload import Workload, layer_prefixes
from plan import configuration, copies, own, own_cell
from plan.jobs import digest_of, wanted
from plan.own_cell import Refused
from plan.planner import Plan
from recurrent_cells.cell_file import load
from recurrent_cells.cells import CellError
from recurrent_cells.sources import FRAMEWORKS, generate
from reporting import pages

KERNEL = '''"""The cell as its kernels are made of it."""

from pathlib import Path

from recurrent_cells.cell_file import load

CELL = load(Path(__file__).with_name("cell.py"))
'''
EXAMPLES = Path("packages/recurrent_cells/examples/cells")  # a name is enough
ROWS = 4  # of a batch, to see whether values leave float32
SEED = 0


def texts(path: Path, cell, document: dict, config: dict) -> dict[str, str]:
    """{file: what stands in it} of all that belongs to a cell."""
    files = {"numpy": "reference"}
    generated = {
        f"{files.get(framework, framework)}.py": generate(cell, framework, path.name)
        for framework in FRAMEWORKS
    }
    return {
        "cell.py": path.read_text(encoding="utf-8"),
        "__init__.py": f'"""What was made of {path.name}, and itself, `cell`."""\n',
        "kernel.py": KERNEL,
        **generated,
        "document.yaml": yaml.safe_dump(document, sort_keys=False, width=120),
        "config.yaml": yaml.safe_dump(config, sort_keys=False, width=120),
    }


def write(folder: Path, files: dict[str, str]) -> None:
    """Write what is not there, or says something else; what belongs to an earlier one goes."""
    for name, text in files.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            with whole(str(file), "wb") as stream:
                stream.write(text.encode())  # whatever the locale
    for file in folder.glob("*.py"):
        if file.name not in files:
            file.unlink()


def untimeable(benchmark: dict, phases: Sequence[str]) -> str:
    """Which value of a cell overflows float32 first, or that all its gradients are 0, in words; "" where neither is so. Of the weights and inputs that are timed, on
    a few rows of a batch, forward; and of the gradients."""
    workload = Workload(benchmark, None, SEED, batch=min(ROWS, benchmark["batch"]))
    weights, (inputs, targets) = workload.weights(), next(workload.batches())
    single = {name: np.asarray(value, np.float32) for name, value in weights.items()}
    kind, x = benchmark["cell"], np.asarray(inputs, np.float32)
    with np.errstate(all="ignore"):
        for number, prefix in enumerate(layer_prefixes(weights)):
            layer, states, outputs = reference._parts(single, prefix, kind), None, []
            for step in range(len(x)):
                output, states, _ = reference.layer(kind, x[step : step + 1], layer, states)
                for name, value in zip(CELLS[kind].states, states, strict=True):
                    if not np.isfinite(value).all():
                        where = f" of layer {number + 1}" if benchmark["layers"] > 1 else ""
                        return (
                            f"state {name}{where} overflows float32 at step {step + 1} of {len(x)}"
                        )
                outputs.append(output[0])
            x = np.array(outputs)
        _, gradients = reference.loss_and_gradients(
            weights, inputs, targets, workload.loss, cell=kind
        )
    for name, value in gradients.items():
        if not np.isfinite(np.asarray(value, np.float32)).all():
            return f"the gradient of {name} overflows float32 over {len(x)} steps"
    layers = tuple(layer_prefixes(weights))
    learns = any(np.any(value) for name, value in gradients.items() if name.startswith(layers))
    if "training" in phases and not learns:
        return "all its gradients are 0 (PHASES=forward times inference)"
    return ""


def stages(config: dict) -> Iterator[tuple[str, list[str]]]:
    """What each stage is, and its settings."""
    (called,) = config["documents"]
    asked = config["overrides"][called]["implementations"]
    first, most = own_cell.first_look(config), own_cell.without_last(config)

    def only(rows: list[str]) -> list[str]:
        if rows == asked:
            return []
        chosen = {called: {"implementations": rows}}
        text = yaml.safe_dump(chosen, default_flow_style=True, width=10_000)
        return [f"overrides={text.strip()}"]

    if first != asked:
        yield (
            "First results: a few implementations, one process each.",
            ["preliminary=true", *only(first)],
        )
    some = "All rows" if most == asked else "Implementations that compile quickly"
    yield f"{some}: one process each.", ["preliminary=true", *only(most)]
    yield "More processes, for intervals.", only(most)
    if most != asked:
        yield "Implementations that compile slowly.", []


def prepared(arguments: argparse.Namespace) -> tuple[Path, object, dict, dict]:
    """(file, cell, document, configuration) of what was asked for, all of it held against what it may be."""
    if not arguments.file:
        raise Refused("CELL: name the file of your cell: make cell CELL=my_cell.py")
    if wrong := [each for each in arguments.config if "=" not in each]:
        raise Refused(f"SET: `{wrong[0]}` is not KEY=VALUE")
    example = EXAMPLES / f"{arguments.file}.py"
    path = example if example.exists() else Path(arguments.file)
    usual = own_cell.template()
    shape = own_cell.shape_of(own_cell.given(arguments.shape), usual["shape"])
    phases = own_cell.phases_of(arguments.phases, usual["phases"])
    frameworks = own_cell.frameworks_of(arguments.frameworks)
    cell = load(path)
    if shape["hidden"] % cell.heads:
        told = f"hidden must be a multiple of the {cell.heads} heads of {cell.name}"
        raise Refused(f"SHAPE: {told}, not {shape['hidden']}")
    formula = digest_of(generate(cell, "numpy", ""))
    document = own_cell.document(cell.name, formula, str(path), shape, phases)
    base = configuration.with_settings(arguments.configfile, arguments.config)
    return path, cell, document, own_cell.config(cell.name, base, frameworks)


def run(file: Path, config: dict) -> int | None:
    """Measure all that is missing, in stages, with the page after each; -> Snakemake's exit status."""
    (called,) = config["documents"]
    page = f"results/report/{called}.html"
    own = f"results/manifests/{{document}}-{machine.facts()['machine']}.json"
    others = pages.other_machines([called], own, ["results", *config.get("also_report", [])])
    targets = [page, *(f"results/report/{pages.folder(each)}/{called}.html" for each in others)]
    status: int | None = 0
    all_stages = list(stages(config))
    for said, settings in all_stages:
        if settings != all_stages[-1][1]:
            plan = Plan(configuration.given(str(file), settings), cores=machine.usable_cores())
            if not wanted(plan.timings(called)):
                continue
        print(said, flush=True)
        status = run_workflow.snakemake(str(file), settings, targets)
        if status != 0:
            break
        told = [each["said"] for each in pages.of_own_cells() if each["document"] == called]
        print(*filter(None, told), f"Page: {page} (and .md)", sep="\n", flush=True)
    return status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "file", help="the cell: a Python file in the kernels' language, or the name of an example"
    )
    parser.add_argument("--shape", help="sizes that replace the defaults, as YAML")
    parser.add_argument("--phases", help="forward, training or both")
    parser.add_argument("--frameworks", help="those to measure")
    parser.add_argument("--configfile", default=str(own_cell.CONFIG / "config.yaml"))
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--parent", type=int, help="stop when this process ends")
    arguments = parser.parse_args()
    try:
        path, cell, document, config = prepared(arguments)
    except (Refused, CellError) as problem:
        sys.exit(str(problem))
    run_workflow.begin(arguments.parent)
    folder = own.FOLDER / cell.name
    write(folder, texts(path, cell, document, config))
    copies.take()  # for all stages
    configuration.given(str(folder / "config.yaml"), [])
    benchmark = next(
        each for each in document["benchmarks"].values() if each.get("cell") == OWN + cell.name
    )
    if wrong := untimeable(benchmark, document["phases"]):
        sys.exit(
            f"{path}: {wrong}, at this length, with weights uniform in ±0.1. Nothing was timed."
        )
    sys.exit(run(folder / "config.yaml", config))


if __name__ == "__main__":
    main()

"""The kernels agree with the reference at shapes that fit no vector, tile or thread count."""

from kernels.cells import CELLS

from .running import run


def processes(**_: object) -> list[tuple[str, ...]]:
    return [("tvm", "run_kernels.py"), ("tvm", "run_other_machines.py")]


def found() -> dict:
    return run("tvm", "run_kernels.py")


def test_every_shape_and_schedule_agrees_with_the_reference() -> None:
    errors = {name: e for name, e in found().items() if name != "tuning"}
    # Of a cell, shape and phase: output, d x, states and their gradients, and every layer's weights.
    trained = {name for name in errors if " d weights " in name}
    weights = [3 + len(each.vectors) + each.projected for each in CELLS.values()]
    assert len(trained) == (2 + 1 + 3) * sum(weights)
    assert len({name.split()[0] for name in errors} & set(CELLS)) == len(CELLS)
    others = [name for name in errors if name.split()[0] not in CELLS]
    of_models = (1 + 3 * 6) + 2 * (1 + 3 * 9)  # the larger one by two targets
    # Of a language model the loss, and of each of its weights the first value, the gradient and the update.
    assert sum(name.startswith("trained") for name in others) == of_models
    assert len(others) == 6 * 5 + 1 + 5 + of_models + 3
    assert {name: error for name, error in errors.items() if not error < 1e-5} == {}


def test_tuning_goes_on_from_its_database() -> None:
    """[new trials, trials in the database] of each search; a damaged database is begun anew."""
    assert found()["tuning"] == {
        "first": [4, 4],
        "more": [2, 6],
        "again": [0, 6],
        "damaged": [2, 2],
    }


def test_more_cores_and_narrower_vectors_agree_with_the_reference() -> None:
    """Five threads, AVX-512 and AVX2 where the CPU has them; NEON compiles to vectors."""
    found = run("tvm", "run_other_machines.py")
    assert len(found["errors"]) >= 2 * 2 * 10
    assert {name: error for name, error in found["errors"].items() if not error < 1e-5} == {}
    assert found["neon"] > 100

"""Whether implementations that train from the same weights come to the same perplexity."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reporting import training
from reporting.blocks import Block, Table, Text
from reporting.layout import deviation, seconds
from reporting.sections import OK, Tables

TITLE = "Do the implementations train the same model?"


@dataclass(frozen=True)
class Run:
    """One implementation's training, from the same weights as the others'."""

    name: str
    environment: str
    batches: int
    train_perplexity: float
    valid_perplexity: float
    seconds: float


@dataclass(frozen=True)
class Answer:
    benchmark: str
    runs: list[Run]
    agreement: dict  # training.agreement
    reached: dict | None  # training.reached


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    asked, those = about["document"]["training"], about["trainings"]
    if not any(row["curve"] for row in those):
        return None
    known = None if any(row["stand_in"] for row in those) else asked.get("known")
    kept = ("batch", "train_perplexity", "valid_perplexity", "train_s")
    runs = [
        Run(
            about["labels"][row["implementation"]],
            row["environment"],
            *(row["curve"][-1][key] for key in kept),
        )
        for row in those
        if row["status"] == OK and row["curve"]
    ]
    agreement = training.agreement(those, asked["points"])
    return Answer(asked["benchmark"], runs, agreement, training.reached(those, known))


def write(answer: Answer) -> Iterator[Block]:
    yield Text(
        f"`{answer.benchmark}` trained from the same weights on the same batches, dropout off. The validation perplexity is "
        "computed by the float64 reference from the weights that each implementation reached."
    )
    worst, reached = answer.agreement["worst"], answer.reached
    said = f"The implementations train the same model: **{answer.agreement['verdict']}**"
    if worst:
        said += (
            f"; closest to its bound, the perplexities after {worst['batch']:,} batches differ by {deviation(worst['spread'])} "
            f"(up to {deviation(worst['within'])} allowed)"
        )
    if reached:
        known = reached["known"]
        said += f". One epoch reaches the known perplexity: **{reached['verdict']}**"
        if reached["rows"]:
            said += f", {reached['valid_perplexity']:.1f} in validation"
        said += f" (known: {known['valid_perplexity']}, {known['source']})"
    yield Text(f"{said}.")
    columns = {"Implementation": "name", "Versions": "environment"}
    columns |= {"Batches": lambda each: f"{each.batches:,}"}
    columns |= {"Training perplexity": lambda each: f"{each.train_perplexity:.1f}"}
    columns |= {"Validation perplexity": lambda each: f"{each.valid_perplexity:.1f}"}
    yield Table.of(answer.runs, columns | {"Training (s)": lambda each: seconds(each.seconds)})

"""What has no number, by reason: nothing is dropped silently."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from plan.matrix import NOT_RUN
from reporting.blocks import Block, Points
from reporting.sections import Tables, took_part

TITLE = "Not measured"
NAMED = 3  # implementations of a reason; of others only their number is said
REASONS = 3  # of which the implementations are named


@dataclass(frozen=True)
class Reason:
    """`reason`: the first of those that are alike but for their numbers."""

    status: str
    reason: str
    count: int
    names: list[str]


@dataclass(frozen=True)
class Answer:
    devices: dict[str, int]  # {device that took no part: measurements}
    reasons: list[Reason]  # what failed first, then what cannot be had, then what the run left out


def analyse(tables: Tables, about: Mapping) -> Answer | None:
    cells = tables.cells[tables.cells["status"] != "ok"]
    if cells.empty:
        return None
    took = took_part(cells, about)
    alike = cells["reason"].str.replace(r"\d+", "#", regex=True)  # reasons but for their numbers
    found = [
        Reason(str(status), own["reason"].iloc[0], len(own), list(dict.fromkeys(own["name"])))
        for (status, _), own in cells[took].groupby(["status", alike[took]], sort=False)
    ]
    order = {"unsupported": 1, NOT_RUN: 2}
    found.sort(key=lambda each: (order.get(each.status, 0), -each.count))
    return Answer(cells[~took]["device"].value_counts().to_dict(), found)


def write(answer: Answer) -> Iterator[Block]:
    points = []
    for each in answer.reasons[:REASONS]:
        names = ", ".join(each.names[:NAMED])
        more = f" and {len(each.names) - NAMED} more" if len(each.names) > NAMED else ""
        points.append(f"*{each.status}* ({each.count}): {names}{more}: {each.reason.rstrip('.')}.")
    if rest := sum(each.count for each in answer.reasons[REASONS:]):
        points.append(f"{rest} more for other reasons, listed in `cells.csv`.")
    points += [
        f"{count} need a {device.upper()}; none was used on this machine."
        for device, count in answer.devices.items()
    ]
    yield Points(points)

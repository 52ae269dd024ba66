"""What a reader of the published document should know, in points of the document's file."""

from collections.abc import Mapping

from reporting.sections import Tables


def analyse(tables: Tables, about: Mapping, points, file=None) -> dict | None:
    return {"points": points}

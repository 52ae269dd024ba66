"""All claims of a document with the figures behind every verdict."""

from collections.abc import Mapping

from reporting.sections import Tables, claims


def analyse(tables: Tables, about: Mapping) -> dict | None:
    return claims.analyse(tables, about, full=True)

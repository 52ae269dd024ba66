"""Which sections pages have: config/documents and config/pages.yaml. Read to plan, so it needs nothing but YAML."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml


@cache
def settings() -> dict:
    """config/pages.yaml"""
    return yaml.safe_load(Path("config/pages.yaml").read_text())


def added(document: Mapping) -> dict[str, list[dict]]:
    """{page: sections} that a document adds to the pages that are about all."""
    found = {page: list(entries) for page, entries in settings()["each"].items()}
    found["first_page"] = [*document.get("first_page", []), *found.get("first_page", [])]
    return found


def sections_of(document: Mapping) -> tuple[list[str], list[str]]:
    """The sections of a document's own page, and of what it adds to others."""
    own = {entry["section"] for entry in document["sections"]}
    others = {entry["section"] for entries in added(document).values() for entry in entries}
    return sorted(own), sorted(others)

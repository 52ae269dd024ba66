"""The best row for each of several needs, as `use` has it for one."""

from collections.abc import Mapping, Sequence

from reporting.sections import Tables, use


def analyse(tables: Tables, about: Mapping, needs: Sequence[Mapping]) -> dict | None:
    """needs: options of `use`, a need each; -> what it says of them all."""
    found = [use.analyse(tables, about, phase="forward", **need) for need in needs]
    parts = [part for part in found if part]
    return use.merge(parts) if parts else None

"""Of rules, what no run on one machine shows."""

import re

from tests.conftest import ROOT


def test_pages_are_made_where_snakemake_runs() -> None:
    """On a cluster, too. `use rule` takes over everything but this."""
    text = (ROOT / "workflow/rules/report.smk").read_text()
    rules = re.split(r"^(?:use )?rule ", text, flags=re.M)[1:]
    assert rules and all("\n    localrule: True" in each for each in rules)

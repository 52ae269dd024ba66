"""What `make plan` reads is what `make report` runs."""

import yaml

import plan_run


def test_settings_are_laid_over_the_file() -> None:
    """Key by key, as Snakemake does."""
    with open("config/quick.yaml") as stream:
        quick = yaml.safe_load(stream)
    settings = ["protocol={seed: 7, timed_batches: 9}", "devices=[cpu]", "preliminary=true"]
    found = plan_run.read("config/quick.yaml", settings)
    assert (found["protocol"]["seed"], found["protocol"]["timed_batches"]) == (7, 9)
    assert found["protocol"]["warmup_batches"] == quick["protocol"]["warmup_batches"]
    assert (found["devices"], found["preliminary"]) == (["cpu"], True)

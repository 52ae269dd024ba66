"""The plan: what a run is made of, as data. Pure, and without anything that Snakemake does not bring itself."""

"""The plan: what a run is made of, as data, without anything that Snakemake does not bring itself."""

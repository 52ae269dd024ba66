"""The package of packages/recurrent_cells, as it is installed."""

"""The search of a kernel's schedule: its space, measurements, model and database."""

"""The ways without a template: default rules, untuned, unrolled, and ready-made schedules for GPUs."""

"""Whole verbs under attack: hostile inputs handed to `rocm_perf.cli.main.main`, and what may come of it."""

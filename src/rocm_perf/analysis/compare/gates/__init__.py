"""Limits that a change must keep: what `--fail-on` takes, and how it is judged."""

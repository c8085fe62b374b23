"""The only place that touches bytes: bounded, tolerant readers that the adapters share."""

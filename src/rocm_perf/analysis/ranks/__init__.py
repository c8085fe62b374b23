"""Ranks of one job beside each other: who waits, for whom and why."""

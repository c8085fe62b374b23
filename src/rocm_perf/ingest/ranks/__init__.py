"""Recordings of several ranks as one: which collectives are the same, and how their clocks relate."""

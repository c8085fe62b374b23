"""Drawings of characters for a terminal: pure functions from results to lines."""

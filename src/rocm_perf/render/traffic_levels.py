"""The bytes between ranks as levels of a heat map, which drawings and figures share."""

from __future__ import annotations

from rocm_perf.model.results.communication import Traffic

LEVELS = 5  # 0: nothing was sent; the highest: more than three quarters of the largest


def levels(traffic: Traffic) -> list[list[int]]:
    """The level of each cell, by its share of the largest."""
    largest = max(max(row) for row in traffic.sent_bytes)
    return [[_level(sent, largest) for sent in row] for row in traffic.sent_bytes]


def _level(sent: int, largest: int) -> int:
    return 1 + min(int((LEVELS - 1) * sent / largest), LEVELS - 2) if sent else 0

"""What became of the captures that were laid beside a recording of graph replays."""

from __future__ import annotations

import msgspec


class CaptureUse(msgspec.Struct, frozen=True):
    """One recording of a capture: the graphs in it, and how many replays turned out to be of them."""

    source: str
    graphs: int
    names: tuple[str, ...]  # of the ranges around the captures
    replays: int
    refused: str | None = None  # why it was of no use


class Unmatched(msgspec.Struct, frozen=True):
    """Replayed kernels that no capture accounts for, and why."""

    reason: str
    kernels: int


class Adoption(msgspec.Struct, frozen=True):
    """How replayed kernels were matched with the launches that were captured."""

    compared: str  # what had to agree
    replays: int
    matched_replays: int
    kernels: int  # that replays ran
    matched_kernels: int
    captures: tuple[CaptureUse, ...]
    unmatched: tuple[Unmatched, ...]

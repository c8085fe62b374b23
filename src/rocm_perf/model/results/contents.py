"""What a recording holds: its GPUs, and telling rows of its tables."""

from __future__ import annotations

import msgspec


class Agent(msgspec.Struct, frozen=True):
    """One GPU of the recording."""

    node: int
    agent_id: int
    gfx: str | None
    name: str | None
    cu_count: int | None


class Excerpt(msgspec.Struct, frozen=True):
    """The most telling rows of a table that the sections above do not cover."""

    table: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int

"""What a recording contains: its GPUs, and the most informative rows of its tables."""

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
    """The most informative rows of a table that no other section covers."""

    table: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int

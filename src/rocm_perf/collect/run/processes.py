"""Process groups as /proc shows them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Process(NamedTuple):
    """One process."""

    pid: int
    parent: int
    group: int
    state: str  # R, S, T, Z, ...


def process(pid: int) -> Process | None:
    """A process as /proc describes it; None if it is gone."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent, group = text.rpartition(")")[2].split()[:3]  # the name before it may hold anything
    return Process(pid=pid, parent=int(parent), group=int(group), state=state)


def members(group: int) -> list[Process]:
    """The processes of a group that still run."""
    try:
        os.killpg(group, 0)
        pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return []
    running = (process(pid) for pid in pids)
    return [one for one in running if one is not None and one.group == group and one.state not in "ZX"]


def has_siblings() -> bool:
    """Whether someone else in our group, who neither waits for us nor is ours, may want the terminal: a pager, say."""
    family = {os.getpid()}
    ancestor = process(os.getppid())
    while ancestor is not None and ancestor.pid not in family:
        family.add(ancestor.pid)
        ancestor = process(ancestor.parent)
    return any(one.pid not in family and one.parent != os.getpid() for one in members(os.getpgrp()))

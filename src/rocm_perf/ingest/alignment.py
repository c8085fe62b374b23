"""Sensor readings beside a profiler's recording, moved to its clock and its GPU numbers. What two files of one run both
hold (readings in madengine's layout, collectives without times) is kept once."""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from rocm_perf.ingest.part import Part, Sensing
from rocm_perf.ingest.processes import Group, Piece

_GPU_WORK = ("dispatches", "copies")


def aligned(groups: list[Group]) -> list[Group]:
    """The groups of a run, with sensor readings on the clock and GPU numbers of the others."""
    pieces = [piece for group in groups for piece in group.pieces]
    if not any(piece.part.sensing or _is_library_log(piece) for piece in pieces):
        return groups
    sampled = {piece.place.set_key[0] for piece in pieces if piece.part.sensing}
    timed = any("collectives" in p.part.tables and not _is_library_log(p) for p in pieces)
    fitted = []
    for group in groups:
        beside = [other for other in groups if other.span and other.host in (None, group.host)]
        kept = [piece for piece in group.pieces if not _is_copy(piece, sampled)]
        if kept:
            fitted.append(Group(tuple(replace(p, part=_fitted(p, beside, timed)) for p in kept)))
    return fitted


def _is_library_log(piece: Piece) -> bool:
    return piece.adapter.name == "rocm-perf-library-trace"


def _is_copy(piece: Piece, sampled: set[str]) -> bool:
    """Whether the file repeats readings that lie beside it, in madengine's layout."""
    return piece.part.tool == "madengine" and piece.place.set_key[0] in sampled


def _fitted(piece: Piece, beside: list[Group], timed: bool) -> Part:
    part = piece.part
    if _is_library_log(piece) and timed:
        return replace(part, tables={name: t for name, t in part.tables.items() if name != "collectives"})
    if part.sensing is None or not beside:
        return part
    clock = next((group.clock for group in beside if group.clock != "unknown"), "unknown")
    offset = part.sensing.epoch_ns if clock == "epoch" else 0
    numbers = _numbers(part.sensing, clock, _agents_of(beside))
    tables = {name: _placed(frame, offset, numbers) for name, frame in part.tables.items()}
    kept = {name: frame for name, frame in tables.items() if frame.height}
    return replace(part, tables=kept, clock="epoch" if offset else part.clock)


def _agents_of(groups: list[Group]) -> set[int]:
    """The numbers of the GPUs that did something, as the profiler gives them."""
    frames = [
        p.part.tables[name]
        for group in groups
        for p in group.pieces
        for name in _GPU_WORK
        if name in p.part.tables
    ]
    return {agent for frame in frames for agent in frame["agent_id"].drop_nulls().unique()}


def _numbers(sensing: Sensing, clock: str, used: set[int]) -> dict[int, int]:
    """ROCm's profilers, which record the boot clock, number GPUs by their HSA nodes; frameworks, which record dates,
    mostly by the program's own count. Numbers that do not occur in one of the two decide."""
    node_first = clock == "boot" or not used <= set(sensing.ordinals.values())
    if sensing.nodes and node_first and (not used or used <= set(sensing.nodes.values())):
        return sensing.nodes
    return sensing.ordinals or sensing.nodes


def _placed(frame: pl.DataFrame, offset: int, numbers: dict[int, int]) -> pl.DataFrame:
    """The rows on the other clock, under the other GPU numbers. A GPU that the program cannot see has no number
    there, and its rows are left out."""
    times = [name for name in ("time_ns", "start_ns", "end_ns") if name in frame.columns]
    frame = frame.with_columns(pl.col(name) + offset for name in times)
    if not numbers:
        return frame
    number = pl.col("agent_id").replace_strict(numbers, default=None, return_dtype=pl.Int64)
    return frame.with_columns(agent_id=number).drop_nulls("agent_id")

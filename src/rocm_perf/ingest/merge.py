"""From the pieces of one run to one Trace: hosts become nodes, passes get numbers, what two formats both
recorded is kept once, and what one file of a process knows (its pid, its rank) reaches the others."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rocm_perf.ingest.runs import Group, Piece
from rocm_perf.ingest.sniff import MODULES
from rocm_perf.model import schema
from rocm_perf.model.run import Loss, RunInfo, SourceFile
from rocm_perf.model.trace import Trace

# A process recorded in several formats at once is read from the one that says most: sniffing order.
_PREFERENCE = {f"rocm_perf.ingest.{module}": rank for rank, module in enumerate(MODULES)}
_KEYED = {"agents": ("node", "agent_id"), "counter_info": ("gfx", "agent_id", "counter")}


@dataclass(frozen=True)
class _Setting:
    """Where the rows of one group belong."""

    node: int
    pass_id: int
    pid: int | None
    rank: int | None


def merge(groups: list[Group]) -> Trace:
    """One Trace of all groups of a run."""
    hosts = _hosts(groups)
    passes = _passes(groups)
    notices: list[str] = []
    tables: dict[str, list[pl.DataFrame]] = {}
    for group in groups:
        setting = _Setting(hosts.index(_host_of(group, hosts)), passes[id(group)], _pid(group), _rank(group))
        kept, dropped = _one_format_a_table(group)
        notices.extend(dropped)
        for name, frame in kept:
            tables.setdefault(name, []).append(_settle(name, frame, setting))
    merged = {name: _join(name, frames) for name, frames in tables.items()}
    merged["nodes"] = _nodes(groups, hosts)
    merged.setdefault("processes", _processes(merged))
    return Trace(merged, _run_info(groups, hosts, notices))


def _hosts(groups: list[Group]) -> list[str | None]:
    named = list(dict.fromkeys(group.host for group in groups if group.host))
    return list(named) if named else [None]


def _host_of(group: Group, hosts: list[str | None]) -> str | None:
    return group.host or hosts[0]


def _passes(groups: list[Group]) -> dict[int, int]:
    """Pass numbers: as the folders say, else 0 for the traced run and 1, 2, ... for counter passes."""
    numbers: dict[int, int] = {}
    traced = any(not group.only_counters and group.span for group in groups)
    seen: list[frozenset[str]] = [] if not traced else [frozenset()]
    for group in sorted(groups, key=lambda group: group.span or (0, 0)):
        if group.place.pass_id is not None:
            numbers[id(group)] = group.place.pass_id
        elif group.only_counters:
            if group.counters not in seen:
                seen.append(group.counters)
            numbers[id(group)] = seen.index(group.counters)
        else:
            numbers[id(group)] = 0
    return numbers


def _pid(group: Group) -> int | None:
    """The process id, from whichever file knows it."""
    known = {piece.part.pid for piece in group.pieces if piece.part.pid is not None}
    for piece in group.pieces:
        for frame in piece.part.tables.values():
            if "pid" in frame.columns:
                known.update(frame["pid"].drop_nulls().unique())
    if len(known) == 1:
        return known.pop()
    return group.place.pid if not known else None


def _rank(group: Group) -> int | None:
    ranks = [piece.part.rank for piece in group.pieces if piece.part.rank is not None]
    return ranks[0] if ranks else group.place.rank


def _one_format_a_table(group: Group) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    """The tables of a process; where two formats hold the same one, the richer format's."""
    kept: list[tuple[str, pl.DataFrame]] = []
    notices: list[str] = []
    by_table: dict[str, list[Piece]] = {}
    for piece in sorted(group.pieces, key=_preference):
        for name in piece.part.tables:
            by_table.setdefault(name, []).append(piece)
    for name, pieces in by_table.items():
        best = _preference(pieces[0])
        for piece in pieces:
            if _preference(piece) == best or name in _KEYED:
                kept.append((name, piece.part.tables[name]))
            else:
                notices.append(
                    f"{name} of {piece.source.name} left out: {pieces[0].source.file_name} holds the same run"
                )
    return kept, notices


def _preference(piece: Piece) -> int:
    return _PREFERENCE.get(piece.adapter.read.__module__, len(_PREFERENCE))


def _settle(name: str, frame: pl.DataFrame, setting: _Setting) -> pl.DataFrame:
    """Fill in what the group knows and the file does not. A file that names its own nodes keeps them."""
    updates = []
    if "node" in frame.columns and setting.node:
        updates.append((pl.col("node") + setting.node).alias("node"))
    if "pass_id" in frame.columns and setting.pass_id:
        updates.append(pl.lit(setting.pass_id, pl.Int32).alias("pass_id"))
    for column, value in (("pid", setting.pid), ("rank", setting.rank)):
        if column in frame.columns and value is not None:
            updates.append(pl.col(column).fill_null(value))
    return frame.with_columns(updates).select(schema.SCHEMAS[name].names) if updates else frame


def _join(name: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
    table = frames[0] if len(frames) == 1 else pl.concat(frames)
    if name == "dispatches" and len(frames) > 1:
        return _unique_dispatches(table)
    if name == "instructions" and len(frames) > 1:
        return table.unique(["dispatch_id", "code_object", "pc", "text"], keep="first", maintain_order=True)
    if name in _KEYED and len(frames) > 1:
        return _first_known(table, _KEYED[name])
    return table


def _unique_dispatches(table: pl.DataFrame) -> pl.DataFrame:
    """A kernel trace and a counter file of one pass list the same dispatches: the fuller row stays."""
    key = ("node", "pid", "pass_id", "dispatch_id")
    fullness = pl.sum_horizontal(pl.all().is_not_null().cast(pl.Int32)).alias("fullness")
    ranked = table.with_row_index("position").with_columns(fullness)
    return (
        ranked.sort("fullness", descending=True, maintain_order=True)
        .unique(key, keep="first", maintain_order=True)
        .sort("position")
        .drop("position", "fullness")
    )


def _first_known(table: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    others = [name for name in table.columns if name not in key]
    merged = table.group_by(key, maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in others
    )
    return merged.select(table.columns)


def _nodes(groups: list[Group], hosts: list[str | None]) -> pl.DataFrame:
    rows = []
    for number, host in enumerate(hosts):
        members = [piece for group in groups if _host_of(group, hosts) == host for piece in group.pieces]
        clock = next((p.part.clock for p in members if p.part.clock != "unknown"), "unknown")
        system = next((p.part.os for p in members if p.part.os), None)
        rows.append({"node": number, "host": host, "os": system, "clock": clock})
    return schema.conform("nodes", pl.DataFrame(rows, schema_overrides={"host": pl.String, "os": pl.String}))


def _processes(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Processes seen in the other tables, where no file lists them."""
    key = ("node", "rank", "pass_id", "pid")
    frames = [
        frame.group_by(key).agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        for name, frame in tables.items()
        if name in ("dispatches", "api_calls", "ops", "copies")
    ]
    if not frames:
        return schema.empty("processes")
    found = pl.concat(frames).filter(pl.col("pid").is_not_null())
    spans = found.group_by(key).agg(pl.col("start_ns").min(), pl.col("end_ns").max()).sort(key)
    return schema.conform("processes", spans)


def _run_info(groups: list[Group], hosts: list[str | None], notices: list[str]) -> RunInfo:
    pieces = [piece for group in groups for piece in group.pieces]
    parts = [piece.part for piece in pieces]
    losses: list[Loss] = [loss for part in parts for loss in part.losses]
    tools = dict.fromkeys(part.tool for part in parts)
    clocks = dict.fromkeys(part.clock for part in parts if part.clock != "unknown")
    return RunInfo(
        tool=" + ".join(tools),
        tool_version=next((part.tool_version for part in parts if part.tool_version), None),
        formats=tuple(dict.fromkeys(piece.adapter.name for piece in pieces)),
        hosts=tuple(host for host in hosts if host),
        command=next((part.command for part in parts if part.command), None),
        clock=" + ".join(clocks) or "unknown",
        asked=tuple(dict.fromkeys(domain for part in parts for domain in part.asked)),
        sources=tuple(SourceFile(p.source.name, p.source.stored_bytes, p.adapter.name) for p in pieces),
        losses=tuple(losses),
        notices=tuple(dict.fromkeys([notice for part in parts for notice in part.notices] + notices)),
        recorded_at=next((part.recorded_at for part in parts if part.recorded_at), None),
    )

"""From the pieces of one run to one Trace: hosts become nodes, passes get numbers, what two formats both recorded is
kept once, and what one file of a process knows (its pid, its rank) is passed on to the others."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.ingest.alignment import aligned
from rocm_perf.ingest.captures.graph_launches import with_graph_launches
from rocm_perf.ingest.clocks import on_one_clock
from rocm_perf.ingest.collectives.kernels import with_collectives
from rocm_perf.ingest.interning import with_shared_names
from rocm_perf.ingest.jobs import require_one_of_each_rank
from rocm_perf.ingest.kernel_names import same_kernels
from rocm_perf.ingest.machines import folded, machines_of, renumbered
from rocm_perf.ingest.nesting import with_depth
from rocm_perf.ingest.nvidia.ncu import LAID_OUT, laid_end_to_end
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.processes import Group, Piece
from rocm_perf.ingest.ranks.align import on_common_clocks
from rocm_perf.ingest.sampled import told_windows
from rocm_perf.ingest.sniff import MODULES
from rocm_perf.model import schema
from rocm_perf.model.collection import CollectionRecord, joined
from rocm_perf.model.run import LENGTHS, Loss, RunInfo, SourceFile
from rocm_perf.model.trace import Trace

# A process recorded in several formats at once is read from the one with the most information: sniffing order.
_PREFERENCE = {f"rocm_perf.ingest.{module}": rank for rank, module in enumerate(MODULES)}
# Rows with the same key describe the same thing: each file knows a different part of it.
KEYED = {
    "agents": ("node", "agent_id"),
    "counter_info": ("gfx", "agent_id", "counter"),
    "stacks": ("stack_id",),
    "waves": ("dispatch_id", "shader_engine", "simd", "slot", "start_cycle"),
}


class _Setting(msgspec.Struct, frozen=True):
    """The node, pass, process and rank that the rows of one group belong to."""

    node: int
    pass_id: int
    pid: int | None
    rank: int | None


_PROCESS = ["node", "rank", "pass_id", "pid"]
_BESIDE = ("rocm-perf", "library logs")  # the tool names of our samplers and log readers


def merge(groups: list[Group]) -> Trace:
    """One Trace of all groups of a run; raises if two of them are of one rank."""
    require_one_of_each_rank(groups)
    groups = _under_one_name(aligned(groups))
    machines = machines_of(groups)
    passes = _passes(groups)
    notices: list[str] = []
    tables: dict[str, list[tuple[_Setting, pl.DataFrame]]] = {}
    for group in groups:
        setting = _Setting(machines.numbers[id(group)], passes[id(group)], _pid(group), group.rank)
        kept, dropped = _one_format_per_table(group)
        notices.extend(dropped)
        for name, frame in kept:
            tables.setdefault(name, []).append((setting, _filled_in(frame, setting)))
    first = groups[0].pieces[0].source.name
    merged, lost = on_one_clock({name: _join(name, frames) for name, frames in tables.items()}, first)
    if "ranges" in merged:
        merged["ranges"] = with_depth(merged["ranges"])
    if "dispatches" in merged and "api_calls" in merged:
        merged["dispatches"] = with_graph_launches(merged["dispatches"], merged["api_calls"])
    merged = with_collectives(merged)
    laid_out = _laid_out(merged)
    merged["nodes"] = machines.nodes
    if "processes" not in merged:
        merged["processes"] = _processes(merged)
    merged = _as_one_machine(on_common_clocks(merged, machines.clocks), machines.presumed)
    info = _run_info(groups, merged["nodes"], [*notices, LAID_OUT] if laid_out else notices)
    if laid_out:
        info = msgspec.structs.replace(info, clock=LENGTHS)
    if info.collection and info.collection.window.recurs and "windows" not in merged:
        merged["windows"] = told_windows(merged, info.collection.window)
    return Trace(merged, msgspec.structs.replace(info, losses=(*info.losses, *lost)))


def _under_one_name(groups: list[Group]) -> list[Group]:
    """The groups with kernels under the names that the tool gives them whose times are shown."""
    timed = [group for group in groups if group.span and group.dispatched]
    if not timed or len({tool for group in groups for tool in group.tools}) < 2:
        return groups
    first = min(timed, key=lambda group: group.only_counters)
    names = {name for group in timed if group.tools & first.tools for name in _kernels(group)}
    return [group if group.tools & first.tools else _renamed(group, names) for group in groups]


def _kernels(group: Group) -> set[str]:
    """The names of kernels in any table of the group."""
    frames = [frame for piece in group.pieces for frame in piece.part.tables.values()]
    return {
        name for frame in frames if "kernel" in frame.columns for name in frame["kernel"].unique() if name
    }


def _renamed(group: Group, names: set[str]) -> Group:
    """The group with the kernels under `names` that it spells differently."""
    same = same_kernels(_kernels(group), names)
    if not same:
        return group
    pieces = []
    for piece in group.pieces:
        tables = {
            name: frame.with_columns(pl.col("kernel").replace(same)) if "kernel" in frame.columns else frame
            for name, frame in piece.part.tables.items()
        }
        part = msgspec.structs.replace(piece.part, tables=tables)
        pieces.append(msgspec.structs.replace(piece, part=part))
    return Group(tuple(pieces))


def _laid_out(tables: dict[str, pl.DataFrame]) -> bool:
    """Lay the dispatches of Nsight Compute end to end where nothing recorded when a kernel ran, and tell whether."""
    if "dispatches" not in tables or "counters" not in tables or tables["dispatches"]["start_ns"].count():
        return False
    dispatches = laid_end_to_end(tables["dispatches"], tables["counters"])
    if dispatches is None:
        return False
    tables["dispatches"] = dispatches
    return True


def _as_one_machine(tables: dict[str, pl.DataFrame], presumed: frozenset[int]) -> dict[str, pl.DataFrame]:
    """The tables with nodes that are presumably one machine as one node."""
    numbers = folded(tables, presumed)
    if not numbers:
        return tables
    placed = {name: renumbered(frame, numbers) for name, frame in tables.items()}
    for name in KEYED.keys() & placed.keys():
        placed[name] = first_known(placed[name], KEYED[name])
    placed["nodes"] = placed["nodes"].unique("node", keep="first", maintain_order=True)
    return placed


def _passes(groups: list[Group]) -> dict[int, int]:
    """Pass numbers: as the folders say, else 0 for the run without counters and 1, 2, ... for counter passes."""
    numbers: dict[int, int] = {}
    traced = any(not group.only_counters and (group.span or group.dispatched) for group in groups)
    placed = [group.place.pass_id for group in groups if group.place.pass_id is not None]
    first = max(placed) + (0 if traced else 1) if placed else 0  # behind those that have a number
    counted: list[frozenset[str]] = [] if not traced else [frozenset()]
    for group in sorted(groups, key=lambda group: group.span or (0, 0)):
        if group.place.pass_id is not None:
            numbers[id(group)] = group.place.pass_id
        elif group.only_counters:
            if group.counters not in counted:
                counted.append(group.counters)
            numbers[id(group)] = first + counted.index(group.counters)
        else:
            numbers[id(group)] = 0
    return numbers


def _pid(group: Group) -> int | None:
    """The process id, from whichever file knows it."""
    pids = {pid for piece in group.pieces if (pid := piece.part.pid) is not None and 0 <= pid < 1 << 63}
    for piece in group.pieces:
        for frame in piece.part.tables.values():
            if "pid" in frame.columns:
                pids.update(frame["pid"].drop_nulls().unique())
    if len(pids) == 1:
        return pids.pop()
    return group.place.pid if not pids else None


def _one_format_per_table(group: Group) -> tuple[list[tuple[str, pl.DataFrame]], list[str]]:
    """The tables of a process; where two formats hold the same one, that of the richer format."""
    kept: list[tuple[str, pl.DataFrame]] = []
    notices: list[str] = []
    by_table: dict[str, list[Piece]] = {}
    for piece in sorted(group.pieces, key=_preference):
        for name in (name for name in piece.part.tables if name != "nodes"):
            by_table.setdefault(name, []).append(piece)
    for name, pieces in by_table.items():
        best = _preference(pieces[0])
        for piece in pieces:
            if _preference(piece) == best or name in KEYED:
                kept.append((name, piece.part.tables[name]))
            else:
                notices.append(
                    f"{name} of {piece.source.name} left out: {pieces[0].source.file_name} holds the same run"
                )
    return kept, notices


def _preference(piece: Piece) -> int:
    return _PREFERENCE.get(piece.adapter.read.__module__, len(_PREFERENCE))


def _filled_in(frame: pl.DataFrame, setting: _Setting) -> pl.DataFrame:
    """Fill in what the group knows and the file does not. A file that names its own nodes keeps them."""
    columns = {}
    if "node" in frame.columns and setting.node:
        columns["node"] = frame["node"] + setting.node
    if "pass_id" in frame.columns and setting.pass_id:
        columns["pass_id"] = pl.repeat(setting.pass_id, frame.height, dtype=pl.Int32, eager=True)
    for name, value in (("pid", setting.pid), ("rank", setting.rank)):
        if value is not None and name in frame.columns and frame[name].null_count():
            columns[name] = frame[name].fill_null(value)
    if not columns:
        return frame
    # Column by column: with_columns would first copy a table that came in several chunks.
    filled = frame.clone()
    for name, column in columns.items():
        filled.replace_column(filled.get_column_index(name), column.alias(name))
    return filled


def _join(name: str, frames: list[tuple[_Setting, pl.DataFrame]]) -> pl.DataFrame:
    """One table of one piece: Polars may panic on texts that are joined over a first chunk which a filter emptied."""
    if len(frames) == 1:
        return frames[0][1]
    shared = with_shared_names(name, [frame for _, frame in frames])
    frames = [(setting, frame) for (setting, _), frame in zip(frames, shared, strict=True)]
    if name == "dispatches":
        return _join_dispatches(frames).rechunk()
    table = pl.concat([frame for _, frame in frames], rechunk=True)
    if name == "instructions":
        return table.unique(["dispatch_id", "code_object", "pc", "text"], keep="first", maintain_order=True)
    if name == "allocations":
        return _without_repeated(table)
    return first_known(table, KEYED[name]) if name in KEYED else table


def _without_repeated(allocations: pl.DataFrame) -> pl.DataFrame:
    """Each event once that several snapshots of one process hold, as the last of them has it."""
    is_snapshot = pl.col("level").eq_missing("SNAPSHOT")
    key = ["node", "rank", "pid", "agent_id", "operation", "address", "start_ns"]
    once = allocations.filter(is_snapshot).unique(key, keep="last", maintain_order=True)
    return pl.concat([allocations.filter(~is_snapshot), once])


def _join_dispatches(frames: list[tuple[_Setting, pl.DataFrame]]) -> pl.DataFrame:
    """Only files of one process and pass can list the same dispatch twice."""
    of_process: dict[_Setting, list[pl.DataFrame]] = {}
    for setting, frame in frames:
        of_process.setdefault(setting, []).append(frame)
    return pl.concat([_unique_dispatches(members) for members in of_process.values()])


def _unique_dispatches(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """A kernel trace and a counter file of one pass list the same dispatches, and each knows something
    that the other does not: rows with one number, and one start where both have it, are merged."""
    if len(frames) == 1:
        return frames[0]
    key = ["node", "pid", "pass_id", "dispatch_id"]
    table = pl.concat(frames).with_row_index("position")
    start = pl.col("start_ns").fill_null(pl.col("start_ns").max().over(key))
    table = table.with_columns(start.alias("moment"))
    repeated = pl.struct(*key, "moment").is_duplicated() & pl.col("dispatch_id").is_not_null()
    twice = table.filter(repeated)
    if twice.is_empty():
        return table.drop("position", "moment")
    fullness = pl.sum_horizontal(pl.all().is_not_null().cast(pl.Int32))
    fullest = twice.with_columns(pl.col("start_ns").is_not_null().alias("timed"), fullness.alias("fullness"))
    fullest = fullest.sort("timed", "fullness", descending=True, maintain_order=True)
    once = first_known(fullest.select(table.columns), (*key, "moment"))
    joined = pl.concat([table.filter(~repeated), once]).sort("position")
    return joined.drop("position", "moment")


def first_known(table: pl.DataFrame, key: tuple[str, ...]) -> pl.DataFrame:
    """One row for each key, with the first value of each column that is known."""
    others = [name for name in table.columns if name not in key]
    merged = table.group_by(key, maintain_order=True).agg(
        pl.col(name).drop_nulls().first() for name in others
    )
    return merged.select(table.columns)


def _processes(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """The processes that occur in the other tables, for runs where no file lists them."""
    frames = [
        _process_spans(frame)
        for name, frame in tables.items()
        if name in ("dispatches", "api_calls", "ops", "copies")
    ]
    if not frames:
        return schema.empty("processes")
    rows = pl.concat(frames).filter(pl.col("pid").is_not_null())
    return schema.conform("processes", _process_spans(rows).sort(_PROCESS))


def _process_spans(rows: pl.DataFrame) -> pl.DataFrame:
    """From when to when each process did something. Mostly there is one, and nothing to be grouped."""
    span = pl.col("start_ns").min(), pl.col("end_ns").max()
    if all(rows[name].n_unique() == 1 for name in _PROCESS):
        return rows.select(pl.col(_PROCESS).first(), *span)
    return rows.group_by(_PROCESS).agg(*span)


def _tools(parts: list[Part]) -> list[str]:
    """The tools that recorded the run, without the samplers and log readers of a run of our own."""
    profilers = [part.collection.profiler for part in parts if part.collection is not None]
    if not profilers:
        return [part.tool for part in parts]
    recorders = [part.tool for part in parts if part.collection is None and part.tool not in _BESIDE]
    return recorders or profilers


def _run_info(groups: list[Group], nodes: pl.DataFrame, notices: list[str]) -> RunInfo:
    pieces = [piece for group in groups for piece in group.pieces]
    parts = [piece.part for piece in pieces]
    losses: list[Loss] = [loss for part in parts for loss in part.losses]
    records = [part.collection for part in parts if part.collection is not None]
    tools = dict.fromkeys(_tools(parts))
    clocks = dict.fromkeys(part.clock for part in parts if part.clock != "unknown")
    return RunInfo(
        tool=" + ".join(tools),
        tool_version=next((part.tool_version for part in parts if part.tool_version), None),
        formats=tuple(dict.fromkeys(piece.adapter.name for piece in pieces)),
        hosts=tuple(dict.fromkeys(host for host in nodes["host"] if host)),
        command=next((part.command for part in parts if part.command), None),
        clock=" + ".join(clocks) or "unknown",
        asked=tuple(dict.fromkeys(domain for part in parts for domain in part.asked)),
        sources=tuple(SourceFile(p.source.name, p.source.stored_bytes, p.adapter.name) for p in pieces),
        losses=tuple(losses),
        notices=tuple(dict.fromkeys([notice for part in parts for notice in part.notices] + notices)),
        recorded_at=next((part.recorded_at for part in parts if part.recorded_at), None),
        world_size=max((part.world_size for part in parts if part.world_size), default=None),
        software=tuple(dict.fromkeys(name for part in parts for name in part.software)),
        numbering=min(
            (part.numbering for part in parts if part.numbering is not None),
            key=lambda numbers: numbers.followed / numbers.recorded,
            default=None,
        ),
        collection=_first_record(records),
    )


def _first_record(records: list[CollectionRecord]) -> CollectionRecord | None:
    """Return the record of the first rank, of all its launches; None where there is no record."""
    if not records:
        return None
    first = min(records, key=lambda record: record.rank or 0)
    if first.rank is None:
        return first
    return joined([each for each in records if (each.run_id, each.rank) == (first.run_id, first.rank)])

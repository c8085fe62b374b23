"""Files of one process: they share a folder and a prefix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec
import polars as pl

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.place import Place

_REPLAYING = frozenset({"ncu"})  # tools
TIMED = ("dispatches", "api_calls", "ops", "copies", "ranges", "allocations", "scratch")


class Piece(msgspec.Struct, frozen=True):
    """One file with its content and place."""

    source: Source
    adapter: Adapter
    part: Part
    place: Place


@dataclass(frozen=True)
class Group:
    """Pieces that certainly belong together: the files of one process in one pass."""

    pieces: tuple[Piece, ...]

    @property
    def place(self) -> Place:
        return self.pieces[0].place

    @cached_property
    def host(self) -> str | None:
        return next((p.part.host or p.place.host for p in self.pieces if p.part.host or p.place.host), None)

    @cached_property
    def clock(self) -> str:
        return next((p.part.clock for p in self.pieces if p.part.clock != "unknown"), "unknown")

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """First and last time of the group; None if nothing in it has a time."""
        spans = [
            span
            for piece in self.pieces
            for name, frame in piece.part.tables.items()
            if name in TIMED and (span := _span(frame))
        ]
        return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None

    @cached_property
    def counters(self) -> frozenset[str]:
        frames = [piece.part.tables["counters"] for piece in self.pieces if "counters" in piece.part.tables]
        return frozenset(name for frame in frames for name in frame["counter"].unique())

    @cached_property
    def kernels(self) -> frozenset[str]:
        """The kernels that it lists, one by one or in a profiler's own statistics."""
        names: set[str] = set()
        for tables in (piece.part.tables for piece in self.pieces):
            if "dispatches" in tables:
                names.update(tables["dispatches"]["kernel"].drop_nulls().unique())
            if "summaries" in tables:
                of_kernels = tables["summaries"].filter(pl.col("domain") == "kernel")
                names.update(of_kernels["name"].drop_nulls().unique())
        return frozenset(name.removesuffix(" [clone .kd]").removesuffix(".kd") for name in names)

    @cached_property
    def pids(self) -> frozenset[int]:
        """The processes that it knows by their number; 0 stands for a GPU in some formats."""
        stated = {piece.part.pid or piece.place.pid for piece in self.pieces}
        columns = [
            frame["pid"]
            for piece in self.pieces
            for name, frame in piece.part.tables.items()
            if name in TIMED and "pid" in frame.columns
        ]
        recorded = {int(pid) for column in columns for pid in column.drop_nulls().unique()}
        return frozenset((stated | recorded) - {None, 0})  # type: ignore[arg-type]

    @cached_property
    def gpu_kinds(self) -> frozenset[str]:
        """The architectures of the GPUs that it lists."""
        frames = [piece.part.tables["agents"] for piece in self.pieces if "agents" in piece.part.tables]
        return frozenset(
            gfx for frame in frames for gfx in frame.filter(pl.col("kind") == "GPU")["gfx"].drop_nulls()
        )

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(piece.part.tool for piece in self.pieces)

    @property
    def start(self) -> int:
        """When the group starts; 0 if nothing in it has a time."""
        return self.span[0] if self.span else 0

    @cached_property
    def rank(self) -> int | None:
        """The rank, from whichever file knows it; one that does not fit its column is unknown."""
        ranks = [r for piece in self.pieces if (r := piece.part.rank) is not None and 0 <= r < 1 << 31]
        return ranks[0] if ranks else self.place.rank

    @cached_property
    def world_size(self) -> int | None:
        """How many ranks its job has, if a file says so."""
        return next((piece.part.world_size for piece in self.pieces if piece.part.world_size), None)

    @property
    def dispatched(self) -> bool:
        """Whether the group lists dispatches, with times or without."""
        return any("dispatches" in piece.part.tables for piece in self.pieces)

    @property
    def only_counters(self) -> bool:
        """Whether the group exists for its counters: everything else in it describes the same dispatches."""
        return bool(self.counters) and not any("api_calls" in piece.part.tables for piece in self.pieces)


# Files whose times lie further apart on one clock were left behind by different runs.
ANOTHER_RUN_NS = 3_600 * 10**9


def group_by_process(pieces: list[Piece]) -> list[Group]:
    """Files with one folder and prefix are one process, unless their times say that they cannot be; so is a file that
    is a view of another in its folder. A profiler that runs each kernel several times had a process of its own."""
    sets: dict[tuple[tuple[str, str], bool], list[Piece]] = {}
    homes = {(piece.adapter.name, piece.place.set_key[0]): piece.place.set_key for piece in reversed(pieces)}
    for piece in pieces:
        own = piece.place.set_key
        home = homes.get((piece.adapter.view_of, own[0]), own)
        sets.setdefault((home, piece.part.tool in _REPLAYING), []).append(piece)
    return [group for members in sets.values() for group in _by_time(members)]


def _by_time(pieces: list[Piece]) -> list[Group]:
    dated = ((index, piece) for index, piece in enumerate(pieces) if piece.part.clock != "relative")
    spans = {index: span for index, piece in dated if (span := Group((piece,)).span)}
    clusters: list[list[int]] = [[index for index in range(len(pieces)) if index not in spans]]
    reach: int | None = None
    for index, (start, end) in sorted(spans.items(), key=lambda entry: entry[1]):
        if reach is not None and start - reach > ANOTHER_RUN_NS:
            clusters.append([])
        clusters[-1].append(index)
        reach = end if reach is None else max(reach, end)
    return [group for members in clusters for group in _by_pid([pieces[index] for index in sorted(members)])]


def _by_pid(pieces: list[Piece]) -> list[Group]:
    """The pieces by the processes that they name. One that names none stays with those nearest in time."""
    groups = [Group((piece,)) for piece in pieces]
    processes: list[tuple[frozenset[int], list[Group]]] = []
    for group in groups if len(groups) > 1 else ():
        same = [entry for entry in processes if group.pids & entry[0]]
        processes = [entry for entry in processes if not group.pids & entry[0]]
        if group.pids:
            members = [member for _, others in same for member in others]
            processes.append((group.pids.union(*(pids for pids, _ in same)), [*members, group]))
    if len(processes) < 2:
        return [Group(tuple(pieces))]
    homes = {id(member): number for number, (_, members) in enumerate(processes) for member in members}
    for group in groups:
        nearest = min(groups, key=lambda other: (id(other) not in homes, apart_ns(group, other)))
        homes.setdefault(id(group), homes[id(nearest)])
    return [
        Group(tuple(piece for piece, group in zip(pieces, groups, strict=True) if homes[id(group)] == number))
        for number in range(len(processes))
    ]


def apart_ns(one: Group, other: Group) -> int:
    """How far the times of two groups lie apart; 0 if they overlap, or if one has none."""
    if not one.span or not other.span:
        return 0
    (start, end), (other_start, other_end) = one.span, other.span
    return max(0, other_start - end, start - other_end)


def _span(frame: pl.DataFrame) -> tuple[int, int] | None:
    start, end = frame.select(pl.col("start_ns").min(), pl.col("end_ns").max().alias("end")).row(0)
    if start is None:
        return None
    return int(start), int(end if end is not None else start)

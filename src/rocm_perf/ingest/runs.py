"""Which files belong to one run. Files of one process share a folder and a prefix; processes of one run
overlap in time; counter passes follow one another and count different things."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.place import Place

TIMED = ("dispatches", "api_calls", "ops", "copies", "ranges", "allocations", "scratch")


@dataclass(frozen=True)
class Piece:
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

    @property
    def only_counters(self) -> bool:
        """Whether the group exists for its counters: everything else in it describes the same dispatches."""
        return bool(self.counters) and not any("api_calls" in piece.part.tables for piece in self.pieces)


# Files with one name whose times lie further apart were left behind by different runs.
_ANOTHER_RUN_NS = 3_600 * 10**9


def group_by_process(pieces: list[Piece]) -> list[Group]:
    """Files with one folder and prefix are one process, unless their times say that they cannot be; so is a file that
    is a view of another in its folder."""
    sets: dict[tuple[str, str], list[Piece]] = {}
    homes = {(piece.adapter.name, piece.place.set_key[0]): piece.place.set_key for piece in reversed(pieces)}
    for piece in pieces:
        own = piece.place.set_key
        sets.setdefault(homes.get((piece.adapter.view_of, own[0]), own), []).append(piece)
    return [group for members in sets.values() for group in _by_time(members)]


def _by_time(pieces: list[Piece]) -> list[Group]:
    dated = ((index, piece) for index, piece in enumerate(pieces) if piece.part.clock != "relative")
    spans = {index: span for index, piece in dated if (span := Group((piece,)).span)}
    clusters: list[list[int]] = [[index for index in range(len(pieces)) if index not in spans]]
    reach: int | None = None
    for index, (start, end) in sorted(spans.items(), key=lambda entry: entry[1]):
        if reach is not None and start - reach > _ANOTHER_RUN_NS:
            clusters.append([])
        clusters[-1].append(index)
        reach = end if reach is None else max(reach, end)
    return [Group(tuple(pieces[index] for index in sorted(members))) for members in clusters]


# These tools keep one workload per folder, in files from many runs of the application.
_FOLDER_TOOLS = frozenset({"rocprof-compute"})


def split_runs(groups: list[Group]) -> list[list[Group]]:
    """The runs in a folder, first recorded first. A recording of rocm-perf says which run it belongs to."""
    own: dict[str, list[Group]] = {}
    others: list[Group] = []
    for group in groups:
        (others if group.place.run is None else own.setdefault(group.place.run, [])).append(group)
    runs = [*own.values(), *_inferred_runs(others)]
    return sorted(runs, key=lambda run: min(map(_start, run))) if own else runs


def _inferred_runs(groups: list[Group]) -> list[list[Group]]:
    if any(piece.part.tool in _FOLDER_TOOLS for group in groups for piece in group.pieces):
        return _workloads(groups)
    timed = [group for group in groups if group.span]
    rest = [group for group in groups if not group.span]
    if not timed:
        return [rest] if rest else []
    clusters = _overlapping(timed)
    runs = [clusters[0]]
    for cluster in clusters[1:]:
        if _is_another_pass(runs[-1], cluster):
            runs[-1] = runs[-1] + cluster
        else:
            runs.append(cluster)
    for group in rest:
        _home(runs, group).append(group)
    return runs


def _workloads(groups: list[Group]) -> list[list[Group]]:
    """One run per folder. A folder of tables alone, which the tool made afterwards, belongs to the one above it."""
    folders: dict[Path, list[Group]] = {}
    for group in groups:
        folders.setdefault(Path(group.place.set_key[0]), []).append(group)
    for folder in sorted(folders, key=lambda path: -len(path.parts)):
        above = next((parent for parent in folder.parents if parent in folders), None)
        if above is not None and not _kernel_names(folders[folder]):
            folders[above] += folders.pop(folder)
    return list(folders.values())


def _overlapping(groups: list[Group]) -> list[list[Group]]:
    """Groups joined where their times overlap; groups of other hosts and clocks cannot be separated by time."""
    first = min(groups, key=_start)
    comparable = [group for group in groups if (group.host, group.clock) == (first.host, first.clock)]
    foreign = [group for group in groups if (group.host, group.clock) != (first.host, first.clock)]
    clusters: list[list[Group]] = []
    reach = -1
    for group in sorted(comparable, key=_start):
        start, end = group.span or (0, 0)
        if clusters and start <= reach:
            clusters[-1].append(group)
        else:
            clusters.append([group])
        reach = max(reach, end)
    clusters[0].extend(foreign)
    return clusters


def _is_another_pass(run: list[Group], cluster: list[Group]) -> bool:
    """Whether the cluster is a pass of the run: its folder says so, or it counts something that the run has not
    counted yet."""
    roots = {group.place.root for group in run}
    if all(group.place.pass_id is not None and group.place.root in roots for group in cluster):
        return True
    counted = frozenset(name for group in run for name in group.counters)
    new = frozenset(name for group in cluster for name in group.counters)
    return (
        bool(new)
        and all(group.only_counters for group in cluster)
        and not (new & counted)
        and _same_kernels(run, cluster)
    )


def _same_kernels(run: list[Group], cluster: list[Group]) -> bool:
    before, now = _kernel_names(run), _kernel_names(cluster)
    return not before or bool(before & now)


def _kernel_names(groups: list[Group]) -> frozenset[str]:
    frames = [
        p.part.tables["dispatches"] for group in groups for p in group.pieces if "dispatches" in p.part.tables
    ]
    return frozenset(name for frame in frames for name in frame["kernel"].unique())


def _home(runs: list[list[Group]], group: Group) -> list[Group]:
    """The run that files without times (agents, statistics) belong to: the nearest one."""

    def distance(run: list[Group]) -> int:
        shared = max(_shared_prefix(group, other) for other in run)
        return -shared

    return min(runs, key=distance)


def _shared_prefix(one: Group, other: Group) -> int:
    left, right = (f"{g.place.set_key[0]}/{g.place.set_key[1]}" for g in (one, other))
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _start(group: Group) -> int:
    return group.span[0] if group.span else 0


def _span(frame: pl.DataFrame) -> tuple[int, int] | None:
    start, end = frame.select(pl.col("start_ns").min(), pl.col("end_ns").max().alias("end")).row(0)
    if start is None:
        return None
    return int(start), int(end if end is not None else start)

"""Files of one process: they share a folder and a prefix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import msgspec
import polars as pl

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part
from rocm_perf.ingest.place import Place

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


def _span(frame: pl.DataFrame) -> tuple[int, int] | None:
    start, end = frame.select(pl.col("start_ns").min(), pl.col("end_ns").max().alias("end")).row(0)
    if start is None:
        return None
    return int(start), int(end if end is not None else start)

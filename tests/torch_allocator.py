"""A caching allocator as torch has one, small enough to read, which knows the truth about itself: its snapshots
have the fields of several releases (torch/csrc/cuda/memory_snapshot.cpp, c10/cuda/CUDACachingAllocator.cpp)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RELEASES = ("1.13", "2.1", "2.5", "2.11")
_SMALL, _SMALL_SEGMENT, _LARGE_SEGMENT, _LARGE_LIMIT = 1 << 20, 2 << 20, 20 << 20, 10 << 20
_START = 0x7F00_0000_0000

Frame = dict[str, Any]


@dataclass
class Piece:
    """A block of a segment."""

    address: int
    size: int
    requested: int = 0
    state: str = "inactive"
    frames: list[Frame] = field(default_factory=list)


@dataclass
class Reserved:
    """A segment."""

    address: int
    pieces: list[Piece]
    is_large: bool

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)


class Allocator:
    """Gives out memory, and counts what torch.cuda.memory_stats counts."""

    def __init__(self) -> None:
        self.segments: list[Reserved] = []
        self.events: list[dict[str, Any]] = []
        self.annotations: list[dict[str, Any]] = []
        self.time_us = 1_731_780_000_000_000
        self.peak_bytes = self.peak_requested = 0
        self._next = _START

    def allocate(self, size: int, stack: list[Frame] | None = None) -> int:
        rounded = max(-(-size // 512) * 512, 512)
        segment, piece = self._free_piece(rounded, stack or [])
        rest = piece.size - rounded
        if rest > (_SMALL if segment.is_large else 511):
            segment.pieces.insert(segment.pieces.index(piece) + 1, Piece(piece.address + rounded, rest))
            piece.size = rounded
        piece.state, piece.requested, piece.frames = "active_allocated", size, stack or []
        self._record("alloc", piece.address, size, stack)
        self.peak_bytes = max(self.peak_bytes, self.allocated)
        self.peak_requested = max(self.peak_requested, self.requested)
        return piece.address

    def free(self, address: int, stack: list[Frame] | None = None) -> None:
        segment, piece = self._piece_at(address)
        self._record("free_requested", address, piece.requested, stack)
        self._record("free_completed", address, piece.requested, stack)
        piece.state, piece.requested, piece.frames = "inactive", 0, []
        self._merge(segment)

    def run_out(self, size: int, stack: list[Frame]) -> None:
        self._record("oom", None, size, stack, device_free=1 << 20)

    def annotate(self, name: str, stage: str) -> None:
        self.time_us += 1
        self.annotations.append({"name": name, "stage": stage, "device": 0, "time_us": self.time_us})

    @property
    def allocated(self) -> int:
        return sum(piece.size for piece in self._pieces("active_allocated"))

    @property
    def requested(self) -> int:
        return sum(piece.requested for piece in self._pieces("active_allocated"))

    @property
    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def inactive_split(self) -> int:
        return sum(
            piece.size
            for segment in self.segments
            if len(segment.pieces) > 1
            for piece in segment.pieces
            if piece.state == "inactive"
        )

    def snapshot(self, release: str = "2.11") -> dict[str, Any]:
        """What that release writes."""
        segments = [_segment(segment, release) for segment in self.segments]
        written: dict[str, Any] = {
            "segments": segments,
            "device_traces": [[_event(event, release) for event in self.events]],
        }
        if release != "1.13":
            written["allocator_settings"] = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1}
        if release in ("2.5", "2.11"):
            written["external_annotations"] = self.annotations
        return written

    def _record(
        self, action: str, address: int | None, size: int, stack: list[Frame] | None, **more: int
    ) -> None:
        self.time_us += 1
        event = {
            "action": action,
            "addr": address,
            "size": size,
            "stream": 0,
            "time_us": self.time_us,
            **more,
        }
        self.events.append({**event, "frames": stack or []})

    def _pieces(self, state: str) -> list[Piece]:
        return [piece for segment in self.segments for piece in segment.pieces if piece.state == state]

    def _free_piece(self, size: int, stack: list[Frame]) -> tuple[Reserved, Piece]:
        is_large = size > _SMALL
        fitting = [
            (segment, piece)
            for segment in self.segments
            if segment.is_large == is_large
            for piece in segment.pieces
            if piece.state == "inactive" and piece.size >= size
        ]
        if fitting:
            return min(fitting, key=lambda found: (found[1].size, found[1].address))
        return self._reserve(size, is_large, stack)

    def _reserve(self, size: int, is_large: bool, stack: list[Frame]) -> tuple[Reserved, Piece]:
        wanted = _LARGE_SEGMENT if size < _LARGE_LIMIT else -(-size // _SMALL_SEGMENT) * _SMALL_SEGMENT
        wanted = wanted if is_large else _SMALL_SEGMENT
        piece = Piece(self._next, wanted)
        segment = Reserved(self._next, [piece], is_large)
        self._next += wanted + (64 << 20)
        self.segments.append(segment)
        self._record("segment_alloc", segment.address, wanted, stack)
        return segment, piece

    def _piece_at(self, address: int) -> tuple[Reserved, Piece]:
        return next(
            (segment, piece)
            for segment in self.segments
            for piece in segment.pieces
            if piece.address == address
        )

    @staticmethod
    def _merge(segment: Reserved) -> None:
        merged: list[Piece] = []
        for piece in segment.pieces:
            if merged and merged[-1].state == piece.state == "inactive":
                merged[-1].size += piece.size
            else:
                merged.append(piece)
        segment.pieces[:] = merged


def frames(*functions: str) -> list[Frame]:
    """A stack, the innermost function first, each as `file.py:12:function`; without a file for C++."""
    return [_frame(*function.rsplit(":", 2)) if ".py:" in function else _frame("??", "0", function)
            for function in functions]  # fmt: skip


def _frame(filename: str, line: str, name: str) -> Frame:
    return {"filename": filename, "line": int(line), "name": name}


def _segment(segment: Reserved, release: str) -> dict[str, Any]:
    active = sum(piece.size for piece in segment.pieces if piece.state.startswith("active"))
    written: dict[str, Any] = {
        "device": 0,
        "address": segment.address,
        "total_size": segment.size,
        "allocated_size": active,
        "active_size": active,
        "stream": 0,
        "segment_type": "large" if segment.is_large else "small",
        "blocks": [_block(piece, release) for piece in segment.pieces],
    }
    if release != "1.13":
        requested = sum(piece.requested for piece in segment.pieces)
        written |= {
            "requested_size": requested,
            "segment_pool_id": (0, 0),
            "frames": [],
            "is_expandable": False,
        }
    return written


def _block(piece: Piece, release: str) -> dict[str, Any]:
    if release == "1.13":
        made = [{"addr": piece.address, "real_size": piece.requested, "frames": piece.frames}]
        return {"size": piece.size, "state": piece.state, **({"history": made} if piece.frames else {})}
    written: dict[str, Any] = {
        "size": piece.size,
        "requested_size": piece.requested,
        "state": piece.state,
        "frames": piece.frames,
    }
    return written if release == "2.1" else {"address": piece.address, **written}


def _event(event: dict[str, Any], release: str) -> dict[str, Any]:
    left_out = {"addr"} if event["action"] == "oom" else set()
    if release in ("1.13", "2.1"):
        left_out.add("time_us")
    written: dict[str, Any] = {name: value for name, value in event.items() if name not in left_out}
    if release in ("2.5", "2.11"):
        written["compile_context"] = "N/A"
    if release == "2.11":
        written |= {"user_metadata": "", "pool_id": (0, 0)}
    return written

"""What a memory snapshot of torch holds, from 1.13 to now (torch/csrc/cuda/memory_snapshot.cpp). A field that a release
did not write yet has a default; frames stay as they are, because thousands of events share
them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

Size = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Moment = Annotated[
    int, msgspec.Meta(ge=0, le=2**52)
]  # microseconds: a century has fewer, and 64 bits hold their ns
Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # a pickle may hold any
Frames = Any  # a list of dicts


class History(msgspec.Struct):
    """What a block of torch 1.13 and 2.0 holds."""

    real_size: Size = 0
    frames: Frames = None


class Block(msgspec.Struct):
    """A piece of a segment, used or free."""

    size: Size
    state: str = "inactive"
    requested_size: Size | None = None
    address: int | None = None
    frames: Frames = None
    history: list[History] = []

    @property
    def is_allocated(self) -> bool:
        """Whether a tensor holds it."""
        return self.state == "active_allocated"

    @property
    def is_pending(self) -> bool:
        """Whether it is freed, and another stream still uses it; the name of that state has changed."""
        return self.state.startswith("active_") and not self.is_allocated

    @property
    def stack(self) -> Frames:
        """Where it was allocated; nothing where that was not recorded."""
        return self.frames or (self.history[0].frames if self.history else None)


class Segment(msgspec.Struct):
    """Memory that the allocator reserved from the device."""

    address: int
    total_size: Size
    blocks: list[Block] = []
    device: Size = 0
    stream: Number = 0
    segment_type: str = ""
    segment_pool_id: tuple[int, int] = (0, 0)
    is_expandable: bool = False


class Event(msgspec.Struct):
    """One action of the allocator."""

    action: str
    size: Size = 0
    addr: int | None = None
    stream: Number = 0
    time_us: Moment | None = None
    device_free: Size | None = None  # of the device, when memory ran out
    frames: Frames = None


class Annotation(msgspec.Struct):
    """The start or the end of a record_function."""

    name: str = ""
    stage: str = ""
    device: Number = 0
    time_us: Moment | None = None


class Snapshot(msgspec.Struct):
    """The allocator's state on every device, and what it did before."""

    segments: list[Segment] = []
    device_traces: list[list[Event]] = []
    external_annotations: list[Annotation] = []
    allocator_settings: dict[str, Any] = {}

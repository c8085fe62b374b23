"""GPU time by what the host was in when it launched the work."""

from __future__ import annotations

import msgspec


class GpuStack(msgspec.Struct, frozen=True):
    """One kernel or kind of copy, launched from one place in the program."""

    frames: tuple[str, ...]  # ranges, functions and operators from the outermost on, then the kernel or copy
    gpu_ns: int

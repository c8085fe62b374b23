"""Files of our tracer, written by hand from the description in docs/formats.md."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence

MAGIC = b"RPTRACE1"
BEGINNING = {
    "recorder": "rocm-perf cupti",
    "host": "box",
    "pid": 6,
    "command": "./app",
    "cupti_time_ns": 1_000,
    "boot_time_ns": 5_000_000,
    "devices": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "warpSize": 32}],
}
ORDINARY_END: Mapping[str, object] = {"end": {"dropped_records": 0, "signal": 0}}


def framed(content: bytes) -> bytes:
    return struct.pack("<II", len(content), zlib.crc32(content)) + content


def document(fields: Mapping[str, object]) -> bytes:
    return framed(json.dumps(fields).encode())


def texts(names: Sequence[str], first: int = 0) -> bytes:
    encoded = [name.encode() for name in names]
    head = struct.pack(f"<cII{len(names)}I", b"S", first, len(names), *map(len, encoded))
    return framed(head + b"".join(encoded))


def table(letter: str, rows: Sequence[Sequence[int]]) -> bytes:
    head = struct.pack("<ccHI", b"T", letter.encode(), len(rows[0]), len(rows))
    data = b""
    for column in zip(*rows, strict=True):
        least = min(column)
        width = next(size for size in (0, 1, 2, 4, 8) if max(column) - least < 1 << 8 * size)
        head += struct.pack("<qB", least, width)
        data += b"".join((value - least).to_bytes(width, "little") for value in column)
    return framed(head + data)


def small() -> bytes:
    """Two kernels with their launches, a copy, a wait, an allocation and a range."""
    return b"".join(
        (
            MAGIC,
            document(BEGINNING),
            texts(["gemm", "cudaLaunchKernel", "Memcpy HtoD (Pinned -> Device)", "step", "", "Stream Sync"]),
            table("g", [(40, 1024, 10, 1, 1, 128, 1, 1)]),
            table("p", [(0, 1, 7)]),
            table("c", [(2_000, 10, 1, 1, 6, 0), (3_000, 10, 2, 1, 6, 0)]),
            table("k", [(2_100, 500, 1, 0, 0, 0), (3_100, 700, 2, 0, 0, 0)]),
            table("m", [(4_000, 50, 3, 2, 0, 4096, -1, -1)]),
            table("w", [(4_100, 5, 4, 5, 0, 7, -1)]),
            table("a", [(1_500, 1 << 20, 0x7F0000000000, 0, 0)]),
            table("r", [(1_900, 3_000, 6, 3, 4)]),
            document(ORDINARY_END),
        )
    )

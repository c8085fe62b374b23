"""Offload bundles as clang-offload-bundler lays them out, made by hand: the compiler in the tests has no bundler."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

import zstandard

_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_ALIGNMENT = 4096


def bundle(images: Mapping[str, bytes]) -> bytes:
    """The host's empty entry first, then one a target; each aligned to a page."""
    entries = {
        "host-x86_64-unknown-linux--": b"",
        **{f"hipv4-amdgcn-amd-amdhsa--{k}": v for k, v in images.items()},
    }
    header_bytes = len(_MAGIC) + 8 + sum(24 + len(target) for target in entries)
    header, body, offset = struct.pack("<24sQ", _MAGIC, len(entries)), b"", _aligned(header_bytes)
    for target, image in entries.items():
        header += struct.pack("<QQQ", offset + len(body), len(image), len(target)) + target.encode()
        body += image.ljust(_aligned(len(image)), b"\0")
    return header.ljust(offset, b"\0") + body


def compressed(plain: bytes, version: int, method: str = "zstd", claimed: int | None = None) -> bytes:
    """A compressed bundle; `claimed` is the unpacked size that its header states, if not the true one."""
    packed = zstandard.compress(plain) if method == "zstd" else zlib.compress(plain)
    size, number = len(plain) if claimed is None else claimed, {"zlib": 0, "zstd": 1}[method]
    if version == 1:
        return struct.pack("<4sHHIQ", b"CCOB", 1, number, size, 0) + packed
    form = "<4sHHIIQ" if version == 2 else "<4sHHQQQ"
    whole = struct.calcsize(form) + len(packed)
    return struct.pack(form, b"CCOB", version, number, whole, size, 0) + packed


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT

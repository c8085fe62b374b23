"""Snapshots of kernels compiled for AMD chips, made without a GPU: memory before the launch, and after it by numpy."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocm_perf.replay.finish import Making, finish
from rocm_perf.replay.snapshot import Snapshot
from tests.unit.replay.toys import write_region

FIRST = 0x7F0000000000
APART = 1 << 25
PRODUCTS = {"gfx942": "AMD Instinct MI300X", "gfx1151": "AMD Radeon 8060S", "gfx90a": "AMD Instinct MI210",
            "gfx1100": "AMD Radeon RX 7900 XTX"}  # fmt: skip

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


@dataclass(frozen=True)
class Launched:
    """One launch: arrays as they were and as the kernel left them, and scalars behind the pointers to them."""

    kernel: str
    before: Sequence[Array]
    after: Sequence[Array]
    groups: int
    workgroup: int = 256
    scalars: bytes = b""


def write_snapshot(
    folder: Path, launched: Launched, code: Path, gfx: str, kernarg_bytes: int = 256
) -> Snapshot:
    """The snapshot that a capture of the launch would have left in FOLDER/snap."""
    draft = folder / "draft"
    for part in ("memory", "after"):
        (draft / part).mkdir(parents=True)
    (draft / "kernel.hsaco").write_bytes(code.read_bytes())
    bases = [FIRST + number * APART for number in range(len(launched.before))]
    arguments = struct.pack(f"<{len(bases)}Q", *bases) + launched.scalars
    (draft / "kernarg.bin").write_bytes(arguments.ljust(kernarg_bytes, b"\0"))
    arrays = zip(bases, launched.before, launched.after, strict=True)
    regions = [write_region(draft, base, before.tobytes(), after.tobytes()) for base, before, after in arrays]
    (draft / "memory_regions.json").write_text(json.dumps({"version": 1, "regions": regions}))
    (draft / "dispatch.json").write_text(json.dumps(_dispatch(launched, gfx, kernarg_bytes)))
    account = {
        "version": 1,
        "state": "captured",
        "launches": 1,
        "matched": 1,
        "names_seen": {launched.kernel: 1},
    }
    (draft / "capture.json").write_text(json.dumps(account))
    return finish(draft, folder / "snap", Making(compress=False, outputs=True), lambda _: None)


def _dispatch(launched: Launched, gfx: str, kernarg_bytes: int) -> dict[str, object]:
    return {
        "version": 1, "vendor": "AMD", "kernel": launched.kernel, "name": launched.kernel, "dispatch": 1, "launch": 1,
        "grid": [launched.groups * launched.workgroup, 1, 1], "workgroup": [launched.workgroup, 1, 1],
        "dynamic_lds_bytes": 0, "group_segment_bytes": 0, "private_segment_bytes": 0,
        "kernarg": {"size": kernarg_bytes, "address": None}, "parameters": [],
        "device": {"index": 0, "name": PRODUCTS[gfx], "gfx": gfx, "uuid": "", "memory_bytes": None},
        "driver": "", "runtime": "", "attributes": {"cooperative": False, "cluster": [1, 1, 1]},
        "code_object": "kernel.hsaco", "pid": 1, "command": ["app"],
    }  # fmt: skip


def values(count: int, seed: int = 0) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The numbers that crosscheck.cu fills its arrays with."""
    return np.asarray(np.arange(seed, seed + count) % 1021 / np.float32(1021), np.float32)


def saxpy(elements: int = 1 << 20) -> Launched:
    x, y, n = values(elements), values(elements), elements - 3
    after = y.copy()
    after[:n] = np.float32(2.5) * x[:n] + y[:n]
    scalars = struct.pack("<fi", 2.5, n)
    return Launched("saxpy", (x, y), (x, after), groups=-(-elements // 256), scalars=scalars)


def stencil(height: int = 256) -> Launched:
    width = 512
    image, out = values(width * height), np.zeros(width * height, np.float32)
    at = image.reshape(height, width)
    around = ((at[1:-1, :-2] + at[1:-1, 2:]) + at[:-2, 1:-1]) + at[2:, 1:-1]
    after = out.reshape(height, width).copy()
    after[1:-1, 1:-1] = np.float32(0.5) * at[1:-1, 1:-1] + np.float32(0.125) * around
    scalars = struct.pack("<i", height)
    return Launched("stencil", (image, out), (image, after), groups=width * height // 256, scalars=scalars)


def block_sum(elements: int = 1 << 20) -> Launched:
    x, groups = values(elements), elements // 256
    parts = x.reshape(groups, 256).copy()
    step = 128
    while step:
        parts[:, :step] += parts[:, step : 2 * step]
        step //= 2
    return Launched("block_sum", (x, np.zeros(groups, np.float32)), (x, parts[:, 0].copy()), groups=groups)


def matmul(shift: int = 4) -> Launched:
    side = 16 << shift
    a, b = values(side * side).reshape(side, side), values(side * side).reshape(side, side)
    product = np.zeros((side, side), np.float32)
    for k in range(side):
        product += a[:, k : k + 1] * b[k : k + 1, :]
    before = (a, b, np.zeros_like(product))
    scalars = struct.pack("<i", shift)
    return Launched("matmul", before, (a, b, product), groups=side * side // 256, scalars=scalars)


KNOWN_WORK: Mapping[str, Callable[[], Launched]] = {
    "saxpy": saxpy, "stencil": stencil, "block_sum": block_sum, "matmul": matmul,
}  # fmt: skip

GROUPS = 8  # workgroups of 64, of the kernels of planted.hip
_ITEMS = 64 * GROUPS


def _planted(kernel: str, before: Sequence[Array], after: Sequence[Array], scalars: bytes = b"") -> Launched:
    return Launched(kernel, before, after, groups=GROUPS, workgroup=64, scalars=scalars)


def strided_load() -> Launched:
    x, y = values(32 * _ITEMS), np.zeros(_ITEMS, np.float32)
    return _planted("strided_load", (x, y), (x, x[::32] + np.float32(1)))


def bank_conflict(kernel: str = "bank_conflict") -> Launched:
    x, y = values(_ITEMS), np.zeros(_ITEMS, np.float32)
    return _planted(kernel, (x, y), (x, x[np.arange(_ITEMS) ^ 1]))


def divergent(loops: int = 256) -> Launched:
    x = values(_ITEMS)
    after = x.copy()
    for _ in range(loops):  # exact but for one rounding, as a fused multiply-add is
        after[::4] = after[::4].astype(np.float64) * 0.5 + 0.5
    return _planted("divergent", (x,), (after,), struct.pack("<fi", 0.5, loops))


def contended(value: int = 5) -> Launched:
    where, counters = np.full(_ITEMS, value, np.uint32), np.zeros(16, np.uint32)
    after = counters.copy()
    after[value] = _ITEMS
    return _planted("contended", (where, counters), (where, after))


def indexed() -> Launched:
    where, x = np.arange(_ITEMS, dtype=np.uint32) * np.uint32(2654435761), values(_ITEMS)
    chosen = where // 256 % 256
    after = np.where(chosen == where % 256, np.float32(0), x + chosen.astype(np.float32))
    return _planted("indexed", (where, x), (where, after.astype(np.float32)))


def wild() -> Launched:
    x = values(64)
    return _planted("wild", (x,), (x + np.float32(1),))


def endless() -> Launched:
    x = np.zeros(64, np.uint32)
    return _planted("endless", (x,), (x + np.uint32(1),))


def transpose(shift: int = 6) -> Launched:
    side = 16 << shift
    matrix, out = values(side * side), np.zeros(side * side, np.float32)
    after = np.ascontiguousarray(matrix.reshape(side, side).T)
    scalars = struct.pack("<i", shift)
    return Launched("transpose", (matrix, out), (matrix, after), groups=side * side // 256, scalars=scalars)

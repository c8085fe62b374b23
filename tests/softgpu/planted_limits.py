"""Launches of the kernels of tests/kernels/limits.hip: a planted limit each, and the same work without it."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from rocm_perf.model.results.count import Counting
from tests.amd_snapshots import Array, Launched, values

ITEMS = 64 * 2432  # enough waves for every SIMD of the largest GPU; a few workgroups are executed
EXECUTED = 8
STEPS = 256  # of each loop
HELD = 64  # values that a work-item keeps


FEW_ITEMS = 512  # a wave for each SIMD at most
KERNELS = (
    "conflicting", "conflict_free", "of_structures", "of_arrays", "copy_bytes", "copy_halves", "copy_wide", "doubles",
    "floats", "true_doubles", "quarters", "whole_waves", "special", "polynomial", "divided", "shifted", "barriers",
    "no_barriers", "histogram", "counted_first", "each_atomic", "one_atomic", "in_scratch", "in_lds", "spilling",
    "holding", "one_chain", "eight_chains", "plain_product",
)  # fmt: skip


def launched(kernel: str, items: int = ITEMS) -> Launched:
    """Return the launch of one of the kernels; what it writes is not compared."""
    size = _SIZES.get(kernel, 64)
    arrays = _arrays(kernel, items)
    return Launched(kernel, arrays, arrays, items // size, size, _SCALARS.get(kernel, _LOOPS))


_SIZES: Mapping[str, int] = dict.fromkeys(
    ("quarters", "whole_waves", "barriers", "no_barriers", "plain_product"), 256
)
_LOOPS = struct.pack("<i", STEPS)
_SCALARS: Mapping[str, bytes] = {
    "divided": struct.pack("<Ii", 7, STEPS),
    "shifted": struct.pack("<Ii", 7, STEPS),
    "one_chain": struct.pack("<f", 0.5),
    "eight_chains": struct.pack("<f", 0.5),
}


def _arrays(kernel: str, items: int) -> tuple[Array, ...]:
    whole = np.arange(items, dtype=np.uint32) * np.uint32(2654435761)
    floats, none = values(items), np.zeros(items, np.float32)
    if kernel in ("of_structures",):
        return values(8 * items), none
    if kernel in ("copy_bytes", "copy_halves", "copy_wide"):
        dtype = {"copy_bytes": np.uint8, "copy_halves": np.uint16}.get(kernel, np.uint32)
        each = 4 if kernel == "copy_wide" else 1
        return np.zeros(each * items, dtype), np.zeros(each * items, dtype)
    if kernel == "true_doubles":
        return (np.zeros(items, np.float64),)
    if kernel in ("divided", "shifted"):
        return (whole,)
    if kernel in ("histogram", "counted_first"):
        return whole >> np.uint32(7), np.zeros(16, np.uint32)
    if kernel in ("each_atomic", "one_atomic"):
        return whole, np.zeros(items, np.uint32)
    if kernel in ("in_scratch", "in_lds"):
        return whole, floats
    if kernel in ("spilling", "holding"):
        return values(items + 16 * HELD), np.zeros(items + 16 * HELD, np.float32)
    if kernel in ("one_chain", "eight_chains"):
        return (values(items + 512),)
    if kernel == "plain_product":
        return np.zeros(16 * STEPS, np.float16), np.zeros(16 * STEPS, np.float16), np.zeros(256, np.float32)
    return (floats, none) if kernel in ("conflicting", "conflict_free", "of_arrays") else (floats,)


def per_workgroup(result: Counting) -> dict[str, float]:
    """Return the tallies of a launch for each workgroup; spilled registers are those of the code."""
    groups = result.executed.of_workgroups
    return {
        one.name: one.amount if one.name == "spilled registers" else one.amount / groups
        for one in result.tallies
    }

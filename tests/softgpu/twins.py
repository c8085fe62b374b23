"""Twins: the same kernels compiled for this machine, called with the same arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.compile_amd import Compiler
from tests.softgpu.launching import Array, Value

KERNELS = Path(__file__).parent / "kernels"
# What -ffp-contract says holds on both sides: nothing is fused that the source does not fuse.
CONTRACT = "-ffp-contract=off"
_FLAGS = ("-std=c++20", "-O1", CONTRACT, "-Xclang", "-ffloat16-excess-precision=none")


def run_twin(
    compiler: Compiler,
    source: str,
    twin: str,
    arguments: Sequence[Value],
    *,
    groups: tuple[int, int, int],
    block: tuple[int, int, int],
    wave_size: int,
) -> tuple[Array, ...]:
    """What the arrays among the arguments hold after the kernel's twin has run."""
    path = compiler.compile_for_host(KERNELS / f"{source}.hip", *_FLAGS, f"-DWAVE={wave_size}")
    function = getattr(ctypes.CDLL(str(path)), f"twin_{twin}")
    copies = [np.array(value) for value in arguments]
    pointers = [
        ctypes.byref(ctypes.c_void_p(copy.ctypes.data)) if isinstance(value, np.ndarray) else copy.ctypes.data
        for copy, value in zip(copies, arguments, strict=True)
    ]
    addresses = (ctypes.c_void_p * len(pointers))(
        *(item if isinstance(item, int) else ctypes.cast(item, ctypes.c_void_p) for item in pointers)
    )
    function((ctypes.c_uint32 * 3)(*groups), (ctypes.c_uint32 * 3)(*block), addresses)
    return tuple(copy for copy, value in zip(copies, arguments, strict=True) if isinstance(value, np.ndarray))

"""Prints what launching a kernel takes the host, in nanoseconds: the median of some loops over an empty kernel.

It runs in a process of its own, with the tracer and without it, and needs nothing but CUDA's driver.
"""

from __future__ import annotations

import ctypes
import sys
import time
from statistics import median

_PTX = b""".version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
"""
_LOOPS, _LAUNCHES, _IN_A_ROW = 7, 4000, 100


def main() -> int:
    """Exits with 1 where CUDA has no device, or refuses."""
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    failed = (
        cuda.cuInit(0)
        or cuda.cuDeviceGet(ctypes.byref(device), 0)
        or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        or cuda.cuCtxSetCurrent(context)
        or cuda.cuModuleLoadData(ctypes.byref(module), _PTX)
        or cuda.cuModuleGetFunction(ctypes.byref(function), module, b"nothing")
    )
    if failed:
        return 1
    zero, none = ctypes.c_uint(0), ctypes.c_void_p()
    one = ctypes.c_uint(1)
    arguments = (function, one, one, one, one, one, one, zero, none, none, none)

    def loop() -> float:
        cuda.cuCtxSynchronize()
        start = time.perf_counter_ns()
        for number in range(_LAUNCHES):
            cuda.cuLaunchKernel(*arguments)
            if number % _IN_A_ROW == 0:
                cuda.cuCtxSynchronize()
        cuda.cuCtxSynchronize()
        return (time.perf_counter_ns() - start) / _LAUNCHES

    loop()
    sys.stdout.write(f"{median(loop() for _ in range(_LOOPS))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints what launching a kernel takes the host, and what each kernel adds to the launch of a graph, in nanoseconds:
medians of some loops over empty kernels. The second is missing where the driver makes no graphs.

It runs in a process of its own, with the tracer and without it, and needs nothing but CUDA's driver.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from statistics import median

_PTX = b""".version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() { ret; }
"""
_LOOPS, _LAUNCHES, _IN_A_ROW = 7, 4000, 100
_GRAPH_LAUNCHES, _SMALL_GRAPH, _LARGE_GRAPH = 200, 1, 101
_RELAXED, _NON_BLOCKING = 2, 1


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

    def launch(stream: ctypes.c_void_p) -> int:
        zero, one, none = ctypes.c_uint(0), ctypes.c_uint(1), ctypes.c_void_p()
        return int(cuda.cuLaunchKernel(function, one, one, one, one, one, one, zero, stream, none, none))

    figures = [_single(cuda, launch)]
    with suppress(AttributeError, OSError):
        figures.append(_in_graph(cuda, launch))
    sys.stdout.write("".join(f"{figure}\n" for figure in figures))
    return 0


def _single(cuda: ctypes.CDLL, launch: Callable[[ctypes.c_void_p], int]) -> float:
    default = ctypes.c_void_p()

    def loop() -> float:
        cuda.cuCtxSynchronize()
        start = time.perf_counter_ns()
        for number in range(_LAUNCHES):
            launch(default)
            if number % _IN_A_ROW == 0:
                cuda.cuCtxSynchronize()
        cuda.cuCtxSynchronize()
        return (time.perf_counter_ns() - start) / _LAUNCHES

    return _settled(loop)


def _in_graph(cuda: ctypes.CDLL, launch: Callable[[ctypes.c_void_p], int]) -> float:
    """What a kernel more takes: of two graphs, so that what a launch takes by itself is not in it."""
    stream = ctypes.c_void_p()
    _check(cuda.cuStreamCreate(ctypes.byref(stream), _NON_BLOCKING))

    def of_kernels(count: int) -> float:
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        _check(cuda.cuStreamBeginCapture_v2(stream, _RELAXED))
        for _ in range(count):
            _check(launch(stream))
        _check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
        _check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))

        def loop() -> float:
            start = time.perf_counter_ns()
            for _ in range(_GRAPH_LAUNCHES):
                _check(cuda.cuGraphLaunch(executable, stream))
                cuda.cuStreamSynchronize(stream)
            return (time.perf_counter_ns() - start) / _GRAPH_LAUNCHES

        return _settled(loop)

    small, large = of_kernels(_SMALL_GRAPH), of_kernels(_LARGE_GRAPH)
    return (large - small) / (_LARGE_GRAPH - _SMALL_GRAPH)


def _settled(loop: Callable[[], float]) -> float:
    loop()
    return median(loop() for _ in range(_LOOPS))


def _check(result: int) -> None:
    if result:
        raise OSError(f"CUDA's error {result}")


if __name__ == "__main__":
    sys.exit(main())

"""Runs in the Python that has torch: prints the GPU, then one JSON object per rate that torch can measure. Standard
library and torch alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rocm_perf.bench.inside.gpu import Printer, describe_gpu, first_line, float8, times_ms
from rocm_perf.bench.inside.timers import Call

_SIDES = (2048, 4096, 8192)  # of square matrices: small chips are at their best early
_LONGEST_CALL_S = 0.2
_BUFFER_BYTES = 1 << 30
_COPY_BYTES = 256 << 20
_FLOAT_BYTES = 4
# What torch raises for a type that it, or the GPU, does not multiply; which of them differs between releases.
_NOT_MULTIPLIED = (AttributeError, RuntimeError, TypeError, ValueError)


def main(arguments: Sequence[str]) -> int:
    """`main(["0", "all"])` measures everything of GPU 0; "matrix" leaves out what a native program measures better."""
    printer = Printer()
    import torch

    device = int(arguments[0])
    torch.cuda.set_device(device)
    printer.print({"gpu": describe_gpu(torch, device)})
    for measured in _measurements(torch, everything=arguments[1] == "all"):
        printer.print(measured)
    return 0


def _measurements(torch: Any, *, everything: bool) -> Iterator[dict[str, Any]]:
    if everything:
        yield from _memory(torch)
        yield from _host_link(torch)
    for dtype, multiply in _products(torch).items():
        yield _matrix(dtype, multiply)


def _matrix(dtype: str, multiply: Callable[[int], Call]) -> dict[str, Any]:
    """The best rate over sizes of square matrices, or the reason why there is none."""
    best: dict[str, Any] = {}
    most = 0.0
    for side in _SIDES:
        try:
            call = multiply(side)
            times = times_ms(call)
        except _NOT_MULTIPLIED as error:
            return best or {"product": dtype, "reason": first_line(error)}
        rate = 2 * side**3 / sorted(times)[len(times) // 2]
        if rate > most:
            unit = "TOP/s" if dtype == "i8" else "TFLOP/s"
            most, best = rate, {"product": dtype, "unit": unit, "amount": 2.0 * side**3, "times_ms": times}
        if max(times) > 1e3 * _LONGEST_CALL_S:
            break
    return best


def _products(torch: Any) -> dict[str, Callable[[int], Call]]:
    """By data type, what makes the product of two random square matrices."""

    def plain(dtype: Any, tf32: bool = False) -> Callable[[int], Call]:
        def make(side: int) -> Call:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            a, b = (torch.randn(side, side, device="cuda").to(dtype) for _ in range(2))
            return lambda: torch.matmul(a, b)

        return make

    def scaled(side: int) -> Call:
        dtype = float8(torch)
        a, b = (torch.randn(side, side, device="cuda").to(dtype) for _ in range(2))
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(
            a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    def integers(side: int) -> Call:
        a, b = (torch.randint(-128, 127, (side, side), device="cuda", dtype=torch.int8) for _ in range(2))
        return lambda: torch._int_mm(a, b.t())

    products: dict[str, Callable[[int], Call]] = {
        "f16": plain(torch.float16),
        "bf16": plain(torch.bfloat16),
        "f32": plain(torch.float32),
        "f64": plain(torch.float64),
        "f8": scaled,
        "i8": integers,
    }
    if torch.version.cuda:  # on AMD, torch computes such products in full precision
        products["xf32"] = plain(torch.float32, tf32=True)
    return products


def _memory(torch: Any) -> Iterator[dict[str, Any]]:
    count = min(_BUFFER_BYTES, torch.cuda.mem_get_info()[0] // 4) // _FLOAT_BYTES
    here, there = (torch.zeros(count, device="cuda") for _ in range(2))
    size = float(count * _FLOAT_BYTES)
    calls: dict[str, tuple[float, Call]] = {
        "memory read": (size, here.sum),
        "memory write": (size, there.zero_),
        "memory copy": (2 * size, lambda: there.copy_(here)),
    }
    for name, (amount, call) in calls.items():
        yield {"name": name, "unit": "TB/s", "amount": amount, "times_ms": times_ms(call)}


def _host_link(torch: Any) -> Iterator[dict[str, Any]]:
    there = torch.zeros(_COPY_BYTES, dtype=torch.uint8, device="cuda")
    for kind in ("pageable", "pinned"):
        here = torch.ones(_COPY_BYTES, dtype=torch.uint8, pin_memory=kind == "pinned")
        ways = (("host to device", there, here), ("device to host", here, there))
        for direction, to, source in ways:
            times = times_ms(partial(to.copy_, source), clock="wall")
            name = f"{direction}, {kind}"
            yield {"name": name, "unit": "GB/s", "amount": float(_COPY_BYTES), "times_ms": times}

"""A made model that is served: each step runs an embedding, layers and a head, kernel by kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

PRODUCT = "Cijk_Alik_Bljk_BBS_BH_MT64x32x256_SN"
LAYER = {
    "norm": 5,
    PRODUCT + "1": 20,
    "rotary": 4,
    "store_cache": 3,
    "flash_fwd_kernel": 30,
    PRODUCT + "2": 15,
    "norm_and_add": 6,
    PRODUCT + "4": 60,
    "activation": 7,
    PRODUCT + "5": 40,
}
LAYER_NS = sum(LAYER.values())
BEFORE, BEHIND = {"embedding": 7, "first": 3}, {PRODUCT + "3": 40, "argmax": 10}
Kernels = Mapping[str, int]


def served(steps: Sequence[Sequence[Kernels]], *, kinds: Sequence[str] = (), annotated: bool = True) -> Trace:
    """A serving step, of these kinds or else of decoding, for each list of layers, a layer being its kernels and what
    each takes in ns; `annotated`: a range around each step names it."""
    rows: dict[str, list[Row]] = {"dispatches": [], "api_calls": [], "ranges": []}
    now = 1_000
    for layers, kind in zip(steps, kinds or ["DECODE"] * len(steps), strict=True):
        begun = now
        for name, length in _kernels(layers):
            number = len(rows["dispatches"])
            rows["dispatches"].append(
                kernel(name, now, now + length, pid=7, correlation_id=number, dispatch_id=number)
            )
            rows["api_calls"].append(call("hipLaunchKernel", now - 1, now, number, pid=7, tid=7))
            now += length
        rows["ranges"].append(marked(f"step[{kind} bs=4]", begun - 5, now, depth=0, pid=7, tid=7))
        now += 500
    if not annotated:
        return trace(dispatches=rows["dispatches"], api_calls=rows["api_calls"])
    return trace(dispatches=rows["dispatches"], api_calls=rows["api_calls"], ranges=rows["ranges"])


def _kernels(layers: Sequence[Kernels]) -> Iterator[tuple[str, int]]:
    for part in (BEFORE, *layers, BEHIND):
        yield from part.items()

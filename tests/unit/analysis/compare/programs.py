"""Programs that call framework operators, each of which launches one kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import Row, call, kernel, marked, trace

US = 1000
_HOST: dict[str, Any] = {"pid": 1, "tid": 1}


class Op(NamedTuple):
    """A call of an operator, inside of a call of another if that is named; it launches one kernel of that length."""

    name: str
    gpu_us: int
    host_us: int = 10
    inside: str = ""
    module: str = ""
    shapes: str | None = None
    kernel: str = ""  # named after the operator, unless this says otherwise


MM, RELU = Op("aten::mm", 100), Op("aten::relu", 20, host_us=5)


def program(*calls: Op, steps: int = 1, once: Op | None = None) -> Trace:
    """Steps of these calls, one after the other; each takes its time on the host, then on the GPU. The step in the
    middle makes one more."""
    ops: list[Row] = []
    launches: list[Row] = []
    kernels: list[Row] = []
    ranges: list[Row] = []
    now = 0
    for step in range(steps):
        began = now
        for one in (*calls, once) if once and step == steps // 2 else calls:
            end, correlation = now + one.host_us * US, len(kernels) + 1
            modules = [f"nn.Module: {name}" for name in one.module.split("/") if name]
            ops += (_span("python", name, now, end) for name in modules)
            ops += (
                _span("operator", name, now, end, shapes=one.shapes)
                for name in (one.inside, one.name)
                if name
            )
            launches.append(call("hipLaunchKernel", now + US, now + 2 * US, correlation, **_HOST))
            last = end + one.gpu_us * US
            name = one.kernel or f"kernel of {one.name}"
            kernels.append(kernel(name, end, last, pid=1, correlation_id=correlation))
            now = last + US
        ranges.append(marked("step", began, now, **_HOST))
    return trace(ops=ops, api_calls=launches, dispatches=kernels, ranges=ranges)


def ahead(one: Op, steps: int) -> Trace:
    """Steps of one call, which the host has all made before the GPU begins with the first."""
    host_ns, gpu_ns = one.host_us * US, one.gpu_us * US
    calls, begins = [number * host_ns for number in range(steps)], steps * host_ns
    starts = [begins + number * gpu_ns for number in range(steps)]
    return trace(
        ops=[_span("operator", one.name, at, at + host_ns) for at in calls],
        api_calls=[
            call("hipLaunchKernel", at + 1, at + 2, number, **_HOST) for number, at in enumerate(calls, 1)
        ],
        dispatches=[
            kernel("k", at, at + gpu_ns, pid=1, correlation_id=number) for number, at in enumerate(starts, 1)
        ],
        ranges=[marked("step", at, at + host_ns, **_HOST) for at in calls],
    )


def _span(category: str, name: str, start: int, end: int, shapes: str | None = None) -> Row:
    return {"category": category, "name": name, "start_ns": start, "end_ns": end, "shapes": shapes, **_HOST}

"""One call under torch's profiler, after the times are taken: how many blocks each kernel is launched with."""

from __future__ import annotations

from contextlib import suppress

from rocm_perf.bench.inside.runtimes import used_torch
from rocm_perf.bench.inside.timers import Call


def profile_one_call(call: Call, path: str) -> None:
    """Write the trace of one call; where that does not work there is none, and nobody depends on it."""
    torch = used_torch()
    if torch is None:
        return
    with suppress(Exception):
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            call()
            torch.cuda.current_stream().synchronize()
        profiler.export_chrome_trace(path)

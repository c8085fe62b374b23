"""What the user asks `profile` for: plain data, checked by planning, before anything starts."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.backends.base import Wish

Sampled = Literal["power", "memory"]  # power: also clocks, temperature and utilisation; memory: VRAM
SAMPLED: tuple[Sampled, ...] = ("power", "memory")


# Whether counters of the kernels that matter are recorded after a trace: never, where the extra runs are short, or
# because the user asked for it.
Depth = Literal["no", "short", "asked"]


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """What to read from the GPUs while the application runs. Nothing without `metrics`."""

    metrics: tuple[Sampled, ...] = ()
    interval_s: float = 0.1


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One `rocm-perf profile`."""

    command: tuple[str, ...]  # the application and its arguments, unchanged
    is_python: bool = False  # the application runs in a Python interpreter
    preset: str = ""  # its name, for the record
    wish: Wish = Wish()  # what to record, but for counters: those are packed into passes first
    counters: tuple[str, ...] = ()  # counters, metrics and sets of counters by name
    counter_passes: tuple[tuple[str, ...], ...] = ()  # counters that the user already put into passes
    profiler: str = ""  # forced; empty: the best that is here
    output: str = "rocm-perf-runs"  # RUN_ID/HOST/rankR-PID goes below it
    scratch: str = ""  # where it is recorded first, if not there
    run_id: str = ""  # empty: the launcher's, or a new one
    force_overwrite: bool = False
    keep_exit_code: bool = False  # the application's, also where less was recorded than was asked for
    timeout_s: float | None = None
    overhead_runs: int = 0  # unprofiled runs beside the profiled ones
    deep: Depth = "no"
    sampling: Sampling = Sampling()
    library_trace: bool = False
    environment: dict[str, str] = {}  # set for the application
    only_pass: int | None = (
        None  # the one run to do; 0: all. None: all, or of ranks that run together the first
    )
    of_job: Request | None = None  # what the other ranks record, where this one is only timed
    stdout_to_stderr: bool = False  # the application's, because ours carries JSON

"""What rocprofv3 and its library refuse or drop: options that do not go together, ways of PC sampling, counters that
do not exist or do not fit into one pass."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from typing import Any

from . import counters, settings
from .application import die_of
from .v3_jobs import fatal

Options = Mapping[str, Any]


def check(options: Options) -> None:
    unit, method = options.get("pc_sampling_unit"), options.get("pc_sampling_method")
    interval = options.get("pc_sampling_interval")
    if unit or method or interval:
        if (
            not options.get("pc_sampling_beta_enabled")
            and "ROCPROFILER_PC_SAMPLING_BETA_ENABLED" not in os.environ
        ):
            fatal(
                "PC sampling unavailable. The feature is implicitly disabled. To enable it, use "
                "--pc-sampling-beta-enable option or set ROCPROFILER_PC_SAMPLING_BETA_ENABLED=ON in the environment"
            )
        if not (unit and method and interval):
            fatal("All three PC sampling configurations need to be set")
        if interval <= 0:
            fatal("PC sampling interval must be a positive number.")
        _check_sampling(str(method), str(unit), int(interval))
    if options.get("advanced_thread_trace"):
        fatal("rocprof-trace-decoder library path not found in ['/opt/rocm/lib']")
    if options.get("selected_regions") and options.get("collection_period"):
        fatal("--selected-regions and --collection-period are mutually exclusive")
    if options.get("replay_mode") == "kernel" and not options.get("kernel_replay_beta_enabled"):
        fatal(
            "--replay-mode kernel requires acknowledgement that kernel replay is a beta feature via "
            "--kernel-replay-beta-enabled"
        )


def _check_sampling(method: str, unit: str, interval: int) -> None:
    """Stochastic counts cycles in powers of two, on gfx942 from ROCm 7.0; host traps count microseconds."""
    if method == "stochastic":
        able = settings.gpu().gfx == "gfx942" and settings.rocm() >= (7, 0)
        fits = able and unit == "cycles" and interval & (interval - 1) == 0
    else:
        fits = unit == "time"
    if not fits:
        log("F", "tool.cpp:1923", "Given PC sampling configuration is not supported on any of the agents")
        die_of(signal.SIGABRT)


def asked_counters(options: Options) -> list[str]:
    names = options.get("pmc") or []
    words = (
        names.split() if isinstance(names, str) else [word for name in names for word in str(name).split()]
    )
    return [word for name in words for word in name.split(",") if word]


def found_counters(asked: list[str]) -> list[str]:
    """Unknown ones are a warning; before 7.0 nothing was counted then."""
    gpu, rocm = settings.gpu().gfx, settings.rocm()
    found = [name for name in asked if name.partition(":")[0] in counters.known(gpu, rocm)]
    if len(found) == len(asked):
        return asked
    where = f"agent {settings.FIRST_NODE} (gpu-0, {gpu}) in [{', '.join(asked)}]"
    log("W", "tool.cpp:1120", f"Unable to find all counters for {where}. Found: [{', '.join(found)}]")
    return found if rocm >= (7, 0) else []


def refuse_too_many(names: list[str]) -> None:
    """Before 10.0 the process aborts in the first dispatch; since, the tool stops by itself."""
    if not counters.over_capacity(names, settings.gpu().gfx, settings.rocm()):
        return
    reason = "Request exceeds the capabilities of the hardware to collect"
    status = f"ROCPROFILER_STATUS_ERROR_EXCEEDS_HW_LIMIT :: {reason}"
    log("F", "tool.cpp:1148", f"Could not create counter config for [{', '.join(names)}]: {status}")
    if settings.rocm() >= (10, 0):
        raise SystemExit(1)
    die_of(signal.SIGABRT)


def log(level: str, where: str, message: str) -> None:
    """A line of glog, as the real tool prints for good news and bad."""
    stamp = time.strftime("%Y%m%d %H:%M:%S.000000")
    print(f"{level}{stamp} {os.getpid()} {where}] {message}", file=sys.stderr)

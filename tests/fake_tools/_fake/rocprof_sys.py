"""rocprof-sys-run and rocprof-sys-python: options up to `--`, everything else in ROCPROFSYS_ variables, and one file of
each process for Perfetto."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import faults, settings
from .application import Application, end_as

_DOMAINS = {
    "kernel_dispatch": "kernel",
    "hip_runtime_api": "hip",
    "hsa_api": "hsa",
    "memory_copy": "copy",
    "marker_api": "marker",
}


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        print(f"rocprof-sys v1.0.0 (rocm {settings.rocm_text()})")
        return 0
    if "--" not in arguments or arguments[-1] == "--":
        print("Error! No command provided", file=sys.stderr)
        return 1
    return end_as(_profile(arguments[arguments.index("--") + 1 :]))


def _profile(command: list[str]) -> int:
    start = settings.boot_clock_ns()
    application = Application(command)
    status = application.wait()
    if os.environ.get("ROCPROFSYS_TRACE", "").lower() in ("true", "1", "on") and not faults.writes_nothing():
        _write(application.pid, command, start)
    return status


def _write(pid: int, command: list[str], start: int) -> None:
    from rocm_perf.render.formats import perfetto

    from .recording import Wanted, record

    asked = os.environ.get("ROCPROFSYS_ROCM_DOMAINS", "").split(",")
    domains = frozenset(_DOMAINS[name] for name in asked if name in _DOMAINS)
    folder = Path(os.environ.get("ROCPROFSYS_OUTPUT_PATH", f"rocprofsys-{Path(command[0]).name}-output"))
    folder.mkdir(parents=True, exist_ok=True)
    for process in record(pid, command, start, Wanted(domains, ())):
        file = folder / f"perfetto-trace-{process.pid}.proto"
        perfetto.write(process.trace, file, overwrite=True)
        faults.damage([file])

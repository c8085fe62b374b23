"""The judge's view of the GPU: device timestamps of every kernel that a judged process ran, recorded by our native
tracer and read after the process has ended."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rocm_perf.backends.base import Wish
from rocm_perf.backends.nvidia.cupti import SUFFIX, CuptiProfiler
from rocm_perf.backends.probe import probe_machine
from rocm_perf.bench.judge.kernels import Kernels
from rocm_perf.errors import EmptyCaptureError, RocmPerfError

_WISH = Wish(domains=("kernel",))


class Tracer:
    """Starts with each judged process that is given its environment."""

    def __init__(self) -> None:
        self._profiler = CuptiProfiler()
        self._machine = probe_machine()
        self.refusal = self._refusal()

    def _refusal(self) -> str:
        """Why there are no device timestamps here; empty if there are."""
        if reason := self._profiler.refusal(_WISH, self._machine):
            return reason
        try:
            self._profiler.prepare(self._machine)
        except RocmPerfError as error:
            return str(error)
        return ""

    def environment(self, folder: Path) -> dict[str, str]:
        """What makes CUDA load the tracer into a process and write into the folder."""
        return dict(self._profiler.command(_WISH, (), folder, self._machine).environment)


def recorded_kernels(folder: Path) -> Kernels:
    """The kernels that a process recorded into the folder before it ended."""
    from rocm_perf.ingest.load import load

    paths = sorted(folder.glob(f"**/*{SUFFIX}"))
    if not paths:
        raise EmptyCaptureError("the judged process left no device timestamps", "its tracer wrote no file")
    tables = [load(path).table("dispatches").select("start_ns", "end_ns") for path in paths]
    kernels = pl.concat(tables).sort("start_ns")
    return Kernels(kernels["start_ns"].to_list(), kernels["end_ns"].to_list())

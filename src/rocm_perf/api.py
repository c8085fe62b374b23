"""The package from Python: what the command line does, as functions."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.ingest import load as _load
from rocm_perf.ingest.load import Loaded
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace


def load(path: str | PathLike[str]) -> Trace:
    """The run recorded at `path`: a file, a compressed file, a folder or a bundle."""
    return _load.load(Path(path))


def load_runs(*paths: str | PathLike[str]) -> list[Loaded]:
    """Every run at the given paths; one that cannot be read does not affect the others."""
    return _load.load_files([Path(path) for path in paths])


def simulate(workload: str | PathLike[str], device: str = "sim:MI300X") -> Trace:
    """What a profiler would record of a workload file on a simulated GPU."""
    from rocm_perf.sim.engine import simulate as run
    from rocm_perf.sim.gpu import find_gpu
    from rocm_perf.sim.record import record
    from rocm_perf.sim.workload import read_workload

    return record(run(read_workload(Path(workload)), find_gpu(device)))


def analyze(recording: Trace | str | PathLike[str], *, grouping: Grouping = "full") -> Document:
    """Everything that `rocm-perf analyze` says about a recording."""
    if isinstance(recording, Trace):
        return overview(
            recording, recording.run.sources[0].path if recording.run.sources else "trace", grouping
        )
    return overview(load(recording), str(recording), grouping)

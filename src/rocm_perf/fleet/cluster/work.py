"""What a worker does: read the recording of one rank and reduce it to its contribution; add contributions up."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from rocm_perf.analysis.reduction.contribution import contribution, failure
from rocm_perf.analysis.reduction.tables import Tables, added
from rocm_perf.errors import (
    EmptyCaptureError,
    InputError,
    NotARecordingError,
    NotSupportedError,
    RocmPerfError,
)
from rocm_perf.fleet.cluster.ranks import RankFiles
from rocm_perf.fleet.cluster.workers import SHARE
from rocm_perf.ingest.load import load_together
from rocm_perf.ingest.size import survey_paths
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count
from rocm_perf.version import __version__


class UnfitWorkerError(Exception):
    """This worker cannot analyse the rank; another may."""


def contribute(rank: RankFiles, memory_bytes: int | None, version: str) -> Tables:
    """What the rank contributes, or why it cannot: one that cannot be read does not keep the others from being read.
    Raises where that is the worker's fault."""
    _require_fit(rank, version)
    try:
        _require_room(rank, memory_bytes)
        return added([contribution(_recording(rank), rank.place, rank.label)])
    except RocmPerfError as error:
        is_loss = not isinstance(error, NotARecordingError | EmptyCaptureError)
        return failure(rank.place, rank.label, str(error), is_loss=is_loss)


def add(parts: Sequence[Tables]) -> Tables:
    """Contributions as one."""
    return added(parts)


def _recording(rank: RankFiles) -> Trace:
    loaded = load_together(rank.paths)
    traces = [run.trace for run in loaded if run.trace]
    if len(traces) > 1:
        raise InputError(
            f"{rank.label} holds {format_count(len(traces), 'run')}, not one",
            next_step="Keep the files of each rank in a folder of their own.",
        )
    if not traces:
        raise next(run.error for run in loaded if run.error)
    return traces[0]


def _require_fit(rank: RankFiles, version: str) -> None:
    """Raise unless this is the version that asks, and the files that it found are here, too."""
    here = f"the worker on {socket.gethostname()}"
    if version != __version__:
        raise UnfitWorkerError(f"{here} has rocm-perf {__version__}, and {version} asks")
    for path in rank.paths:
        if not path.exists():
            raise UnfitWorkerError(f"{here} does not see {path}. {SHARE}")


def _require_room(rank: RankFiles, memory_bytes: int | None) -> None:
    """Raise if the rank takes more memory than a worker has: trying would end the worker."""
    if memory_bytes is None:
        return
    needed = survey_paths(list(rank.paths), memory_bytes).peak_bytes()
    if needed > memory_bytes:
        raise NotSupportedError(
            f"{rank.label} does not fit into the memory of a worker",
            f"it takes about {format_bytes(needed)}, and a worker has {format_bytes(memory_bytes)}",
            "Give each worker more with --worker-memory.",
        )

"""What a profiler adds to each launch on this machine: measured once by a probe in processes of its own, and kept."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from rocm_perf.errors import OutputError
from rocm_perf.files import write_whole

_SECONDS = 60  # for one process


class LaunchCost(msgspec.Struct, frozen=True):
    """Host time of one launch, and of each kernel in the launch of a graph, in nanoseconds."""

    alone_ns: float
    traced_ns: float
    graph_alone_ns: float | None = None
    graph_traced_ns: float | None = None

    @property
    def added_ns(self) -> float:
        return max(self.traced_ns - self.alone_ns, 0.0)

    @property
    def graph_added_ns(self) -> float | None:
        if self.graph_alone_ns is None or self.graph_traced_ns is None:
            return None
        return max(self.graph_traced_ns - self.graph_alone_ns, 0.0)


def kept(file: Path) -> LaunchCost | None:
    """What was measured earlier; None if that was not possible."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=LaunchCost)
    except (OSError, msgspec.MsgspecError):
        return None


def keep(cost: LaunchCost, file: Path) -> None:
    """Write it down, if the folder can be written to; else it is measured again next time."""
    with suppress(OutputError):
        write_whole(file, lambda draft: draft.write_bytes(msgspec.json.encode(cost)), overwrite=True)


def printed_times(command: Sequence[str], variables: Mapping[str, str]) -> list[float]:
    """The numbers that a probe prints; none if it fails or hangs."""
    try:
        done = subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, timeout=_SECONDS, check=True
        )
        return [float(word) for word in done.stdout.split()]
    except (OSError, subprocess.SubprocessError, ValueError):
        return []

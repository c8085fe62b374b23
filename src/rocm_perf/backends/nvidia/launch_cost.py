"""What the tracer adds to each launch on this machine: measured once, when the tracer is built, and kept beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median

import msgspec

from rocm_perf.errors import OutputError
from rocm_perf.files import write_whole

_PROBE = Path(__file__).with_name("launch_probe.py")
_FILE = "launch_cost.json"
_ROUNDS = 3
_SECONDS = 30  # for one process


class LaunchCost(msgspec.Struct, frozen=True):
    """Host time of one launch, in nanoseconds."""

    alone_ns: float
    traced_ns: float

    @property
    def added_ns(self) -> float:
        return max(self.traced_ns - self.alone_ns, 0.0)


def kept(tracer: Path) -> LaunchCost | None:
    """What was measured with this tracer; None if that was not possible."""
    try:
        return msgspec.json.decode((tracer.parent / _FILE).read_bytes(), type=LaunchCost)
    except (OSError, msgspec.MsgspecError):
        return None


def measure(tracer: Path, environment: Mapping[str, str]) -> None:
    """Measure by turns, without the tracer and with it (`environment` loads it), and keep the medians."""
    alone: list[float] = []
    traced: list[float] = []
    for _ in range(_ROUNDS):
        for times, variables in ((alone, {}), (traced, environment)):
            launch_ns = _launch_ns(variables)
            if launch_ns is None:
                return
            times.append(launch_ns)
    cost = LaunchCost(alone_ns=median(alone), traced_ns=median(traced))
    with suppress(OutputError):  # then it is measured again next time
        write_whole(
            tracer.parent / _FILE, lambda draft: draft.write_bytes(msgspec.json.encode(cost)), overwrite=True
        )


def _launch_ns(variables: Mapping[str, str]) -> float | None:
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(_PROBE)],
            env={**os.environ, **variables},
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
        return float(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None

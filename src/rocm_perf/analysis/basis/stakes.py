"""What is at stake in the wall time, where an analysis sums over GPUs."""

from __future__ import annotations

import msgspec

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity


def of_one_gpu(finding: Finding, document: Document) -> Finding:
    """The finding with its stake divided: GPUs that work side by side lose the same wall time once, not once each."""
    stake, gpus = finding.time_at_stake_ns, len(document.devices)
    if stake is None or gpus < 2:
        return finding
    return msgspec.structs.replace(finding, time_at_stake_ns=stake // gpus)


def bound(wall_ns: int, stake_ns: int) -> Quantity:
    """How much faster a run would be at most without the time at stake."""
    return Quantity(
        value=wall_ns / max(wall_ns - stake_ns, 1),
        unit="x",
        formula="wall_ns / (wall_ns - stake_ns): at most, if a GPU lost none of that time",
        inputs={"wall_ns": wall_ns, "stake_ns": stake_ns},
    )

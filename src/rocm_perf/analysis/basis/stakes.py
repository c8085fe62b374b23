"""What is at stake in the wall time, where an analysis sums over GPUs."""

from __future__ import annotations

import msgspec

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding


def of_one_gpu(finding: Finding, document: Document) -> Finding:
    """The finding with its stake divided: GPUs that work side by side lose the same wall time once, not once each."""
    stake, gpus = finding.time_at_stake_ns, len(document.devices)
    if stake is None or gpus < 2:
        return finding
    return msgspec.structs.replace(finding, time_at_stake_ns=stake // gpus)

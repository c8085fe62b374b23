"""Emptying the GPU's caches before a sample."""

from __future__ import annotations

from rocm_perf.bench.inside.runtimes import used_torch
from rocm_perf.bench.inside.timers import Call, Timer
from rocm_perf.errors import NotSupportedError

# Twice the 256 MiB of an MI300X's Infinity Cache (AMD CDNA 3 white paper).
FLUSH_BYTES = 512 << 20


def cache_flush(timer: Timer) -> Call:
    """A function that overwrites the caches on the current stream with data that nobody needs."""
    torch = used_torch()
    if torch is None or timer.clock == "wall clock":
        raise NotSupportedError(
            "cold caches need torch on a GPU", "nothing else empties them here", "Leave out cold."
        )
    buffer = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
    zero: Call = buffer.zero_
    return zero

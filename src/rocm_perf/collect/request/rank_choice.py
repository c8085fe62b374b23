"""Which ranks of a job are recorded: `0,7`, `0-3`. The others are only timed."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rocm_perf.backends.base import Wish
from rocm_perf.collect.request.request import Request, Sampling
from rocm_perf.errors import UsageError

_PART = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_MOST = 1_000_000  # ranks that one choice may name


def ranks_of(text: str) -> frozenset[int]:
    """The ranks that a text names, with ranges."""
    chosen: set[int] = set()
    for part in text.split(","):
        form = _PART.fullmatch(part.strip())
        first, last = (int(form[1]), int(form[2] or form[1])) if form else (1, 0)
        if not first <= last < first + _MOST:
            raise UsageError(
                f"--ranks {text[:60]!r} does not name ranks",
                f"{part.strip()[:40]!r} is neither a rank nor a range",
                "Write --ranks 0,7 or 0-3.",
            )
        chosen.update(range(first, last + 1))
    return frozenset(chosen)


def of_rank(request: Request, ranks: frozenset[int], rank: int | None) -> Request:
    """The request as this rank carries it out: all of it, or nothing but the time that it takes."""
    if rank is None:
        raise UsageError(
            "--ranks chooses among ranks, and this process has none",
            "no launcher has given it one",
            "Start rocm-perf below the launcher: mpirun -n 8 rocm-perf profile --ranks 0 -- ./app.",
        )
    if rank in ranks:
        return request
    return replace(
        request,
        preset="",
        wish=Wish(),
        counters=(),
        counter_passes=(),
        profiler="",
        overhead_runs=0,
        sampling=Sampling(),
        library_trace=False,
        of_job=request,
    )

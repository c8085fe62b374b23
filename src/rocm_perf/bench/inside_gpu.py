"""What our programs inside the user's Python share: printing one JSON object per line, describing the GPU, and timing
calls. Standard library alone; torch is handed in."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Call = Callable[[], object]
_FEWEST, _MOST = 3, 30  # samples


class Printer:
    """Prints objects on stdout; whatever else is printed from now on goes to stderr."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def print(self, line: dict[str, Any]) -> None:
        """Print one object, at once."""
        self._lines.write(json.dumps(line) + "\n")
        self._lines.flush()


def describe_gpu(torch: Any, device: int) -> dict[str, Any]:
    """The GPU as torch describes it, in the words of MeasuredGpu."""
    facts = torch.cuda.get_device_properties(device)
    chip = getattr(facts, "gcnArchName", "") if torch.version.hip else f"sm_{facts.major}{facts.minor}"
    return {
        "name": facts.name,
        "gfx": chip.split(":")[0],
        "uuid": str(getattr(facts, "uuid", "")),
        "compute_units": facts.multi_processor_count,
        "memory_bytes": facts.total_memory,
    }


def event_times_ms(torch: Any, call: Call, budget_s: float = 1.0) -> list[float]:
    """Times of single calls by device events, with no wait between them, as many as the budget allows."""
    call()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    call()
    torch.cuda.synchronize()
    once_s = time.perf_counter() - begun
    count = max(_FEWEST, min(_MOST, int(budget_s / max(once_s, 1e-6))))
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    call()  # the stream is busy while the first events are recorded
    for start, end in events:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def first_line(error: BaseException) -> str:
    """The first line of what an error says, and its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def float8(torch: Any) -> Any:
    """The 8-bit type that the chip multiplies: gfx942 has one of its own."""
    chip = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "gcnArchName", "")
    name = "float8_e4m3fnuz" if chip.startswith("gfx942") else "float8_e4m3fn"
    if not hasattr(torch, name):
        raise RuntimeError(f"this torch has no {name}")
    return getattr(torch, name)

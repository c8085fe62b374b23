"""What our programs inside the user's Python share: printing one JSON object per line, describing the GPU, and timing
calls. Standard library alone; torch is handed in."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rocm_perf.bench.inside.runtimes import chosen_timer
from rocm_perf.bench.inside.timers import Call, Timer
from rocm_perf.bench.settings import ClockChoice

_WARMUPS = 3
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


def times_ms(call: Call, budget_s: float = 1.0, clock: ClockChoice = "auto") -> list[float]:
    """The times of single calls in a steady state, as many as the budget allows. Raises what the call raises."""
    timer = chosen_timer(clock)
    once_ms = [time for _ in range(_WARMUPS) for time in _timed(timer, call, 1)]
    count = int(1e3 * budget_s / once_ms[-1])
    return _timed(timer, call, max(_FEWEST, min(_MOST, count)))


def _timed(timer: Timer, call: Call, count: int) -> list[float]:
    batch = timer.batch(call, count)
    if batch.error is not None:
        raise batch.error
    return list(batch.times_ms)


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

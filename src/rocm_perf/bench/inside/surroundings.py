"""What is worth knowing beside the times: what was compiled, how much memory was used, what synchronising costs, and
what makes times untrustworthy."""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Callable
from typing import Any

from rocm_perf.bench.inside.runtimes import used_torch
from rocm_perf.bench.inside.timers import Call, EventTimer, Timer
from rocm_perf.bench.journal import Entry

_SYNCHRONISATIONS = 20
_LONGEST_S = 1.0  # for all of them
_UNFINISHED = 0.2  # of a call's time: work that is left when its stream is done
_SWITCHED_ON = ("1", "true", "on", "yes")


def begin() -> None:
    """Forget what was allocated before."""
    if (torch := used_torch()) is not None:
        torch.cuda.reset_peak_memory_stats()


def notes(result: object, timer: Timer) -> list[str]:
    """What the reader must know, once the target has been called."""
    phrases = []
    if timer.clock == "wall clock":
        phrases.append("measured by wall clock, on the host: no device events were used")
    if result is None:
        phrases.append("the target returns nothing: that it did its work is taken on trust")
    if (device := _other_device(result)) is not None:
        phrases.append(
            f"the result is on {device}, which is not the current device: the times may not include its work"
        )
    if os.environ.get("PYTORCH_TUNABLEOP_ENABLED", "").lower() in _SWITCHED_ON:
        phrases.append(
            "PYTORCH_TUNABLEOP_ENABLED is set: GEMMs are tuned on their first call, and each process may choose "
            "other kernels; set PYTORCH_TUNABLEOP_TUNING=0 with a file of results to compare like with like"
        )
    return phrases


def _other_device(result: object) -> object | None:
    """The GPU of a resulting tensor, if events are recorded on another one."""
    torch, device = used_torch(), getattr(result, "device", None)
    if torch is None or getattr(device, "type", "") != "cuda":
        return None
    return device if getattr(device, "index", None) not in (None, torch.cuda.current_device()) else None


def compiled_graphs() -> int:
    """How many graphs torch.compile has compiled so far."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return 0 if dynamo is None else int(dynamo.counters["stats"]["unique_graphs"])


def recompiled(before: int) -> dict[str, Any]:
    """The graphs that were compiled in the steady state, where there should be none."""
    during = compiled_graphs() - before
    return {"compiled_graphs": before, "recompiled_in_steady_state": during} if before or during else {}


def after(call: Call, timer: Timer, per_call_s: float, now_ns: Callable[[], int]) -> Entry:
    """What is measured once the samples are taken."""
    torch = used_torch()
    peak = None if torch is None else int(torch.cuda.max_memory_allocated())
    entry: Entry = {"peak_memory_bytes": peak, "facts": machine_facts()}
    rounds = min(_SYNCHRONISATIONS, int(_LONGEST_S / max(per_call_s, 1e-9) / 2))
    if isinstance(timer, EventTimer) and rounds:
        costs = _synchronisation(call, timer, rounds, now_ns)
        entry["facts"] |= costs
        if costs["left_on_other_streams_us"] > _UNFINISHED * 1e6 * per_call_s:
            entry["notes"] = [
                "work is still running on another stream when the current one is done: the times do not include it"
            ]
    return entry


def _synchronisation(
    call: Call, timer: EventTimer, rounds: int, now_ns: Callable[[], int]
) -> dict[str, float]:
    """What it costs to wait for the stream and for the whole device when both are idle, and how long the device works
    on after a call whose stream is done, in microseconds."""
    events = timer.events

    def waited_us(wait: Callable[[], object]) -> float:
        begun = now_ns()
        wait()
        return (now_ns() - begun) / 1e3

    def left_us() -> float:
        call()
        events.synchronize()
        return waited_us(events.synchronize_device)

    left = statistics.median(left_us() for _ in range(rounds))
    stream = statistics.median(waited_us(events.synchronize) for _ in range(_SYNCHRONISATIONS))
    device = statistics.median(waited_us(events.synchronize_device) for _ in range(_SYNCHRONISATIONS))
    return {
        "stream_synchronize_us": stream,
        "device_synchronize_us": device,
        "left_on_other_streams_us": max(0.0, left - device),
    }


def machine_facts() -> dict[str, Any]:
    """The machine as this process sees it, below the key "machine"."""
    facts: dict[str, Any] = {
        "host": platform.node(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
    }
    if (torch := used_torch()) is not None:
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        facts |= {
            "gpu": properties.name,
            "gfx": getattr(properties, "gcnArchName", "").split(":")[0],
            "compute_units": properties.multi_processor_count,
            "uuid": str(getattr(properties, "uuid", "")),
            "torch": torch.__version__,
            "hip": torch.version.hip or "",
            "cuda": torch.version.cuda or "",
        }
    return {"machine": facts}

"""Tell whether counters can be recorded where a recording was made; where they cannot, nothing recommends them."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf.arch import catalog
from rocm_perf.model.run import RunInfo
from rocm_perf.model.trace import Trace

_COUNTERS = "counters: "  # begins what a record says of counters that were asked for
_REMAINING = "; what remains: "


def counters_refused(run: RunInfo, chips: Iterable[str | None]) -> str:
    """Return why counters cannot be recorded there; empty where they can, or where nothing says that they cannot.

    The chip in this release of ROCm may have none, or the profiler was asked for some and the driver refused. `chips`:
    those of the recording.
    """
    record = run.collection
    said = (line for line in (record.could_not if record else ()) if line.startswith(_COUNTERS))
    if line := next(said, ""):
        return line.removeprefix(_COUNTERS).partition(_REMAINING)[0].partition(". ")[0]
    release = record.machine.get("rocm", "") if record else ""
    refusals = [catalog.method_refusal(chip, "counters", release) for chip in chips if chip]
    return refusals[0] if refusals and all(refusals) else ""


def no_counters_for(trace: Trace) -> str:
    """Return why counters cannot be recorded where the Trace was; empty where they can."""
    return counters_refused(trace.run, trace.table("agents")["gfx"].unique(maintain_order=True))

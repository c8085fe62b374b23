"""The doubt that the GPU worked on something that the recording does not hold, and what that was."""

from __future__ import annotations

from typing import Any

import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.profiled_times import thinned
from rocm_perf.analysis.idle.unrecorded import unrecorded_waits
from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.busy import device_times
from rocm_perf.analysis.time.sequence import FEWEST_STEPS
from rocm_perf.model.calls import GRAPH_CALL
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.times import DeviceTime
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

_WAITED = 0.1  # of the GPU's window
_MOST = 0.5  # of the waiting
_EARLIER = (
    "Not idle time: work from before the recording, or of another process, occupied the GPU. Begin the recording some "
    "steps earlier, or record every process that uses this GPU."
)
_BY_GRAPHS = "Not idle time, and beginning earlier would not help. "
_BY_OTHERS = (
    "Not idle time: something that was not recorded occupies the GPU again and again, and beginning earlier would not "
    "help. Record every process that uses this GPU, without a kernel filter."
)


def share_of_waits(trace: Trace) -> float:
    """Return the share of the GPUs' time in which they worked on something that was not recorded."""
    waits = unrecorded_waits(trace).filter("inside")
    waited = int((waits["end_ns"] - waits["start_ns"]).sum())
    return waited / max(sum(row.window_ns for row in device_times(trace)), 1)


def waited_for_unrecorded(trace: Trace) -> Finding | None:
    """Work waited for a tenth of the GPU's time or more with nothing recorded before it."""
    length = (pl.col("end_ns") - pl.col("start_ns")).alias("ns")
    waits = unrecorded_waits(trace).filter("inside").with_columns(length)
    devices = device_times(trace)
    waited = int(waits["ns"].sum())
    if not waited or waited < _WAITED * sum(row.window_ns for row in devices) or thinned(trace):
        return None
    recurring = _recurring(waits)
    longest = waits.sort("ns", descending=True).row(0, named=True)
    return Finding(
        id="waits-for-unrecorded-work",
        severity="warning",
        kind="unrecorded-work",
        title=f"For {format_ns(waited)} the GPU worked on something that is not in the recording",
        evidence=(
            *_again(recurring, waited),
            _what_waited(longest),
            *_by_call(longest["call"]),
            *_apart_from_waits(waited, devices),
        ),
        remedy=_remedy(trace, recurring, waited),
    )


def _recurring(waits: pl.DataFrame) -> pl.DataFrame:
    """The waits that the same work ends again and again."""
    return waits.filter(pl.len().over("name") >= FEWEST_STEPS)


def _of_graphs(waits: pl.DataFrame) -> pl.DataFrame:
    return waits.filter(pl.col("launch_name").str.contains(GRAPH_CALL).fill_null(False))


def _remedy(trace: Trace, recurring: pl.DataFrame, waited: int) -> str:
    if _of_graphs(recurring)["ns"].sum() > _MOST * waited:
        return _BY_GRAPHS + remedy("unrecorded-work", setting(trace).with_graphs(True))
    return _BY_OTHERS if recurring["ns"].sum() > _MOST * waited else _EARLIER


def _again(recurring: pl.DataFrame, waited: int) -> list[str]:
    """What the waits end with that recur, where these are most of all."""
    graphs = _of_graphs(recurring)
    if graphs["ns"].sum() > _MOST * waited:
        times, calls = format_count(graphs.height, "time"), graphs["launch_name"][0]
        return [f"{format_ns(int(graphs['ns'].sum()))} of it lies before work of graphs ({calls}), {times}"]
    if recurring["ns"].sum() <= _MOST * waited:
        return []
    kinds = recurring["name"].n_unique()
    before = _work_name(recurring["name"][0]) if kinds == 1 else f"the same {kinds:,} kinds of work"
    times = format_count(recurring.height, "time")
    return [f"{format_ns(int(recurring['ns'].sum()))} of it lies before {before}, {times}"]


def _what_waited(wait: dict[str, Any]) -> str:
    name = _work_name(wait["name"])
    waited = format_ns(wait["ns"])
    if not wait["held"]:
        return f"before {name} the host waited {waited} for the GPU, and nothing that was recorded ran"
    since = format_ns(wait["end_ns"] - wait["launch_end"])
    launched = "" if since == waited else f", launched {since} before it began"
    return f"{name} waited {waited} with nothing recorded before it{launched}"


def _work_name(name: str) -> str:
    return "a fill" if name == "copy MEMSET" else short_name(name)


def _by_call(call: str | None) -> list[str]:
    return [f"the host spent that time inside {call}, which waits for the GPU"] if call else []


def _apart_from_waits(waited: int, devices: tuple[DeviceTime, ...]) -> list[str]:
    window = sum(row.window_ns for row in devices) - waited
    busy = sum(row.busy_ns for row in devices)
    return (
        [f"in the remaining {format_ns(window)} the GPU is busy {format_share(busy / window)} of the time"]
        if window
        else []
    )

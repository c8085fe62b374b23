"""What a graph would have needed and the recording does not have."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count


def missing(trace: Trace, calls: pl.DataFrame, items: pl.DataFrame) -> tuple[str, ...]:
    """One line for each kind of record or column that is absent, and what follows from it."""
    lines = [*_absent(trace, items), *_without_launch(calls, items), *_without_stream(items)]
    if items["node"].n_unique() > 1 or calls["node"].n_unique() > 1:
        lines.append("nodes have clocks of their own: waits between them are not seen")
    return tuple(lines)


def _absent(trace: Trace, items: pl.DataFrame) -> list[str]:
    lines = []
    if not items.height:
        lines.append("no timed kernels or copies: the path is that of the host")
    if not trace.has("api_calls"):
        lines.append("no API calls: launches and waits of the host are not seen")
        if _several_streams(items):
            lines.append("the order of streams is assumed: work follows what its GPU ran last, or still runs")
    elif not trace.has("links") and _several_streams(items):
        lines.append("no recorded events between streams: waits of one for another are inferred from times")
    return lines


def _without_launch(calls: pl.DataFrame, items: pl.DataFrame) -> list[str]:
    unpaired = items["call"].null_count()
    if not unpaired or not calls.height:
        return []
    count = format_count(unpaired, "item")
    return [f"{count} of the GPU without a recorded launch: only the order of their stream holds them"]


def _without_stream(items: pl.DataFrame) -> list[str]:
    lost = int(items["by_queue"].sum())
    if not lost:
        return []
    count = format_count(lost, "item")
    return [f"{count} of the GPU without a stream: the order of queues is used instead"]


def _several_streams(items: pl.DataFrame) -> bool:
    lanes = items.select("node", "pid", "agent_id", "lane").unique("lane")
    return lanes.select("node", "pid", "agent_id").is_duplicated().any()

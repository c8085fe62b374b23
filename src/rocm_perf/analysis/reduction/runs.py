"""The runs of all ranks as the one run that they are parts of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from rocm_perf.model.run import RunInfo

Value = TypeVar("Value")


def one_run(ranks: Sequence[RunInfo]) -> RunInfo:
    """What ranks have in common from the first that knows it, and what each of them adds."""
    records = [rank.collection for rank in ranks if rank.collection]
    tools = _each(tool for rank in ranks for tool in rank.tool.split(" + "))
    clocks = _each(clock for rank in ranks for clock in rank.clock.split(" + ") if clock != "unknown")
    return RunInfo(
        tool=" + ".join(tools) or "unknown",
        tool_version=next((rank.tool_version for rank in ranks if rank.tool_version), None),
        formats=_each(format for rank in ranks for format in rank.formats),
        hosts=_each(host for rank in ranks for host in rank.hosts),
        command=next((rank.command for rank in ranks if rank.command), None),
        clock=" + ".join(clocks) or "unknown",
        asked=_each(domain for rank in ranks for domain in rank.asked),
        sources=tuple(source for rank in ranks for source in rank.sources),
        losses=tuple(loss for rank in ranks for loss in rank.losses),
        notices=_each(notice for rank in ranks for notice in rank.notices),
        recorded_at=next((rank.recorded_at for rank in ranks if rank.recorded_at), None),
        collection=records[0] if records else None,
    )


def _each(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(values))

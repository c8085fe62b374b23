"""Times of one run that lie too far apart to come from one clock. Where few GPUs and threads were recorded, they are
kept, and the analysis warns; where the gaps between them would not add up in 64 bits, those far from the rest are
dropped."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.bounds import LONGEST
from rocm_perf.model.run import Loss

_MOST_SUM = 1 << 62
_SPAN = ("start_ns", "end_ns")
_TRACKS = (("agent_id",), ("agent_id", "queue_id"), ("pid", "tid"))


def on_one_clock(tables: dict[str, pl.DataFrame], source: str) -> tuple[dict[str, pl.DataFrame], list[Loss]]:
    """The tables with times that can be added up over all tracks, and the times that were dropped for that."""
    timed = {name: frame for name, frame in tables.items() if {"node", *_SPAN} <= set(frame.columns)}
    if _extent(timed) * sum(frame.height for frame in timed.values()) < _MOST_SUM:
        return tables, []
    kept, losses = dict(tables), []
    nodes = pl.concat(frame["node"] for frame in timed.values()).unique().to_list() if timed else []
    for node in nodes:
        near = _near({name: frame.filter(node=node) for name, frame in timed.items()})
        if near is None:
            continue
        for name in timed:
            far = (pl.col("node") == node) & ~near
            count = kept[name].select(far.sum()).item()
            if count:
                losses.append(Loss(source, f"times of {name} that lie years from the rest", count))
                kept[name] = kept[name].with_columns(
                    pl.when(~far).then(pl.col(each)).alias(each) for each in _SPAN
                )
    return kept, losses


def _near(timed: dict[str, pl.DataFrame]) -> pl.Expr | None:
    """Which rows lie near enough to the bulk of one node; None if all do."""
    tracks = max((_tracks(frame) for frame in timed.values()), default=0)
    if _extent(timed) * tracks < _MOST_SUM:
        return None
    middle = pl.concat(frame["start_ns"] for frame in timed.values()).quantile(0.5, "lower")
    assert middle is not None  # there is an extent, so there are times
    reach = min(LONGEST, _MOST_SUM // 2 // tracks)
    near = (pl.col(each).cast(pl.Float64).is_between(middle - reach, middle + reach) for each in _SPAN)
    return pl.all_horizontal(*near).fill_null(True)


def _tracks(frame: pl.DataFrame) -> int:
    keys = [key for key in _TRACKS if set(key) <= set(frame.columns)]
    return max((frame.select(pl.struct(key).n_unique()).item() for key in keys), default=1)


def _extent(timed: dict[str, pl.DataFrame]) -> int:
    """The time from the first start to the last end."""
    ends = [
        frame.select(pl.col("start_ns").min(), pl.max_horizontal(*_SPAN).max().alias("last")).row(0)
        for frame in timed.values()
    ]
    firsts = [first for first, _ in ends if first is not None]
    lasts = [last for _, last in ends if last is not None]
    return max(lasts) - min(firsts) if firsts and lasts else 0

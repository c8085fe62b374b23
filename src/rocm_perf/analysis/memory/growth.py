"""What grows: places in the program that hold more memory after every step than after the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.memory.lifetimes import lifetimes
from rocm_perf.analysis.memory.sites import NO_SITE
from rocm_perf.analysis.program.ranges import step_spans
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.memory import GrowingSite
from rocm_perf.model.trace import Trace

FORMULAS = {
    "memory.growing.levels_bytes": "memory that a place in the program had allocated and not freed, after each step "
    "but the first; without steps, at ten moments of the recording",
}
BY_STEP, BY_TENTH = "after each step", "at ten moments of the recording"
_MOMENTS = 20  # of more steps, so many are looked at
_TENTHS = 10
_MADE_ONCE = ("parameters", "optimiser state", "KV cache")
_FEWEST = 3  # levels, after the first step: it makes what stays, such as the state of an optimiser


class _Looks(NamedTuple):
    """When to look at what is held, what these moments are, and how many steps lie between two."""

    moments_ns: list[int]
    basis: str
    steps_between: float


def growing(trace: Trace) -> tuple[GrowingSite, ...]:
    """Places whose live memory rises from every moment to the next, the fastest first."""
    lives = lifetimes(trace)
    if not lives.height:
        return ()
    rows = [
        row
        for (node,), group in lives.group_by("node", maintain_order=True)
        for row in _of_node(group, _looks(trace, node, group))
    ]
    return tuple(sorted(rows, key=lambda row: (-(row.per_step.value or 0), row.site)))


def _looks(trace: Trace, node: object, lives: pl.DataFrame) -> _Looks:
    """After each step but the first, at most at twenty of them; without steps, over the recording."""
    spans = step_spans(trace)
    ends = spans.filter(pl.col("node") == node)["end_ns"].unique().sort().to_list()[1:]
    if len(ends) >= _FEWEST:
        places = {round(part * (len(ends) - 1) / (_MOMENTS - 1)) for part in range(_MOMENTS)}
        moments = [ends[place] for place in sorted(places)] if len(ends) > _MOMENTS else ends
        return _Looks(moments, BY_STEP, (len(ends) - 1) / (len(moments) - 1))
    first, last = lives.select(
        pl.col("made_ns").min(), pl.max_horizontal("made_ns", "freed_ns").max().alias("last")
    ).row(0)
    moments = [first + (last - first) * tenth // _TENTHS for tenth in range(1, _TENTHS + 1)]
    return _Looks(moments, BY_TENTH, 1.0)


def _of_node(lives: pl.DataFrame, looks: _Looks) -> list[GrowingSite]:
    key = ["node", "agent_id", "level", "site", "owner"]
    held = (
        lives.with_columns(pl.col("site").fill_null(NO_SITE))
        .group_by(key, maintain_order=True)
        .agg(_live_at(moment).alias(str(number)) for number, moment in enumerate(looks.moments_ns))
    )
    rows = []
    for node, agent, level, site, owner, *levels in held.iter_rows():
        if _grows(levels, looks.basis, owner):
            rows.append(
                GrowingSite(
                    node=node,
                    agent_id=agent,
                    level=level,
                    site=site,
                    owner=owner,
                    basis=looks.basis,
                    levels_bytes=tuple(levels),
                    per_step=_rate(levels, looks.steps_between),
                )
            )
    return rows


def _grows(levels: list[int], basis: str, owner: str) -> bool:
    """Whether a place holds more and more: after every step; or, where steps are not known, never less and mostly
    more, unless a model is being made."""
    changes = [later - earlier for earlier, later in pairwise(levels)]
    if basis == BY_STEP:
        return len(levels) >= _FEWEST and min(changes) > 0
    return (
        owner not in _MADE_ONCE
        and min(changes) >= 0
        and sum(change > 0 for change in changes) > len(changes) / 2
    )


def _live_at(moment: int) -> pl.Expr:
    freed = pl.col("freed_ns")
    return (
        pl.col("size_bytes")
        .filter((pl.col("made_ns") <= moment) & (freed.is_null() | (freed > moment)))
        .sum()
    )


def _rate(levels: list[int], steps: float) -> Quantity:
    intervals = (len(levels) - 1) * steps
    return Quantity(
        value=(levels[-1] - levels[0]) / intervals,
        unit="B",
        formula="(last level - first level) / steps between them",
        inputs={"first": levels[0], "last": levels[-1], "steps": intervals},
    )

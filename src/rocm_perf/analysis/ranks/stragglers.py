"""The ranks that the others wait for: named where chance does not explain it, with the cause and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.ranks.arrivals import arrivals, classified
from rocm_perf.analysis.ranks.criterion import MOST_CHANCE, chances, costly
from rocm_perf.analysis.ranks.evidence import evidence, unknown_reason
from rocm_perf.analysis.ranks.lateness import EARLIER, delays
from rocm_perf.analysis.ranks.over_time import totals
from rocm_perf.analysis.ranks.parts import PARTS
from rocm_perf.analysis.ranks.work import Work
from rocm_perf.model.results.ranks import CAUSES, Cause, Straggler
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.trace import Trace

WORTH = 0.03  # of the time that is looked at
_LIKE_THE_WORST = 0.5  # of what the worst rank of the same cause delays: those are late, too
# Ranks behind a slow link hand the bytes on, and are late by less each; those of one slow group are alike.
_LIKE_THE_WORST_LINK = 0.9
_SLOW_LINK: Cause = "slow link"

Late = Sequence[tuple[str, float]]  # who, and by how much it delays the others


class Insight(NamedTuple):
    """How more is found out about a late rank than when it came: what each rank did in all; and the run re-timed with
    the late ones as fast as the others, with the options of `whatif` for it, or nothing where that cannot be told."""

    work: Callable[[Trace], Work]
    repair: Callable[[Trace, Cause | None, Late], tuple[Projection | None, str]]


def stragglers(trace: Trace, insight: Insight) -> tuple[Straggler, ...]:
    """Late ranks by cause, those that are worth most first."""
    window = totals(trace).select(pl.sum_horizontal(PARTS).max()).item() or 0
    chance = dict(chances(costly(_conclusive(trace))).select("who", "chance").iter_rows())
    candidates = [who for who, value in chance.items() if value <= MOST_CHANCE]
    found = [
        _straggler(trace, insight, cause, late, chance=max(chance[who] for who, _ in late))
        for cause, late in _by_cause(trace, candidates)
    ]
    worth = [(_worth_ns(straggler), straggler) for straggler in found]
    kept = [(value, straggler) for value, straggler in worth if value >= WORTH * window]
    return tuple(straggler for _, straggler in sorted(kept, key=lambda pair: -pair[0]))


@once_per_trace
def _conclusive(trace: Trace) -> pl.DataFrame:
    """The arrivals at collectives whose class is known."""
    known = classified(trace).filter(pl.col("class") != "inconclusive").select("meeting")
    return arrivals(trace).join(known, on="meeting", how="semi", maintain_order="left")


def _worth_ns(straggler: Straggler) -> int:
    """What they cost: re-timed where that is more, as for a link that also holds those up which it makes late."""
    saved = straggler.repair.saved_ns if straggler.repair else 0
    return max(saved, straggler.delayed_ns)


def _by_cause(trace: Trace, candidates: Sequence[str]) -> Iterator[tuple[Cause | None, Late]]:
    """The candidates by their main cause, worst first: those that delay nearly as much as the worst of the cause."""
    caused = delays(trace).filter(pl.col("who").is_in(candidates))
    main = caused.sort("delayed_ns", descending=True).unique("who", keep="first", maintain_order=True)
    for cause in (*CAUSES, None):
        own = main.filter(pl.col("cause") == (cause or EARLIER)).select("who", "delayed_ns")
        if not own.height:
            continue
        alike = _LIKE_THE_WORST_LINK if cause == _SLOW_LINK else _LIKE_THE_WORST
        yield cause, own.filter(pl.col("delayed_ns") >= alike * own["delayed_ns"][0]).rows()


def _straggler(
    trace: Trace, insight: Insight, cause: Cause | None, late: Late, *, chance: float
) -> Straggler:
    worst, delayed = late[0]
    compared, work = _conclusive(trace), insight.work(trace)
    reason = unknown_reason(trace, work, worst, cause)
    known = cause if reason is None else None
    projection, command = insight.repair(trace, known, late)
    return Straggler(
        ranks=tuple(who for who, _ in late),
        cause=known,
        reason=reason,
        delayed_ns=round(sum(each for _, each in late)),
        last_in=_last_in(compared, [who for who, _ in late], "end_ns" if cause == _SLOW_LINK else "start_ns"),
        collectives=compared["meeting"].n_unique(),
        chance=chance,
        evidence=tuple(evidence(trace, work, known, worst, delayed)) if known else (),
        repair=projection,
        command=command,
    )


def _last_in(compared: pl.DataFrame, late: Sequence[str], time: str) -> int:
    """Collectives that one of them entered, or left, last."""
    last = compared.filter(pl.col(time) == pl.col(time).max().over("meeting"))
    return last.filter(pl.col("who").is_in(late))["meeting"].n_unique()

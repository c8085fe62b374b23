"""What times say when processes are the unit: summaries, intervals, differences. Pure, standard library alone; the
reasons for each method are in docs/measuring.md."""

from rocm_perf.bench.statistics.differences import Difference, Verdict, difference
from rocm_perf.bench.statistics.intervals import LEVEL, Interval, Scope, interval
from rocm_perf.bench.statistics.summaries import Summary, summary

__all__ = [
    "LEVEL",
    "Difference",
    "Interval",
    "Scope",
    "Summary",
    "Verdict",
    "difference",
    "interval",
    "summary",
]

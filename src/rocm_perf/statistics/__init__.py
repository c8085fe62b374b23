"""What times say: of one series, and of several processes, which are the unit of a verdict. Pure, standard library
alone; the reasons for each method are in docs/measuring.md."""

from rocm_perf.statistics.differences import FEWEST_A_SIDE, Difference, Verdict, difference, one_more
from rocm_perf.statistics.intervals import LEVEL, Interval, Scope, interval
from rocm_perf.statistics.summaries import Summary, summary

__all__ = [
    "FEWEST_A_SIDE",
    "LEVEL",
    "Difference",
    "Interval",
    "Scope",
    "Summary",
    "Verdict",
    "difference",
    "interval",
    "one_more",
    "summary",
]

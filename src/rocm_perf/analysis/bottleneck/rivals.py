"""Rival kernels: those that seem to solve one problem in different ways, as a benchmark runs them, one after the other.

An inference from how they were launched: as often as each other, in bursts that do not mix, and either of one family,
or named alike, or over the same grid. A program whose kernels work together mixes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import msgspec
import polars as pl

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.bottleneck import Rival
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, with_article

_SHARE = 0.05  # of the kernel time: kernels with less are not compared
_CALLS = 3
_AS_OFTEN = 1.25  # times as many launches at most: warm-ups differ
_SLOWER = 1.2
_COMPARABLE = 5.0  # more than that apart, they hardly do the same
_WORD = 4  # letters that a common first word has at least: `hip_` and `k_` say nothing
_CONTESTED = ("gemm", "convolution", "attention")  # what is written again and again
_UNCONTESTED = ("elementwise", "copy", "collective", "random")  # launched as often by chance


class _Contender(msgspec.Struct, frozen=True):
    kernel: str
    name: str
    family: str
    calls: int
    median_ns: float
    total_ns: int
    start_ns: int
    end_ns: int
    items: int | None  # work-items of a dispatch, where all have as many


def rivals(trace: Trace) -> tuple[Rival, ...]:
    """For each slow contender its fastest rival, the most time to gain first."""
    contenders = list(_contenders(timed_by_kernel(trace)))
    best: dict[str, Rival] = {}
    for slow, fast in permutations(contenders, 2):
        basis = _basis(slow, fast)
        if basis and (slow.kernel not in best or fast.median_ns < best[slow.kernel].fast_ns):
            best[slow.kernel] = _rival(slow, fast, basis)
    return tuple(sorted(best.values(), key=lambda rival: -_gain_ns(rival)))


def _gain_ns(rival: Rival) -> float:
    return rival.total_ns * (1 - rival.fast_ns / rival.slow_ns)


def _contenders(dispatches: pl.DataFrame) -> Iterator[_Contender]:
    length = pl.col("end_ns") - pl.col("start_ns")
    items = pl.col("grid_x") * pl.col("grid_y").fill_null(1) * pl.col("grid_z").fill_null(1)
    table = (
        dispatches.group_by("kernel")
        .agg(
            pl.len(),
            length.median().alias("median"),
            length.sum().alias("total"),
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            items.min().alias("least"),
            items.max().alias("most"),
        )
        .filter(
            (pl.col("len") >= _CALLS)
            & (pl.col("total") >= _SHARE * pl.col("total").sum())
            & (pl.col("median") > 0)
        )
        .sort("total", descending=True)
    )
    for kernel, calls, median, total, start, end, least, most in table.iter_rows():
        yield _Contender(
            kernel=kernel,
            name=short_name(kernel),
            family=family(kernel).name,
            calls=calls,
            median_ns=median,
            total_ns=total,
            start_ns=start,
            end_ns=end,
            items=least if least == most else None,
        )


def _basis(slow: _Contender, fast: _Contender) -> str:
    """What makes the two rivals; empty if nothing does."""
    ratio = slow.median_ns / fast.median_ns
    often = max(slow.calls, fast.calls) / min(slow.calls, fast.calls)
    apart = slow.end_ns <= fast.start_ns or fast.end_ns <= slow.start_ns
    if not _SLOWER <= ratio <= _COMPARABLE or often > _AS_OFTEN or not apart or slow.name == fast.name:
        return ""
    alike = _alike(slow, fast)
    if not alike:
        return ""
    counts = " and ".join(format_count(one.calls, "launch", "launches") for one in (slow, fast))
    return f"{counts}, one after the other, {alike}{_grids(slow, fast)}"


def _grids(slow: _Contender, fast: _Contender) -> str:
    """How differently they divide the work, where that is recorded and far apart."""
    if slow.items is None or fast.items is None or slow.items == fast.items:
        return ""
    return f"; {slow.name} runs {slow.items:,} work-items, {fast.name} {fast.items:,}"


def _alike(slow: _Contender, fast: _Contender) -> str:
    families = {slow.family, fast.family}
    if families & set(_UNCONTESTED):
        return ""
    if len(families) == 1 and slow.family in _CONTESTED:
        return f"both {slow.family} kernels"
    if _first_word(slow.name) and _first_word(slow.name) == _first_word(fast.name):
        return f"both named {_first_word(slow.name)}"
    if slow.items is not None and slow.items == fast.items and len(families - {"other"}) <= 1:
        return f"both over {slow.items:,} work-items"
    if "other" in families and families & set(_CONTESTED):
        return f"and nothing else runs as long beside them: {fast.name} is {with_article(fast.family)} kernel"
    return ""


def _first_word(name: str) -> str:
    """`taylor_for_strided` -> taylor; empty for a single or short word, which says nothing."""
    word, _, rest = name.partition("_")
    return word if len(word) >= _WORD and rest and word.isalpha() else ""


def _rival(slow: _Contender, fast: _Contender, basis: str) -> Rival:
    return Rival(
        slow=slow.kernel,
        fast=fast.kernel,
        slow_ns=slow.median_ns,
        fast_ns=fast.median_ns,
        calls=slow.calls,
        total_ns=slow.total_ns,
        basis=basis,
    )

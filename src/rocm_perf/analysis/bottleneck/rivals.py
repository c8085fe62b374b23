"""Rival kernels: those that seem to solve one problem in different ways, as a benchmark runs them, one after the other.

An inference from how they were launched: as often as each other, in bursts that do not mix, and either of one family,
or named alike, or over the same grid. A program whose kernels work together mixes them. Kernels that are known to go in
different directions (forward, backward), or to have elements of different types, are not compared, nor are those of
which nothing says that they have the same inputs: shapes of operators, or else the grid, or the parameters of two
versions of one function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TypeVar

import msgspec
import polars as pl

from rocm_perf.analysis.basis.names import LONGEST, demangle, short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.bottleneck.element_types import element_type, is_narrow
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.model.results.bottleneck import Rival
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, with_article

_SHARE = 0.05  # of the kernel time: kernels with less are not compared
_CALLS = 3
_AS_OFTEN = 1.25  # times as many launches at most: warm-ups differ
_SLOWER = 1.2
_AS_MANY = 2.0  # times as many workgroups of a product at most: one may have tiles twice as large
_COMPARABLE = 5.0  # more than that apart, they hardly do the same
_WORD = 4  # letters that a common first word has at least: `hip_` and `k_` say nothing
_CONTESTED = ("gemm", "convolution", "attention")  # what is written again and again
_BY_GRID = "the same grid"
_UNCONTESTED = ("elementwise", "copy", "collective", "random")  # launched as often by chance
_Value = TypeVar("_Value", int, str)
_MOST_SHAPES = 64  # of one kernel: with more, it is no benchmark of a few problems
# What names say of the way through a network; `bwd_wrw` is of weights.
_DIRECTIONS = {
    "gradient of weights": re.compile(r"wgrad|bwd_?_?wei|backward_?weight|wrw", re.IGNORECASE),
    "gradient of inputs": re.compile(
        r"dgrad|bwd_?_?data|backward_?data|(?<![a-z])d(q|kv?|v)(?![a-z])", re.IGNORECASE
    ),
    "backward": re.compile(r"bwd|backward|(?<![a-z])grad(?![a-z])|gradient|_grad", re.IGNORECASE),
}
_TYPES = {
    "double": "f64",
    "float": "f32",
    "__half": "f16",
    "_Float16": "f16",
    "c10::Half": "f16",
    "c10::BFloat16": "bf16",
    "__hip_bfloat16": "bf16",
    "__nv_bfloat16": "bf16",
}
# Of rocBLAS and hipBLASLt: the first letter after the layout is the type of the inputs.
_TENSILE = re.compile(r"^Cijk_[A-Za-z]+_[A-Za-z]+_([HBSDCZ])")
_TENSILE_TYPES = {"H": "f16", "B": "bf16", "S": "f32", "D": "f64", "C": "c32", "Z": "c64"}
_IN_NAMES = {
    "bf16": re.compile(r"(?<![a-z])(bf16|bfloat16)", re.IGNORECASE),
    "f16": re.compile(r"(?<![a-z])(fp?16|half|hgemm|h\d+gemm)(?!\w*f32f32)", re.IGNORECASE),
    "f64": re.compile(r"(?<![a-z])(fp?64|double|dgemm|d\d+gemm)", re.IGNORECASE),
    "f32": re.compile(r"(?<![a-z])(fp?32|float|sgemm)", re.IGNORECASE),
}
_PARAMETERS = re.compile(r"\(([^()]+)\)[^()]*$")


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
    grids: frozenset[int]  # the work-items of all
    workgroups: int | None  # of a dispatch, where all have as many
    shapes: frozenset[str]  # of the operators that launched it, where they are known of all dispatches


def rivals(trace: Trace) -> tuple[Rival, ...]:
    """For each slow contender its fastest rival, the most time to gain first."""
    contenders = list(_contenders(_with_shapes(trace, timed_by_kernel(trace))))
    best: dict[str, Rival] = {}
    for slow, fast in permutations(contenders, 2):
        basis = _basis(slow, fast, contenders)
        if basis and (slow.kernel not in best or fast.median_ns < best[slow.kernel].fast_ns):
            best[slow.kernel] = _rival(slow, fast, basis)
    return tuple(sorted(best.values(), key=lambda rival: -_gain_ns(rival)))


def _gain_ns(rival: Rival) -> float:
    return rival.total_ns * (1 - rival.fast_ns / rival.slow_ns)


def _with_shapes(trace: Trace, dispatches: pl.DataFrame) -> pl.DataFrame:
    """Return the dispatches with the shapes of their operator's arguments, null where they are not known."""
    key = ["node", "pid", "op_id"]
    ops = trace.lazy("ops").filter(pl.col("category") == "operator").drop_nulls(["op_id", "shapes"])
    shapes = ops.select(*key, pl.col("shapes").cast(pl.String)).unique(key, keep="first").collect()
    if not shapes.height:
        return dispatches.with_columns(shapes=pl.lit(None, pl.String))
    return dispatches.join(shapes, on=key, how="left", nulls_equal=True)


def _contenders(dispatches: pl.DataFrame) -> Iterator[_Contender]:
    length = pl.col("end_ns") - pl.col("start_ns")
    items, threads = (
        pl.col(f"{of}_x") * pl.col(f"{of}_y").fill_null(1) * pl.col(f"{of}_z").fill_null(1)
        for of in ("grid", "workgroup")
    )
    table = (
        dispatches.group_by("kernel")
        .agg(
            pl.len(),
            length.median().alias("median"),
            length.sum().alias("total"),
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            items.unique().alias("grids"),
            (items // threads).unique().alias("workgroups"),
            pl.col("shapes").unique().alias("shapes"),
        )
        .filter(
            (pl.col("len") >= _CALLS)
            & (pl.col("total") >= _SHARE * pl.col("total").sum())
            & (pl.col("median") > 0)
        )
        .sort("total", descending=True)
    )
    for kernel, calls, median, total, start, end, grids, workgroups, shapes in table.iter_rows():
        yield _Contender(
            kernel=kernel,
            name=short_name(kernel),
            family=family(kernel).name,
            calls=calls,
            median_ns=median,
            total_ns=total,
            start_ns=start,
            end_ns=end,
            items=grids[0] if len(grids) == 1 else None,
            grids=_known(grids),
            workgroups=workgroups[0] if len(workgroups) == 1 else None,
            shapes=_known(shapes),
        )


def _known(values: list[_Value | None]) -> frozenset[_Value]:
    """Return the different values, none if one of them is not known or they are many."""
    known = frozenset(value for value in values if value is not None)
    return known if len(known) == len(values) <= _MOST_SHAPES else frozenset()


def _basis(slow: _Contender, fast: _Contender, all_of_them: Sequence[_Contender]) -> str:
    """What makes the two rivals; empty if nothing does."""
    ratio = slow.median_ns / fast.median_ns
    often = max(slow.calls, fast.calls) / min(slow.calls, fast.calls)
    apart = slow.end_ns <= fast.start_ns or fast.end_ns <= slow.start_ns
    if not _SLOWER <= ratio <= _COMPARABLE or often > _AS_OFTEN or not apart or slow.name == fast.name:
        return ""
    alike = _alike(slow, fast)
    same = _same_inputs(slow, fast) or _through_another(slow, fast, all_of_them)
    if not alike or not same or not _compatible(slow.kernel, fast.kernel):
        return ""
    counts = " and ".join(format_count(one.calls, "launch", "launches") for one in (slow, fast))
    how = f"both {same}" if alike == _BY_GRID else f"{alike}, {same}"
    return f"{counts}, one after the other, {how}{_grids(slow, fast)}"


def _grids(slow: _Contender, fast: _Contender) -> str:
    """How differently they divide the work, where that is recorded and far apart."""
    if slow.items is None or fast.items is None or slow.items == fast.items:
        return ""
    return f"; {slow.name} runs {slow.items:,} work-items, {fast.name} {fast.items:,}"


def _same_inputs(slow: _Contender, fast: _Contender) -> str:
    """Return what says that both have the same inputs: shapes where both are known, else the grid, numbers
    of workgroups that tiles explain, or the parameters."""
    if slow.shapes and fast.shapes:
        return "with the same shapes of inputs" if slow.shapes == fast.shapes else ""
    if slow.grids and slow.grids == fast.grids:
        return f"over {slow.items:,} work-items" if slow.items is not None else "over the same grids"
    if slow.workgroups and fast.workgroups and {slow.family, fast.family} & set(_CONTESTED):
        counts = sorted((slow.workgroups, fast.workgroups))
        if counts[1] <= _AS_MANY * counts[0]:
            return f"in {slow.workgroups:,} and {fast.workgroups:,} workgroups"
    word, parameters = _first_word(slow.name), _parameters(slow.kernel)
    if word and word == _first_word(fast.name) and parameters and parameters == _parameters(fast.kernel):
        return "with the same parameters"
    return ""


def _through_another(slow: _Contender, fast: _Contender, all_of_them: Sequence[_Contender]) -> str:
    """Return the kernel that has the same inputs as either, where there is one."""
    between = (
        other
        for other in all_of_them
        if other not in (slow, fast) and _same_inputs(slow, other) and _same_inputs(other, fast)
    )
    other = next(between, None)
    return f"each with the inputs of {other.name}" if other else ""


def _parameters(kernel: str) -> str:
    """Return the types of the parameters, as far as the name has them."""
    found = _PARAMETERS.search(demangle(kernel)[:LONGEST])
    return found[1] if found else ""


def _compatible(slow: str, fast: str) -> bool:
    """Return whether names do not say that they go in different directions or have elements of different types."""
    types = {_element(slow), _element(fast)} - {None}
    return direction(slow) == direction(fast) and len(types) < 2


def direction(kernel: str) -> str:
    """Return which gradient a kernel computes, as its name says; forward where it says nothing."""
    name = demangle(kernel)[:LONGEST]
    return next((way for way, pattern in _DIRECTIONS.items() if pattern.search(name)), "forward")


def _element(kernel: str) -> str | None:
    """Return the type of the elements that a name tells; None if it does not."""
    if found := _TENSILE.search(kernel):
        return _TENSILE_TYPES[found[1]]
    if is_narrow(kernel):
        return "8 bits or fewer"
    if (told := element_type(kernel)) in _TYPES:
        return _TYPES[told]
    name = demangle(kernel)[:LONGEST]
    return next((kind for kind, pattern in _IN_NAMES.items() if pattern.search(name)), None)


def _alike(slow: _Contender, fast: _Contender) -> str:
    families = {slow.family, fast.family}
    if families & set(_UNCONTESTED):
        return ""
    if len(families) == 1 and slow.family in _CONTESTED:
        return f"both {slow.family} kernels"
    if _first_word(slow.name) and _first_word(slow.name) == _first_word(fast.name):
        return f"both named {_first_word(slow.name)}"
    if slow.items is not None and slow.items == fast.items and len(families - {"other"}) <= 1:
        return _BY_GRID
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

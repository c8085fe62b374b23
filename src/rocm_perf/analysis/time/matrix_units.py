"""Whether kernels multiply on matrix units (tensor cores, MFMA, WMMA): counted, or told by their name through the
pattern table in matrix_units.toml."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

import msgspec
import polars as pl

from rocm_perf.analysis.basis.names import LONGEST, demangle
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.trace import Trace
from rocm_perf.once import once

# What these do is not a product of matrices.
_WITHOUT = frozenset(
    (
        "normalisation", "softmax", "reduction", "elementwise", "embedding", "copy", "collective", "sort", "random",
        "quantisation", "optimiser",
    )
)  # fmt: skip
# SQ_INSTS_VALU_MFMA_MOPS_F16, SQ_INSTS_VALU_WMMA, sm__inst_executed_pipe_tensor.sum
_COUNTER = r"(?i)mfma|wmma|pipe_tensor|tensor_op"
_OF_ALL_TYPES = r"^SQ_INSTS(_VALU)?_MFMA$|MFMA_BUSY|INSTS_VALU_WMMA$|pipe_tensor(_cycles_active|\.|$)"
_DISPATCH = ["node", "pass_id", "pid", "dispatch_id"]


class MatrixRule(msgspec.Struct, frozen=True):
    """One row of the pattern table."""

    uses: bool
    why: str
    pattern: str
    examples: tuple[str, ...]


@once
def matrix_rules() -> tuple[MatrixRule, ...]:
    """The pattern table, in order."""
    file = resources.files("rocm_perf.analysis.time") / "matrix_units.toml"
    return msgspec.convert(read_toml(file.read_bytes(), file.name)["rule"], tuple[MatrixRule, ...])


@once
def _patterns() -> tuple[tuple[bool, re.Pattern[str]], ...]:
    return tuple((rule.uses, re.compile(rule.pattern)) for rule in matrix_rules())


@lru_cache(maxsize=1 << 20)
def matrix_by_name(kernel: str) -> bool | None:
    """Whether the name says that a kernel uses matrix units; None where it says nothing."""
    texts = (kernel[:LONGEST], demangle(kernel)[:LONGEST])
    for uses, pattern in _patterns():
        if any(pattern.search(text) for text in texts):
            return uses
    return False if family(kernel).name in _WITHOUT else None


@once_per_trace
def matrix_use(trace: Trace) -> dict[str, bool]:
    """The kernels of which it is known whether they use matrix units: by counters, or else by their name."""
    kernels = trace.lazy("dispatches").select(pl.col("kernel").unique()).collect().to_series().drop_nulls()
    by_name = {kernel: matrix_by_name(kernel) for kernel in kernels}
    return {name: uses for name, uses in by_name.items() if uses is not None} | counted_matrix_use(trace)


def counted_matrix_use(trace: Trace) -> dict[str, bool]:
    """The kernels with counters of matrix instructions, and whether any counted one. Counters of single types may miss
    what a kernel does, so that their zeros say nothing."""
    counters = trace.lazy("counters").filter(pl.col("counter").str.contains(_COUNTER))
    named = trace.lazy("dispatches").select(*_DISPATCH, "kernel")
    counted = counters.join(named, on=_DISPATCH, nulls_equal=True)
    uses = counted.group_by("kernel").agg(
        used=(pl.col("value") > 0).any(), complete=pl.col("counter").str.contains(_OF_ALL_TYPES).any()
    )
    known = uses.filter(pl.col("used") | pl.col("complete")).select("kernel", "used").collect()
    return dict(known.iter_rows())

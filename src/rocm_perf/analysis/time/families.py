"""What each kernel does, by the pattern table in families.toml."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

import msgspec
import polars as pl

from rocm_perf.analysis.basis.names import LONGEST, demangle, short_name
from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.arch.toml import read_toml
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.kernels import Families, Family, FamilyName, FamilyTotal
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns, format_share

FORMULAS = {
    "families.share": "kernel time of the family / kernel time of all, summed over dispatches",
    "families.gemm_share": "kernel time of matrix products / kernel time of all; convolution and attention are apart",
}

OTHER = Family("other", "")
_SHARE = "kernel time of the family / kernel time of all"

# Kernels that mostly pass data on, and the share of the kernel time from which on that is worth a word.
_FUSIBLE = ("elementwise", "normalisation", "copy", "softmax", "reduction")
_FUSIBLE_SHARE = 0.4


class Rule(msgspec.Struct, frozen=True):
    """One row of the pattern table."""

    family: FamilyName
    library: str
    pattern: str
    examples: tuple[str, ...]
    on: Literal["name", "full"] = "name"


@cache
def rules() -> tuple[Rule, ...]:
    """The pattern table, in order."""
    file = resources.files("rocm_perf.analysis.time") / "families.toml"
    return msgspec.convert(read_toml(file.read_bytes(), "families.toml")["rule"], tuple[Rule, ...])


@lru_cache(maxsize=1 << 20)
def family(kernel: str) -> Family:
    """The family of a kernel, by the first rule that matches its name."""
    full = demangle(kernel)[:LONGEST]
    texts = {"name": short_name(kernel).removesuffix(".kd"), "full": full}
    for rule, pattern in _patterns():
        if pattern.search(texts[rule.on]):
            return Family(rule.family, rule.library)
    return OTHER


def families(names: pl.Series) -> pl.Series:
    """The family of each kernel; distinct names are worked out once."""
    mapping = {name: family(name).name for name in names.unique() if name is not None}
    by_kernel: pl.Series = names.replace_strict(mapping, default=None, return_dtype=pl.String)
    return by_kernel


def is_collective(names: pl.Series) -> pl.Series:
    return families(names) == "collective"


@once_per_trace
def family_totals(trace: Trace) -> Families:
    """Kernel time by family."""
    dispatches = timed_dispatches(trace)
    if not dispatches.height:
        why = "the recording holds no kernels with times"
        nothing = unavailable("", _SHARE, why)
        return Families((), nothing, nothing, unavailable=why)
    length = pl.col("end_ns") - pl.col("start_ns")
    kernels = dispatches.group_by("kernel").agg(pl.len().alias("calls"), length.sum().alias("total"))
    kernels = kernels.with_columns(families(kernels["kernel"]).alias("family"))
    total = int(kernels["total"].sum())
    rows = tuple(_row(part, total) for part in kernels.partition_by("family"))
    ordered = tuple(sorted(rows, key=lambda row: (-row.total_ns, row.family)))
    return Families(ordered, _share(ordered, "gemm", total), _share(ordered, "other", total))


def _row(part: pl.DataFrame, total: int) -> FamilyTotal:
    spent = int(part["total"].sum())
    libraries = {family(kernel).library for kernel in part["kernel"]} - {""}
    return FamilyTotal(
        family=part["family"][0],
        kernels=part.height,
        calls=int(part["calls"].sum()),
        total_ns=spent,
        share=spent / total if total else 0.0,
        libraries=tuple(sorted(libraries)),
    )


def _share(rows: tuple[FamilyTotal, ...], name: FamilyName, total: int) -> Quantity:
    spent = sum(row.total_ns for row in rows if row.family == name)
    return ratio(spent, total, _SHARE, f"{name}_ns", "kernel_ns")


@cache
def _patterns() -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    return tuple((rule, re.compile(rule.pattern)) for rule in rules())


def family_findings(document: Document) -> list[Finding]:
    """More time in kernels that pass data on than in those that compute."""
    passing = [row for row in document.families.rows if row.family in _FUSIBLE]
    spent, share = sum(row.total_ns for row in passing), sum(row.share for row in passing)
    if share < _FUSIBLE_SHARE or sum(row.kernels for row in passing) < 2:
        return []
    finding = Finding(
        id="unfused-kernels",
        severity="info",
        title=f"{format_share(share)} of the kernel time moves data between kernels",
        evidence=(
            *(f"{row.family}: {format_ns(row.total_ns)} in {row.calls:,} calls" for row in passing),
            "at stake is at most this: a fused kernel still reads and writes its data once",
        ),
        time_at_stake_ns=spent,
        remedy="Such kernels read and write memory and compute little: fuse them (torch.compile, or fused "
        "kernels such as those of aiter or Liger), and keep one memory layout and one dtype along the way.",
    )
    return [of_one_gpu(finding, document)]

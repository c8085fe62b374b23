"""The kernel time of each family, and what fusing would save of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import polars as pl

from rocm_perf.analysis.basis.names import LONGEST, demangle, short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel, timed_dispatches
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.stakes import of_one_gpu
from rocm_perf.analysis.remedies.setting import setting_of
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.attention_by_hand import attention_by_hand
from rocm_perf.analysis.time.attention_products import fused_products
from rocm_perf.analysis.time.fusible import BASIS, FUSIBLE, fused_saving_ns
from rocm_perf.analysis.time.kernel_family import CONVERSION, RUNTIME, families, family
from rocm_perf.analysis.time.steps import steps
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.kernels import AttentionByHand, Families, FamilyName, FamilyTotal, Steps
from rocm_perf.model.results.times import Hotspot
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

FORMULAS = {
    "families.share": "kernel time of the family / kernel time of all, summed over dispatches",
    "families.attention_by_hand": "kernels between two matrix products of a stream that are a softmax and what scales, "
    "masks and converts its rows: all of their time, at most; and of the products, what their FLOPs leave at the "
    "fastest rate that the same units reach in the recording",
    "families.gemm_share": "kernel time of matrix products / kernel time of all; convolution and attention are apart",
}

_SHARE = "kernel time of the family / kernel time of all"

UNFUSED = "unfused-kernels"
ATTENTION = "attention-by-hand"
_ATTENTION_SHARE = 0.1  # of the kernel time between the products: from here on it is worth a word
_FUSIBLE_SHARE = 0.4  # of the kernel time: from here on it is worth a word
# Softmax kernels have the type as their argument; libraries name products as BLAS does, or by the types.
_DOUBLE = re.compile(
    r"softmax\w*[<(].*\bdouble\b|(?<![a-z])d(?:gemm|\d+gemm)|_f64f64_|^Cijk_[A-Za-z]+_[A-Za-z]+_DB?_",
    re.IGNORECASE,
)
_FRAMEWORKS = frozenset(("PyTorch", "inductor"))  # whose compiler fuses kernels


@once_per_trace
def family_totals(trace: Trace) -> Families:
    """Kernel time by family, of all dispatches or, where none was kept, of the profiler's own statistics."""
    dispatches = timed_by_kernel(trace)
    kernels = _of_dispatches(dispatches) if dispatches.height else _of_summaries(trace)
    totals = families_of(kernels, _fused(dispatches, kernels, steps(trace)) if dispatches.height else None)
    by_hand = attention_by_hand(timed_dispatches(trace), families(dispatches["kernel"]))
    return msgspec.structs.replace(totals, attention_by_hand=by_hand)


def families_of(kernels: pl.DataFrame, fused_saving: int | None) -> Families:
    """The families of these kernels, given their `calls` and `total` time."""
    if not kernels.height:
        why = "the recording holds no kernels with times"
        nothing = unavailable("", _SHARE, why)
        return Families((), nothing, nothing, unavailable=why)
    kernels = kernels.with_columns(families(kernels["kernel"]).alias("family"))
    total = int(kernels["total"].sum())
    rows = tuple(_row(part, total) for part in kernels.partition_by("family"))
    ordered = tuple(sorted(rows, key=lambda row: (-row.total_ns, row.family)))
    return Families(
        rows=ordered,
        gemm_share=_share(ordered, "gemm", total),
        unclassified_share=_share(ordered, "other", total),
        fused_saving_ns=fused_saving,
    )


def _of_dispatches(dispatches: pl.DataFrame) -> pl.DataFrame:
    length = pl.col("end_ns") - pl.col("start_ns")
    totals = dispatches.group_by("kernel").agg(pl.len().alias("calls"), length.sum().alias("total"))
    return totals.with_columns(pl.col("kernel").cast(pl.String))


def _of_summaries(trace: Trace) -> pl.DataFrame:
    rows = trace.table("summaries").filter(pl.col("domain") == "kernel").drop_nulls("total_ns")
    total = pl.col("total_ns").sum().round().cast(pl.Int64).alias("total")
    return rows.group_by(pl.col("name").alias("kernel")).agg(pl.col("calls").sum(), total)


def _fused(dispatches: pl.DataFrame, kernels: pl.DataFrame, repeated: Steps) -> int:
    fusible = {kernel: is_fusible(kernel) for kernel in kernels["kernel"]}
    starts = pl.Series([step.start_ns for step in repeated.steps], dtype=pl.Int64)
    return fused_saving_ns(dispatches, pl.col("kernel").replace_strict(fusible, default=False), starts)


def is_fusible(kernel: str) -> bool:
    """Whether it mostly passes data on, and a compiler could make it a part of its neighbours."""
    kind = family(kernel)
    return kind.name in FUSIBLE and kind.library != RUNTIME and kind != CONVERSION


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


def uses_a_framework(document: Document) -> bool:
    """Whether the kernels are a framework's, whose compiler can fuse them."""
    return any(_FRAMEWORKS & set(row.libraries) for row in document.families.rows)


def unfused(document: Document) -> dict[str, list[Hotspot]]:
    """The kernels that a framework's compiler could fuse, by family; none of a program that uses no framework."""
    by_family: dict[str, list[Hotspot]] = {}
    for spot in document.hotspots.rows if uses_a_framework(document) else ():
        if is_fusible(spot.kernel):
            by_family.setdefault(family(spot.kernel).name, []).append(spot)
    return dict(sorted(by_family.items(), key=lambda pair: -_spent(pair[1])))


def _all_of(names: Sequence[str]) -> str:
    """`a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _spent(spots: list[Hotspot]) -> int:
    return sum(spot.total_ns for spot in spots)


def family_findings(document: Document) -> list[Finding]:
    """Attention written out, or more time in a framework's kernels that pass data on than in those that compute."""
    return _attention_findings(document) or _unfused_findings(document)


def _attention_findings(document: Document) -> list[Finding]:
    attention, total = document.families.attention_by_hand, document.hotspots.total_ns
    if attention is None or not total or not uses_a_framework(document):
        return []
    if attention.between_ns < _ATTENTION_SHARE * total:
        return []
    products = fused_products(document)
    spent = attention.between_ns + (products.total_ns if products else 0)
    names = ", ".join(dict.fromkeys(map(short_name, attention.kernels)))
    finding = Finding(
        id=ATTENTION,
        severity="info",
        title=f"Attention is computed by separate kernels: {format_share(spent / total)} of the kernel time is "
        f"softmax{', the products before and after it,' if products else ''} and what is around it",
        evidence=(
            f"{attention.calls:,} times between two matrix products: {names}; {format_ns(attention.between_ns)} in all",
            "each of them reads the scores of all pairs of tokens from memory and writes them back",
            *((products.says,) if products else ()),
        ),
        time_at_stake_ns=attention.between_ns + (products.saved_ns if products else 0),
        remedy=remedy(
            "attention-in-double" if _in_double(attention) else "attention-by-hand", setting_of(document)
        ),
        kind="kernel-memory",
    )
    return [of_one_gpu(finding, document)]


def _in_double(attention: AttentionByHand) -> bool:
    """Return whether names of the kernels say that it is computed in double precision, which no fused kernel takes."""
    names = (*attention.kernels, *(product.kernel for product in attention.products))
    return any(_DOUBLE.search(demangle(name)[:LONGEST]) for name in names)


def _unfused_findings(document: Document) -> list[Finding]:
    passing = unfused(document)
    share = sum(spot.share for spots in passing.values() for spot in spots)
    if share < _FUSIBLE_SHARE or sum(map(len, passing.values())) < 2:
        return []
    saved = document.families.fused_saving_ns
    bound = [f"at most {format_ns(saved)} to gain: {BASIS}"] if saved is not None else []
    finding = Finding(
        id=UNFUSED,
        severity="info",
        title=f"{format_share(share)} of the kernel time is unfused {_all_of(list(passing))} kernels",
        evidence=(
            ", ".join(
                f"{name} {format_ns(_spent(spots))} in {format_count(sum(spot.calls for spot in spots), 'call')}"
                for name, spots in passing.items()
            ),
            "each reads its inputs from memory and writes its result back, and computes little",
            *bound,
        ),
        time_at_stake_ns=saved,
        remedy=remedy("unfused-kernels", setting_of(document)),
        kind="kernel-memory",
    )
    return [of_one_gpu(finding, document)]

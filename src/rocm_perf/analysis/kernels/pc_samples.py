"""PC samples: where the waves of a kernel were seen, whether they issued, what held them, and how many lanes worked."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from rocm_perf.analysis.kernels.instructions import NO_SOURCE, instruction_kind
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.instructions import KernelSamples, PcSamples, SampleCount
from rocm_perf.model.trace import Trace

FORMULAS = {
    "pc_samples.issued": "samples in which the wave issued / samples",
    "pc_samples.lanes_active": "bits set in exec_mask / lanes of a wave, mean over samples",
    "pc_samples.partial_waves": "samples in which exec_mask has fewer bits than the wave has lanes / samples",
}
NO_SAMPLES = "no PC samples were recorded (rocprofv3 --pc-sampling-beta-enabled)"
NO_REASONS = (
    "host-trap samples do not tell why a wave stood still (stochastic sampling does, on gfx942 and later)"
)
TOP = 20

_DISPATCH = ["node", "pid", "pass_id", "dispatch_id"]


def pc_samples(trace: Trace) -> PcSamples:
    """Samples by kernel: one by one where they were kept, else as counted at each instruction."""
    if trace.has("pc_samples"):
        return _from_samples(trace)
    counted = trace.table("instructions").filter(_counted() > 0)
    if not counted.height:
        return PcSamples((), 0, unavailable=NO_SAMPLES)
    kernels = [_of_counts(name, rows) for (name,), rows in counted.group_by("kernel", maintain_order=True)]
    return _ordered(kernels)


def _ordered(kernels: list[KernelSamples]) -> PcSamples:
    rows = sorted(kernels, key=lambda kernel: (-kernel.samples, kernel.kernel or ""))
    return PcSamples(tuple(rows), sum(kernel.samples for kernel in rows))


def _from_samples(trace: Trace) -> PcSamples:
    names = trace.table("dispatches").select(*_DISPATCH, "kernel").unique(_DISPATCH)
    samples = trace.table("pc_samples").join(names, on=_DISPATCH, how="left", nulls_equal=True)
    lanes = _wave_size(trace, samples)
    groups = samples.group_by("kernel", maintain_order=True)
    return _ordered([_of_samples(name, rows, lanes) for (name,), rows in groups])


def _wave_size(trace: Trace, samples: pl.DataFrame) -> tuple[int, str] | None:
    """Lanes of a wave: 64 if any mask says so, else as the GPU has them. Masks of few bits alone tell nothing."""
    widest = samples["exec_mask"].max()
    if isinstance(widest, int) and widest >> 32:
        return 64, "a mask has more than 32 bits"
    sizes = trace.table("agents")["wave_size"].drop_nulls().unique().to_list()
    return (int(sizes[0]), "the GPU's wave size") if len(sizes) == 1 else None


def _of_samples(name: object, rows: pl.DataFrame, lanes: tuple[int, str] | None) -> KernelSamples:
    method = "+".join(rows["method"].drop_nulls().unique().sort()) or "unknown"
    with_issue = rows.drop_nulls("issued")
    work = rows.select(
        pl.col("instruction").alias("text"),
        pl.when(pl.col("source").str.strip_chars() != "").then(pl.col("source")).alias("source"),
        pl.lit(1).alias("samples"),
        pl.col("issued").cast(pl.Int64),
    )
    active, partial = _lanes(rows, lanes)
    tables = _tables(work)
    reasons = _reasons(with_issue.filter(~pl.col("issued")))
    return KernelSamples(
        kernel=None if name is None else str(name),
        dispatches=rows["dispatch_id"].n_unique(),
        samples=rows.height,
        method=method,
        issued=_issued(int(with_issue["issued"].sum()), with_issue.height),
        lanes_active=active,
        partial_waves=partial,
        instructions=tables.instructions,
        lines=tables.lines,
        classes=tables.classes,
        lines_unavailable=None if tables.lines else NO_SOURCE,
        stall_reasons=reasons,
        stall_reasons_unavailable=None if with_issue.height else NO_REASONS,
    )


def _of_counts(name: object, rows: pl.DataFrame) -> KernelSamples:
    work = rows.select(
        "text",
        pl.when(pl.col("source").str.strip_chars() != "").then(pl.col("source")).alias("source"),
        _counted().alias("samples"),
        pl.col("samples_issued").alias("issued"),
    )
    total = int(work["samples"].sum())
    tables = _tables(work)
    tells = bool(rows["samples_issued"].count())
    absent = "masks are not kept where samples are only counted"
    return KernelSamples(
        kernel=None if name is None else str(name),
        dispatches=rows["dispatch_id"].n_unique(),
        samples=total,
        method="stochastic" if tells else "unknown",
        issued=_issued(int(rows["samples_issued"].sum()) if tells else 0, total if tells else 0),
        lanes_active=unavailable("", FORMULAS["pc_samples.lanes_active"], absent),
        partial_waves=unavailable("", FORMULAS["pc_samples.partial_waves"], absent),
        instructions=tables.instructions,
        lines=tables.lines,
        classes=tables.classes,
        lines_unavailable=None if tables.lines else NO_SOURCE,
        stall_reasons=(),
        stall_reasons_unavailable="the reasons are not kept where samples are only counted",
    )


def _counted() -> pl.Expr:
    """All samples of an instruction, or those that issued and those that did not."""
    parts = pl.col("samples_issued").fill_null(0) + pl.col("samples_stalled").fill_null(0)
    return pl.coalesce("samples", parts)


def _issued(issued: int, samples: int) -> Quantity:
    formula = FORMULAS["pc_samples.issued"]
    if not samples:
        return unavailable("", formula, NO_REASONS)
    return Quantity(
        value=issued / samples, unit="", formula=formula, inputs={"issued": issued, "samples": samples}
    )


def _lanes(rows: pl.DataFrame, lanes: tuple[int, str] | None) -> tuple[Quantity, Quantity]:
    formulas = [FORMULAS[f"pc_samples.{name}"] for name in ("lanes_active", "partial_waves")]
    bits = rows["exec_mask"].drop_nulls().bitwise_count_ones().cast(pl.Int64)
    if not len(bits) or lanes is None:
        reason = "the GPU's wave size is not recorded" if len(bits) else "no exec mask was recorded"
        first, second = (unavailable("", formula, reason) for formula in formulas)
        return first, second
    size, reason = lanes
    partial = int((bits < size).sum())
    inputs = {"lanes": size, "samples": len(bits)}
    share = int(bits.sum()) / (size * len(bits))
    named = [f"{formula}; lanes of a wave: {size} ({reason})" for formula in formulas]
    return Quantity(value=share, unit="", formula=named[0], inputs=inputs), Quantity(
        value=partial / len(bits), unit="", formula=named[1], inputs=inputs
    )


def _reasons(stalled: pl.DataFrame) -> tuple[SampleCount, ...]:
    table = stalled.select(
        pl.col("stall_reason").fill_null("not given").alias("name"), pl.lit(1).alias("samples")
    )
    return _counts(table.with_columns(pl.lit(None, pl.Int64).alias("issued")), ["name"], stalled.height)


class _Tables(NamedTuple):
    instructions: tuple[SampleCount, ...]
    lines: tuple[SampleCount, ...]
    classes: tuple[SampleCount, ...]


def _tables(work: pl.DataFrame) -> _Tables:
    """The samples by instruction, source line and class of instruction."""
    total = int(work["samples"].sum())
    named = work.with_columns(pl.col("text").fill_null("not decoded"))
    kinds = {text: instruction_kind(text) for text in named["text"].unique()}
    kind = pl.col("text").replace_strict(kinds, return_dtype=pl.String).alias("name")
    return _Tables(
        _counts(named.with_columns(name="text"), ["name", "source"], total),
        _counts(named.drop_nulls("source").with_columns(name="source").drop("source"), ["name"], total),
        _counts(named.with_columns(kind), ["name"], total),
    )


def _counts(rows: pl.DataFrame, by: list[str], total: int) -> tuple[SampleCount, ...]:
    issued = pl.when(pl.col("issued").count() > 0).then(pl.col("issued").sum())
    table = rows.group_by(by).agg(pl.col("samples").sum(), issued.alias("issued"))
    ordered = table.sort(["samples", *by], descending=[True] + [False] * len(by), nulls_last=True).head(TOP)
    return tuple(
        SampleCount(
            name=row["name"],
            samples=row["samples"],
            share=row["samples"] / total,
            issued=row["issued"],
            source=row.get("source"),
        )
        for row in ordered.iter_rows(named=True)
    )

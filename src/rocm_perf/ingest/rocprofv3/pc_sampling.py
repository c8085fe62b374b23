"""rocprofv3 PC samples in CSV: host trap (6 columns) and stochastic (10 columns, with what the wave did)."""

from __future__ import annotations

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.csv import drop_incomplete, integer, read_csv
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek

_HOST_TRAP = frozenset(
    {"Sample_Timestamp", "Exec_Mask", "Dispatch_Id", "Instruction", "Instruction_Comment", "Correlation_Id"}
)
_STOCHASTIC = frozenset({"Wave_Issued_Instruction", "Instruction_Type", "Stall_Reason", "Wave_Count"})


def read_samples(source: Source) -> Part:
    """Samples; the columns that only hardware sampling has tell the method."""
    frame, losses = read_csv(source)
    if not frame.height:
        raise EmptyCaptureError(
            f"{source.name} holds no samples", "the kernels may have been shorter than the sampling interval"
        )
    samples = frame.select(
        integer("Sample_Timestamp").alias("time_ns"),
        integer("Dispatch_Id").alias("dispatch_id"),
        integer("Correlation_Id").alias("correlation_id"),
        pl.col("Exec_Mask").str.strip_chars().cast(pl.UInt64, strict=False).alias("exec_mask"),
        pl.col("Instruction").alias("instruction"),
        pl.col("Instruction_Comment").alias("source"),
        *(
            _what_the_wave_did()
            if set(frame.columns) >= _STOCHASTIC
            else [pl.lit("host_trap").alias("method")]
        ),
    )
    if "issued" in samples.columns:
        samples = samples.with_columns(stall_reason("stall_reason"))
    samples, lost = drop_incomplete(samples, ("time_ns", "dispatch_id"), source.name)
    return part("rocprofv3", {"pc_samples": samples}, losses + lost, clock="boot")


def instruction_type(column: str) -> pl.Expr:
    """ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_VALU -> VALU."""
    return pl.col(column).str.strip_prefix("ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_")


def stall_reason(column: str) -> pl.Expr:
    """..._NOT_ISSUED_REASON_WAITCNT -> WAITCNT. A wave that issued was not stalled, although the hardware
    writes some reason for it too; `issued` says which."""
    reason = pl.col(column).str.strip_prefix("ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_")
    return pl.when(pl.col("issued").not_()).then(reason).alias(column)


def _what_the_wave_did() -> list[pl.Expr]:
    return [
        integer("Wave_Issued_Instruction").cast(pl.Boolean).alias("issued"),
        instruction_type("Instruction_Type").alias("instruction_type"),
        pl.col("Stall_Reason").alias("stall_reason"),
        integer("Wave_Count").alias("wave_count"),
        pl.lit("stochastic").alias("method"),
    ]


def _claims(peek: Peek) -> bool:
    return set(peek.csv_header) >= _HOST_TRAP


ADAPTERS = (
    Adapter(
        name="rocprofv3-pc-sampling-csv",
        title="rocprofv3 pc_sampling_host_trap.csv and pc_sampling_stochastic.csv",
        recognised_by="CSV columns Sample_Timestamp, Exec_Mask, Instruction",
        claims=_claims,
        read=read_samples,
        fills=("pc_samples",),
    ),
)

"""The statistics of rocprofv3 --stats and of rocprof --stats: one row per kernel, function, copy direction or domain,
with sums instead of events."""

from __future__ import annotations

import re

import polars as pl

from rocm_perf.ingest import domains
from rocm_perf.ingest.io.csv import drop_incomplete, integer, real
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprof.v1_csv import finite, read_columns

_COLUMNS = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage")
_V3_COLUMNS = {"min_ns": "MinNs", "max_ns": "MaxNs", "stddev_ns": "StdDev"}

# What every name of a file looks like -> its domain. A kernel can have any name, so it is the fallback.
_BY_CONTENT = {
    "domain": r"^([A-Z]+_)*API(_EXT)?$|^(KERNEL_DISPATCH|MEMORY_COPY|MEMORY_ALLOCATION|SCRATCH_MEMORY|OMPT)$",
    "hip": r"^(__)?hip[A-Z]\w*$",
    "hsa": r"^hsa_\w+$",
    "kfd": r"^(hsaKmt|KFD_)\w+$",
    "copy": r"^(MEMORY_COPY_\w+|(hc)?(Copy|Memcpy|Fill)[A-Z]\w*|async-copy)$",
    "allocation": r"^MEMORY_ALLOCATION_\w+$",
    "scratch": r"^SCRATCH_MEMORY_\w+$",
    "rccl": r"^p?(nccl|rccl|mscclpp|msccl)[A-Z]\w*$",
    "rocdecode": r"^rocDec[A-Z]\w*$",
    "rocjpeg": r"^rocJpeg[A-Z]\w*$",
}
_BY_FILE_NAME = {
    "marker": r"marker(_api)?_stats",
    "kernel": r"kernel(_dispatch)?_stats|results\w*\.stats",
    "hip": r"hip(_api)?_stats",
    "hsa": r"hsa(_api)?_stats",
    "copy": r"copy_stats",
    "allocation": r"memory_allocation_stats",
    "scratch": r"scratch_memory_stats",
    "rccl": r"rccl_api_stats",
    "rocdecode": r"rocdecode_api_stats",
    "rocjpeg": r"rocjpeg_api_stats",
    "domain": r"domain_stats",
}


def read_stats(source: Source) -> Part:
    """Summaries; only rocprofv3 writes the shortest, the longest and the deviation."""
    frame, losses = read_columns(source, _COLUMNS)
    is_v3 = "MinNs" in frame.columns
    domain = domain_of(frame["Name"], source.file_name)
    rows = frame.select(
        pl.lit(domain).alias("domain"),
        domains.kernel_name(pl.col("Name")).alias("name")
        if domain == "kernel"
        else pl.col("Name").alias("name"),
        integer("Calls").alias("calls"),
        finite(real("TotalDurationNs")).alias("total_ns"),
        finite(real("AverageNs")).alias("mean_ns"),
        finite(real("Percentage")).alias("percent"),
        *(
            finite(real(column)).alias(name)
            for name, column in _V3_COLUMNS.items()
            if column in frame.columns
        ),
    )
    rows, lost = drop_incomplete(rows, ("name", "calls", "total_ns"), source.name)
    return part(
        "rocprofv3" if is_v3 else "rocprof", {"summaries": rows}, losses + lost, pid=_pid(source.file_name)
    )


def domain_of(names: pl.Series, file_name: str) -> str:
    """The domain of the rows: that of all names, else of the file's name, else of most names, else kernels."""
    named_domain = next(
        (domain for domain, pattern in _BY_FILE_NAME.items() if re.search(pattern, file_name)), None
    )
    if named_domain == "marker":  # the program's own names, which may look like anything
        return named_domain
    shares = {domain: _share(names, pattern) for domain, pattern in _BY_CONTENT.items()}
    likeliest = max(shares, key=lambda domain: shares[domain])
    if shares[likeliest] == 1:
        return likeliest
    return named_domain or (likeliest if shares[likeliest] > 0.5 else "kernel")


def _share(names: pl.Series, pattern: str) -> float:
    share = names.drop_nulls().str.contains(pattern).mean()
    return float(share) if isinstance(share, (int, float)) else 0.0


def _pid(file_name: str) -> int | None:
    """The process id in a name like `<pid>_kernel_stats.csv`, rocprofv3's default."""
    match = re.fullmatch(r"(\d{1,10})_[a-z_]+_stats\.csv", file_name)
    return int(match.group(1)) if match else None


def _claims(peek: Peek) -> bool:
    return set(_COLUMNS) <= set(peek.csv_header)


ADAPTERS = (
    Adapter(
        name="stats-csv",
        title="rocprofv3 and rocprof *_stats.csv",
        recognised_by="CSV columns " + ", ".join(_COLUMNS),
        claims=_claims,
        read=read_stats,
        fills=("summaries",),
    ),
)

"""One name for what tools call differently: API domains, copy directions, allocation operations."""

from __future__ import annotations

from typing import Any

import polars as pl

# By prefix of the tool's name, longest first. Sources: docs/formats.md.
_DOMAINS = {
    "HIP_COMPILER": "hip_compiler",
    "HIPFILE": "hipfile",
    "HIP": "hip",
    "HSA": "hsa",
    "MARKER": "marker",
    "ROCTX": "marker",
    "RCCL": "rccl",
    "ROCDECODE": "rocdecode",
    "ROCJPEG": "rocjpeg",
    "KFD": "kfd",
    "OMPT": "ompt",
    "CUDA": "cuda",
    "NCCL": "rccl",
}

_COPY_KINDS = (
    (r"HOST_?TO_?DEVICE|HTOD|H2D|HOST -> DEVICE", "H2D"),
    (r"DEVICE_?TO_?HOST|DTOH|D2H|DEVICE -> HOST", "D2H"),
    (r"PEER|PTOP|P2P", "P2P"),
    (r"DEVICE_?TO_?DEVICE|DTOD|D2D|DEVICE -> DEVICE", "D2D"),
    (r"HOST_?TO_?HOST|HTOH|H2H", "H2H"),
    (r"MEMSET|FILL", "MEMSET"),
)


_KERNEL_SUFFIX = r"( \[clone \.kd\]| \(\.kd\)|\.kd)$"


def kernel_name(name: pl.Expr) -> pl.Expr:
    """A kernel's name without the mark of its descriptor: `k [clone .kd]`, `k (.kd)` and `k.kd` are `k`."""
    return name.str.replace(_KERNEL_SUFFIX, "")


def normalised(domain: pl.Expr) -> pl.Expr:
    """HIP_RUNTIME_API_EXT -> hip; an unknown name is kept in lower case."""
    upper = domain.str.to_uppercase()
    chain: Any = pl
    for prefix, name in _DOMAINS.items():
        chain = chain.when(upper.str.starts_with(prefix)).then(pl.lit(name))
    named: pl.Expr = chain.otherwise(domain.str.to_lowercase())
    return named


def host_memory(copy: pl.Expr) -> pl.Expr:
    """`Memcpy HtoD (Pageable -> Device)` -> pageable; null where the name does not say."""
    return copy.str.extract(r"\b(Pageable|Pinned)\b").str.to_lowercase()


def copy_kind(direction: pl.Expr) -> pl.Expr:
    """MEMORY_COPY_HOST_TO_DEVICE, CopyHostToDevice, `Memcpy HtoD (...)` -> H2D."""
    upper = direction.str.to_uppercase()
    chain: Any = pl
    for pattern, kind in _COPY_KINDS:
        chain = chain.when(upper.str.contains(pattern)).then(pl.lit(kind))
    named: pl.Expr = chain.otherwise(pl.lit("UNKNOWN"))
    return named


def copying_agent() -> pl.Expr:
    """The GPU that a copy belongs to: its destination, or its source when the host receives."""
    return (
        pl.when(pl.col("kind") == "D2H")
        .then(pl.col("src_agent"))
        .otherwise(pl.col("dst_agent"))
        .alias("agent_id")
    )


def allocation_operation(operation: pl.Expr) -> pl.Expr:
    """MEMORY_ALLOCATION_ALLOCATE -> ALLOC, ..._FREE -> FREE."""
    upper = operation.str.to_uppercase()
    return (
        pl.when(upper.str.contains("FREE|UNMAP"))
        .then(pl.lit("FREE"))
        .when(upper.str.contains("REALLOC"))
        .then(pl.lit("REALLOC"))
        .when(upper.str.contains("RECLAIM"))
        .then(pl.lit("RECLAIM"))
        .when(upper.str.contains("ALLOC|MAP"))
        .then(pl.lit("ALLOC"))
        .otherwise(upper)
    )

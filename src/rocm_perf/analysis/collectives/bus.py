"""How much a collective moves, as nccl-tests counts it (its doc/PERFORMANCE.md): the size of a message, and the factor
from the bandwidth of the algorithm to that of the bus, which compares with a link whatever the number of ranks."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl


class _Factor(NamedTuple):
    """whole - part / n, of n ranks."""

    whole: float
    part: float
    formula: str  # as nccl-tests writes it


_TWICE = _Factor(2.0, 2.0, "2 (n - 1) / n")
_OTHERS = _Factor(1.0, 1.0, "(n - 1) / n")
_ALL = _Factor(1.0, 0.0, "1")
_FACTORS = {
    "all_reduce": _TWICE,
    "all_gather": _OTHERS,
    "reduce_scatter": _OTHERS,
    "all_to_all": _OTHERS,
    "gather": _OTHERS,
    "scatter": _OTHERS,
    "broadcast": _ALL,
    "reduce": _ALL,
    "send": _ALL,
    "recv": _ALL,
    "send_recv": _ALL,
    "permute": _ALL,
}
_GATHERING = ("all_gather", "gather")  # a message is what all ranks give together


def message_bytes() -> pl.Expr:
    """The size of a message: of the larger of input and output; of a gathering, all inputs."""
    gathered = pl.coalesce("output_bytes", pl.col("size_bytes") * pl.col("group_size"))
    larger = pl.max_horizontal("size_bytes", "output_bytes")
    return pl.when(pl.col("name").is_in(_GATHERING)).then(gathered).otherwise(larger)


def factor(name: str, ranks: int | None) -> float | None:
    """From the bandwidth of the algorithm to that of the bus; None where it is not known, or depends on a number of
    ranks that is not."""
    known = _FACTORS.get(name)
    if known is None or (ranks is None and known.part):
        return None
    return known.whole - known.part / (ranks or 1)


def factor_formula(name: str) -> str | None:
    """The factor as nccl-tests writes it; None for what it does not measure."""
    return _FACTORS[name].formula if name in _FACTORS else None

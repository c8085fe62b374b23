"""FLOPs and bytes that a recording states of an operator itself: XLA's operations carry them, as an object in place of
a list of inputs."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rocm_perf.model.quantity import Quantity, unavailable

_BYTES = "operands read and result written once (the shapes in its HLO)"


class _Facts(msgspec.Struct, frozen=True):
    """What the reader of XPlane files knows of an operation."""

    formula: str
    flops: int | None = None
    bytes: int | None = None
    doubt: str | None = None  # about the FLOPs
    products: bool = False  # of matrices, or convolutions


_DECODER = msgspec.json.Decoder(_Facts)  # made here, by one thread


class StatedWork(NamedTuple):
    """FLOPs and bytes of a call, or why they are not known, and whether matrix units do them."""

    flops: Quantity
    bytes: Quantity
    on_matrix: bool


def stated_work(inputs: str | None) -> StatedWork | None:
    """The work of a call; None where the recording states nothing of the kind."""
    if not inputs or not inputs.startswith("{"):
        return None
    try:
        facts = _DECODER.decode(inputs)
    except (msgspec.DecodeError, RecursionError):
        return None
    return StatedWork(
        flops=replace(_quantity(facts.flops, "FLOP", facts.formula), doubt=facts.doubt),
        bytes=_quantity(facts.bytes, "B", _BYTES, facts.formula),
        on_matrix=facts.products,
    )


def _quantity(value: int | None, unit: str, formula: str, reason: str = "") -> Quantity:
    return unavailable(unit, formula, reason or formula) if value is None else Quantity(value, unit, formula)

"""Copies between host and GPU that recur while the program is in steady state."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Memory = Literal["pageable", "pinned", "blocking call", "asynchronous", "unknown"]


class SteadyCopy(msgspec.Struct, frozen=True):
    """Host copies of one kind, started in one way from one place."""

    kind: str  # H2D or D2H
    copies: int
    per_step: float | None
    size_bytes: int | None
    total_ns: int
    bandwidth: Quantity
    call: str  # function that started them, "" where that is not recorded
    call_site: str  # operator, Python function or range, innermost known; "" where none is recorded
    memory: Memory  # as recorded, else judged by the call: see the formula of steady_copies.memory
    in_steps: float = 1.0  # share of the steps that hold one of them


class CopySite(msgspec.Struct, frozen=True):
    """Copies that one operator asks for, the outermost one; "" where none is known."""

    site: str
    copies: int
    total_ns: int


class DeviceCopies(msgspec.Struct, frozen=True):
    """All copies from one place of a GPU's memory to another."""

    copies: int
    total_ns: int
    exposed_ns: int  # with nothing beside them, on the GPU where that is longest
    before_graphs_ns: int  # of those whose operator launches a graph later, or with one next in their stream
    sites: tuple[CopySite, ...]  # longest first


class SteadyCopies(msgspec.Struct, frozen=True):
    """Recurring copies, longest first. `basis` says what counts as steady state."""

    rows: tuple[SteadyCopy, ...]
    copies: int
    total_ns: int
    basis: str
    unavailable: str | None = None
    on_gpu: DeviceCopies | None = None  # of the whole judged part

"""Time that the host spends waiting for the GPU."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

Scope = Literal["device", "stream", "event", "signal", "copy"]


class Waiting(msgspec.Struct, frozen=True):
    """Calls of one kind. useful + lost = total."""

    name: str
    calls: int
    total_ns: int  # inside them, per thread; a call within another counts as part of it
    useful_ns: int  # of that, while the GPU worked
    lost_ns: int  # of that, while the GPU was idle


class Sync(msgspec.Struct, frozen=True):
    """Waiting of all threads. The totals are those of synchronising calls; blocking copies are separate.

    A copy counts as blocking if its function blocks (hipMemcpy, hipMemcpyWithStream, cuMemcpyDtoH, ...); the name of an
    asynchronous one does not show that it blocks because its memory is pageable.
    """

    total: Waiting
    blocking_copies: Waiting
    share: Quantity  # of the wall with at least one thread waiting in a synchronising call
    lost_share: Quantity  # of the wall, where the GPU was idle as well
    scopes: tuple[Waiting, ...]  # device-wide, stream, event, signal, copy
    functions: tuple[Waiting, ...]
    threads: tuple[Waiting, ...]
    operators: tuple[Waiting, ...]  # framework operators that called them, where recorded
    busy_is: str  # which GPU work counts as useful to wait for
    unavailable: str | None = None

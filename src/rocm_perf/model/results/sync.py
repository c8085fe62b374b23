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
    useful_ns: int  # of it, while the GPU worked
    lost_ns: int  # of it, while the GPU stood idle


class Sync(msgspec.Struct, frozen=True):
    """Waiting of all threads. The totals are those of synchronising calls; blocking copies stand apart.

    A copy counts as blocking if its function is (hipMemcpy, hipMemcpyWithStream, cuMemcpyDtoH, ...); an asynchronous
    one that blocks because its memory is pageable cannot be told by its name.
    """

    total: Waiting
    blocking_copies: Waiting
    share: Quantity  # of the wall, in which at least one thread waits in a synchronising call
    lost_share: Quantity  # of the wall, the part of it in which the GPU stood idle as well
    scopes: tuple[Waiting, ...]  # device-wide, stream, event, signal, copy
    functions: tuple[Waiting, ...]
    threads: tuple[Waiting, ...]
    operators: tuple[Waiting, ...]  # framework operators that called them, where recorded
    busy_is: str  # which GPU work counts as useful to wait for
    unavailable: str | None = None

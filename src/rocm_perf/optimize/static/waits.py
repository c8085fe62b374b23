"""How much a wave of an AMD GPU has under way when it waits for memory, read in the order of the code.

`s_waitcnt vmcnt(N)` waits until at most N of the loads before it are outstanding; loads return in their order (AMD, ISA
guides: memory counters). Many bytes under way at a wait, and many instructions between a load and its wait, hide
latency."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.instructions import Class, meaning

# gfx9 to gfx11 name the counters in one instruction; gfx12 has an instruction for each.
_VECTOR = re.compile(r"s_waitcnt .*?vmcnt\((\d+)\)|s_wait_loadcnt\w* (0x[0-9a-f]+|\d+)")
_LOCAL = re.compile(r"s_waitcnt .*?lgkmcnt\((\d+)\)|s_wait_dscnt (0x[0-9a-f]+|\d+)")
_WORD = 4  # bytes, where the name does not say how many
_STORES_COUNT = ("gfx9",)  # later chips count stores apart


@dataclass(frozen=True)
class Wait:
    """One wait for loads."""

    address: int
    loads: int  # that it waits for
    in_flight_bytes: int  # of loads that were under way after the last one was issued, for each lane
    distance: int  # instructions since the youngest load that it waits for


@dataclass(frozen=True)
class Waits:
    """All waits of some code for one kind of load. None where it never waits for one."""

    count: int
    in_flight_bytes: float | None  # under way with a load that is waited for, for each lane, on average
    distance: float | None  # instructions between a load and the wait for it, on average


def vector_waits(instructions: Sequence[Instruction], arch: str) -> list[Wait]:
    """The waits for loads from global memory."""
    kinds: tuple[Class, ...] = ("VMEM load", "VMEM atomic")
    counted = (*kinds, "VMEM store") if arch.startswith(_STORES_COUNT) else kinds
    return list(_waits(instructions, _VECTOR, loads=kinds, counted=counted))


def local_waits(instructions: Sequence[Instruction]) -> list[Wait]:
    """The waits for loads from the LDS. Scalar loads share their counter, and count."""
    return list(_waits(instructions, _LOCAL, loads=("LDS",), counted=("LDS", "SMEM")))


def summary(waits: Iterable[Wait], stretches: Sequence[tuple[int, int]]) -> Waits:
    """Waits within stretches of the code, by their addresses; all of them where there are no stretches."""
    within = [wait for wait in waits if not stretches or any(a <= wait.address <= b for a, b in stretches)]
    if not within:
        return Waits(0, None, None)
    loads = sum(wait.loads for wait in within)
    return Waits(
        count=len(within),
        in_flight_bytes=sum(wait.in_flight_bytes * wait.loads for wait in within) / loads,
        distance=sum(wait.distance * wait.loads for wait in within) / loads,
    )


def _waits(
    instructions: Sequence[Instruction],
    pattern: re.Pattern[str],
    *,
    loads: tuple[Class, ...],
    counted: tuple[Class, ...],
) -> Iterator[Wait]:
    outstanding: list[tuple[int, int]] = []  # where it is, and how many bytes it loads for each lane
    in_flight = 0
    for position, entry in enumerate(instructions):
        what = meaning(entry.mnemonic)
        if what.kind in counted:
            loaded = (what.bytes_per_lane or _WORD) if what.kind in loads else 0
            outstanding.append((position, loaded))
            in_flight = sum(size for _, size in outstanding)
        wait = pattern.match(entry.text)
        if wait is None:
            continue
        left = int(wait.group(1) or wait.group(2), 0)
        ended = outstanding[: max(0, len(outstanding) - left)]
        waited_for = [place for place, loaded in ended if loaded]
        if waited_for:
            yield Wait(
                address=entry.address,
                loads=len(waited_for),
                in_flight_bytes=in_flight,
                distance=position - waited_for[-1],
            )
        outstanding = outstanding[len(ended) :]

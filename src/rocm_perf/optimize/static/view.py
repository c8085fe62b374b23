"""What the code of a kernel shows without being run."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.instructions import Class
from rocm_perf.arch.codeobject.mix import Mix, Tally, mix_of
from rocm_perf.model.results.optimize import Resources, StaticFacts
from rocm_perf.optimize.static.waits import local_waits, summary, vector_waits

_MEMORY: tuple[Class, ...] = ("VMEM load", "VMEM store", "VMEM atomic", "LDS")


def facts_of(instructions: Sequence[Instruction], needs: Resources, arch: str) -> StaticFacts:
    """The facts about a kernel's code: of its loops, where it has loops that access memory."""
    mix = mix_of(instructions, needs.scratch_bytes or 0)
    tally, stretches = _looked_at(mix)
    vector, local = vector_waits(instructions, arch), local_waits(instructions)
    waits = summary(vector, stretches)
    if not waits.count:
        waits = summary(local, stretches)
    accesses = sum(tally.classes.get(kind, 0) for kind in _MEMORY)
    moved = sum(
        width * count
        for widths in (tally.load_widths, tally.store_widths, tally.lds_widths)
        for width, count in widths.items()
    )
    return StaticFacts(
        in_loops=bool(stretches),
        instructions=tally.instructions,
        accesses=accesses,
        instructions_per_byte=tally.instructions / moved if moved else None,
        waits=waits.count,
        bytes_in_flight=waits.in_flight_bytes,
        wait_distance=waits.distance,
    )


def _looked_at(mix: Mix) -> tuple[Tally, list[tuple[int, int]]]:
    """The loops, which run most often; all of the code where none of them accesses memory."""
    if any(mix.in_loops.classes.get(kind) for kind in _MEMORY):
        return mix.in_loops, [(loop.start, loop.end) for loop in mix.loops]
    return mix.whole, []

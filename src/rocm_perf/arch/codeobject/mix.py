"""Which instructions a kernel contains. Each counts once, as it is in the code: how often it runs is not known here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rocm_perf.arch.codeobject.disassembly import Instruction
from rocm_perf.arch.codeobject.instructions import CLASSES, Class, Meaning, meaning

_ENCODING = re.compile(r"_(e32|e64|dpp|sdwa|e64_dpp)$")
# Waits until no vector load is outstanding: gfx9 to gfx11 in one instruction, gfx12 in one of its own.
_DRAIN = re.compile(r"s_waitcnt .*vmcnt\(0\)|s_waitcnt_vmcnt .*0x0$|s_wait_loadcnt\w* 0x0$")
# Before gfx94x and gfx11, buffer instructions access the stack through the descriptor in the first registers.
_STACK_BUFFER = re.compile(r"buffer_(load|store)\w* .*\bs\[0:3\]")
UNDECODED = "<unknown>"


class Tally(msgspec.Struct, frozen=True):
    """Counts of instructions, and of what the memory and matrix instructions among them move and compute."""

    instructions: int
    code_bytes: int
    classes: Mapping[Class, int]
    matrix_flops: int
    matrix_types: Mapping[str, int]
    fma_types: Mapping[str, int]  # multiply-adds outside the matrix units
    transcendental: int
    load_widths: Mapping[int, int]  # bytes per lane -> vector loads
    store_widths: Mapping[int, int]
    lds_widths: Mapping[int, int]
    drains: int  # waits until no load is outstanding
    names: Mapping[str, int]

    def named(self, pattern: str) -> int:
        """The number of instructions whose name begins with a match of the pattern."""
        return sum(count for name, count in self.names.items() if re.match(pattern, name))


class Loop(msgspec.Struct, frozen=True):
    """A part of the code with a branch at its end that jumps back to its start."""

    start: int
    end: int
    tally: Tally


class Line(msgspec.Struct, frozen=True):
    """One source line, and the instructions compiled from it."""

    file: str
    line: int
    instructions: int
    classes: Mapping[Class, int]


class Mix(msgspec.Struct, frozen=True):
    """The instructions of one kernel, by class, loop and source line."""

    whole: Tally
    in_loops: Tally
    loops: tuple[Loop, ...]  # in the order of the code; an inner one lies within an outer one
    lines: tuple[Line, ...]  # most instructions first; empty without debug information
    undecoded: int


def mix_of(instructions: Sequence[Instruction], scratch_bytes: int = 0) -> Mix:
    """The mix of a kernel's instructions."""
    stretches = _stretches(instructions)
    return Mix(
        whole=tally(instructions, scratch_bytes),
        in_loops=tally(_within(instructions, stretches), scratch_bytes),
        loops=tuple(
            Loop(start, end, tally(_within(instructions, [(start, end)]), scratch_bytes))
            for start, end in stretches
        ),
        lines=_lines(instructions, scratch_bytes),
        undecoded=sum(entry.text.startswith(UNDECODED) for entry in instructions),
    )


def tally(instructions: Iterable[Instruction], scratch_bytes: int = 0) -> Tally:
    """The counts over some instructions of a kernel with this much scratch memory."""
    known = [(entry, _meaning(entry, scratch_bytes)) for entry in instructions]
    counted: Counter[Class] = Counter(what.kind for _, what in known)
    return Tally(
        instructions=len(known),
        code_bytes=sum(entry.size_bytes for entry, _ in known),
        classes={kind: counted[kind] for kind in CLASSES if counted[kind]},
        matrix_flops=sum(what.matrix_flops or 0 for _, what in known),
        matrix_types=_most_first(what.matrix_type for _, what in known),
        fma_types=_most_first(what.fma_type for _, what in known),
        transcendental=sum(what.transcendental for _, what in known),
        load_widths=_widths(known, "VMEM load"),
        store_widths=_widths(known, "VMEM store"),
        lds_widths=_widths(known, "LDS"),
        drains=sum(bool(_DRAIN.match(entry.text)) for entry, _ in known),
        names=_most_first(_ENCODING.sub("", entry.mnemonic) for entry, _ in known),
    )


def is_of_stack(text: str) -> bool:
    """Whether a buffer instruction accesses scratch, in a kernel that has any."""
    return _STACK_BUFFER.match(text) is not None


def _meaning(entry: Instruction, scratch_bytes: int) -> Meaning:
    what = meaning(entry.mnemonic)
    if scratch_bytes and is_of_stack(entry.text):
        return msgspec.structs.replace(what, kind="scratch")
    return what


def _most_first(names: Iterable[str | None]) -> dict[str, int]:
    counted = Counter(name for name in names if name is not None)
    return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def _widths(known: Sequence[tuple[Instruction, Meaning]], kind: Class) -> dict[int, int]:
    counted = Counter(
        what.bytes_per_lane for _, what in known if what.kind == kind and what.bytes_per_lane is not None
    )
    return dict(sorted(counted.items()))


def _stretches(instructions: Sequence[Instruction]) -> list[tuple[int, int]]:
    """The loops: from the target of a backward branch to the branch; branches to one target are one loop."""
    ends: dict[int, int] = {}
    for entry in instructions:
        if entry.target is not None and entry.target <= entry.address and "branch" in entry.mnemonic:
            ends[entry.target] = max(entry.address, ends.get(entry.target, 0))
    return sorted(ends.items(), key=lambda pair: (pair[0], -pair[1]))


def _within(
    instructions: Sequence[Instruction], stretches: Sequence[tuple[int, int]]
) -> Iterable[Instruction]:
    return [entry for entry in instructions if any(a <= entry.address <= b for a, b in stretches)]


def _lines(instructions: Sequence[Instruction], scratch_bytes: int) -> tuple[Line, ...]:
    by_line: dict[tuple[str, int], Counter[Class]] = {}
    for entry in instructions:
        if entry.file is not None and entry.line:
            kinds = by_line.setdefault((entry.file, entry.line), Counter())
            kinds[_meaning(entry, scratch_bytes).kind] += 1
    lines = (
        Line(file=file, line=line, instructions=kinds.total(), classes=dict(kinds))
        for (file, line), kinds in by_line.items()
    )
    return tuple(sorted(lines, key=lambda line: (-line.instructions, line.file, line.line)))

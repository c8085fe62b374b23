"""What the emulator answers (native/softgpu/emulator/answer.cpp prints it)."""

from __future__ import annotations

import msgspec


class InstructionCount(msgspec.Struct, frozen=True, array_like=True):
    """What the waves did with one instruction; only those that were executed are listed."""

    address: int  # as the code object and its disassembly have it
    executions: int  # by a wave
    lanes: int  # that were active, added up
    bytes: int  # that the lanes asked for: memory and LDS instructions
    lines_64: int  # distinct lines of 64 bytes in each execution, added up: memory instructions, not LDS
    lines_128: int  # and of 128 bytes
    lds_cycles: int  # that the banks took, conflicts included
    lds_conflicts: int  # of these, what a conflict-free order of the same lanes would not have taken
    same_address: int  # atomics: lanes whose address another lane of the execution had before them
    scratch_bytes: int  # of `bytes`, those in the lanes' own memory, whichever instruction asks for them


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    """Distinct lines of memory that all executed workgroups touched; counted only where instructions are."""

    line_bytes: int
    read: int
    written: int
    touched: int  # read or written or both


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How an emulation went."""

    error: str = ""  # empty: all workgroups ran to their end
    workgroups: int = 0
    waves: int = 0
    wave_size: int = 0
    instructions: int = 0  # executed by waves
    lane_instructions: int = 0  # the same, times the lanes that were active
    seconds: float = 0.0  # that this machine took: no GPU's time
    cpu_seconds: float = 0.0  # of its cores, added up
    footprint: Footprint | None = None
    counts: tuple[InstructionCount, ...] = ()

"""What one instruction did: its class, the memory it asks for, its operations. All counts are made of these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from rocm_perf.arch.codeobject.flops import Unit, flops_of
from rocm_perf.arch.codeobject.instructions import Class, meaning
from rocm_perf.model.results.count import Executed, InstructionCount, Space

What = Literal["load", "store", "atomic"]
INTEGER = "i8"
_SHORT = 64  # bytes of a line; distinct lines are counted for this size and for 128
_LDS_ATOMIC = re.compile(
    r"ds_(pk_)?(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpst|cmpstore|wrxchg|storexchg)\w*"
)

Row = InstructionCount


class Counted(msgspec.Struct, frozen=True):
    """Every instruction of an executed dispatch."""

    rows: tuple[Row, ...]
    executed: Executed
    line_bytes: int  # of the first cache of the chip

    def lines_of(self, row: Row) -> int:
        """Distinct lines of that size in each execution, added up."""
        return row.lines_64 if self.line_bytes == _SHORT else row.lines_128

    def scaled(self, count: int) -> int:
        """A count of what was executed as one of the whole grid."""
        return round(count * self.executed.scale) if self.executed.is_sample else count

    def total(self, rows: Iterable[Row], read: Callable[[Row], int]) -> int:
        """What these rows have of something, added up, for the whole grid."""
        return self.scaled(sum(map(read, rows)))

    def efficiency(self, rows: Iterable[Row]) -> float | None:
        """Bytes that these accesses ask for / bytes of the lines that hold them; None where there are no lines."""
        listed = list(rows)
        lines = sum(map(self.lines_of, listed))
        return sum(row.bytes for row in listed) / (lines * self.line_bytes) if lines else None

    def active(self, rows: Iterable[Row]) -> float | None:
        """The share of the lanes that were active in the vector instructions among these; None where there are none."""
        vector = [row for row in rows if kind_of(row) == "VALU"]
        possible = self.executed.wave_size * sum(row.executions for row in vector)
        return sum(row.lanes for row in vector) / possible if possible else None


def kind_of(row: Row) -> Class:
    """The class of an instruction."""
    return meaning(row.text.split(None, 1)[0]).kind


def space_of(row: Row) -> Space | None:
    """Which memory an instruction asks for; None where it asks for none."""
    kind = kind_of(row)
    if kind.startswith("VMEM"):  # gfx90a reaches scratch by buffer instructions, and pointers to it are flat
        return "scratch" if 2 * row.scratch_bytes > row.bytes else "global"
    return "scratch" if kind == "scratch" else "scalar" if kind == "SMEM" and row.bytes else None


def what_of(row: Row) -> What:
    """What an access to memory does there."""
    name = row.text.split(None, 1)[0]
    return "atomic" if "_atomic" in name else "store" if "_store" in name else "load"


def is_atomic(row: Row) -> bool:
    """Whether an instruction changes memory or LDS in one step. In LDS, whatever does not only read or write, or move
    values between lanes."""
    name = row.text.split(None, 1)[0]
    if kind_of(row) == "LDS":
        return _LDS_ATOMIC.match(name) is not None
    return space_of(row) is not None and what_of(row) == "atomic"


def operations_of(row: Row) -> Counter[tuple[str, Unit]]:
    """The operations of an instruction over all its executions, by type and unit."""
    amounts: Counter[tuple[str, Unit]] = Counter()
    for part in flops_of(row.text):
        amounts[part.dtype, part.unit] += part.each * (row.lanes if part.unit == "vector" else row.executions)
    return amounts


def float_operations_of(row: Row) -> int:
    """The floating-point operations of an instruction over all its executions."""
    return sum(amount for (dtype, _), amount in operations_of(row).items() if dtype != INTEGER)

"""The kernels of two files of GPU code beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.arch.codeobject.report import KernelReport
from rocm_perf.model.results.check import Check
from rocm_perf.units import format_bytes, format_number

Match = Literal["name", "short name", "appeared", "vanished"]


class KernelPair(msgspec.Struct, frozen=True):
    """One kernel of one architecture in both files; None where a file does not have it."""

    arch: str
    name: str  # demangled
    match: Match
    base: KernelReport | None
    new: KernelReport | None

    @property
    def differs(self) -> bool:
        """Whether any of its quantities does."""
        return any(read(self.base) != read(self.new) for read in QUANTITIES.values())


class CodeComparison(msgspec.Struct, frozen=True):
    """Two files of GPU code; kernels that need more than before come first."""

    base: str
    new: str
    pairs: tuple[KernelPair, ...]
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    schema_version: int = 1


def _of_kernel(read: Callable[[Kernel], float | None]) -> Callable[[KernelReport | None], float | None]:
    return lambda report: None if report is None else read(report.kernel)


def _spills(kernel: Kernel) -> int | None:
    known = [count for count in (kernel.vgpr_spills, kernel.sgpr_spills) if count is not None]
    return sum(known) if known else None


def _waves(report: KernelReport | None) -> float | None:
    return report.occupancy.waves_per_simd if report and report.occupancy else None


def _instructions(report: KernelReport | None) -> int | None:
    return report.code.mix.whole.instructions if report and report.code else None


# What is compared: registers, memory, waves that a SIMD holds, instructions. None: not recorded.
QUANTITIES: dict[str, Callable[[KernelReport | None], float | None]] = {
    "spills": _of_kernel(_spills),
    "scratch": _of_kernel(lambda kernel: kernel.scratch_bytes),
    "waves": _waves,
    "vgprs": _of_kernel(lambda kernel: kernel.vgprs),
    "agprs": _of_kernel(lambda kernel: kernel.agprs),
    "sgprs": _of_kernel(lambda kernel: kernel.sgprs),
    "lds": _of_kernel(lambda kernel: kernel.lds_bytes),
    "code": _of_kernel(lambda kernel: kernel.code_bytes),
    "instructions": _instructions,
}
SIZES = frozenset(("scratch", "lds", "code"))


def written(value: float | None, quantity: str) -> str:
    """A quantity of a kernel as a person reads it: sizes with their unit, numbers with all their digits."""
    if value is None:
        return "-"
    return format_bytes(value) if quantity in SIZES else format_number(value)

"""What kernels do: their families, the steps they repeat in, and short ones that could be fused."""

from __future__ import annotations

from typing import Literal

import msgspec

from rocm_perf.model.quantity import Quantity

FamilyName = Literal[
    "gemm",
    "convolution",
    "attention",
    "normalisation",
    "softmax",
    "reduction",
    "elementwise",
    "embedding",  # and other gathers and scatters
    "copy",  # casts, fills, transposes and concatenations as well
    "collective",
    "sort",  # and scans
    "random",
    "quantisation",
    "optimiser",
    "other",
]


class Family(msgspec.Struct, frozen=True):
    """What a kernel does, and its library if the name shows it ("" otherwise)."""

    name: FamilyName
    library: str


class FamilyTotal(msgspec.Struct, frozen=True):
    """All kernels of one family."""

    family: FamilyName
    kernels: int
    calls: int
    total_ns: int
    share: float  # of the summed kernel time
    libraries: tuple[str, ...]


class AttentionProduct(msgspec.Struct, frozen=True):
    """A kernel that next to always runs as a matrix product of attention."""

    kernel: str
    calls: int  # in attention
    total_ns: int


class AttentionByHand(msgspec.Struct, frozen=True):
    """Attention as separate kernels: softmax and what is around it, between two matrix products."""

    calls: int
    between_ns: int  # of the kernels between the products, in all calls
    kernels: tuple[str, ...]  # between the products, in the order in which they first run
    products: tuple[AttentionProduct, ...] = ()  # without those that compute something else as well


class Families(msgspec.Struct, frozen=True):
    """Kernel time by family, longest first."""

    rows: tuple[FamilyTotal, ...]
    gemm_share: Quantity
    unclassified_share: Quantity
    unavailable: str | None = None
    fused_saving_ns: int | None = (
        None  # what one kernel instead of each run of kernels that pass data on saves
    )
    attention_by_hand: AttentionByHand | None = None


class Step(msgspec.Struct, frozen=True):
    """One repetition of what the program does repeatedly."""

    start_ns: int
    end_ns: int
    kernels: int
    kernel_ns: int
    kind: str = ""  # of a program that serves a model: prefill, decode, ...

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class Steps(msgspec.Struct, frozen=True):
    """The steps of the busiest process, and how they were identified."""

    found_by: str
    steps: tuple[Step, ...]
    kernels_per_step: Quantity  # median
    duration_ns: Quantity  # median
    steady_from_ns: int | None  # steps from here on count as steady state
    host_times: bool = True  # steps are those of the host: what it launches in one belongs to it
    kernel: str | None = None  # each is a launch of this kernel and nothing else: no step of a program
    whole: bool = (
        False  # a profiler marked them, one right behind the other: the last is as whole as the others
    )
    unavailable: str | None = None


class Sliver(msgspec.Struct, frozen=True):
    """A sequence of short kernels that repeats on one stream."""

    kernels: tuple[str, ...]
    occurrences: int
    kernel_ns: int  # of all occurrences
    gap_ns: int  # between the kernels of an occurrence
    saving_ns: int  # at most, by fewer launches; fusing also saves memory traffic


class Slivers(msgspec.Struct, frozen=True):
    """Sequences worth fusing, largest saving first."""

    rows: tuple[Sliver, ...]
    saving_ns: int
    floor_ns: int | None  # shortest kernel: what any kernel costs, taken as the cost of starting one
    basis: str
    unavailable: str | None = None

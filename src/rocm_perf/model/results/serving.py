"""Kinds of step of a program that serves a model: how long each takes, what a token costs in it, what holds it back."""

from __future__ import annotations

import msgspec

from rocm_perf.model.finding import Kind
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.kernels import FamilyName
from rocm_perf.model.step_kinds import StepKind


class FamilyShare(msgspec.Struct, frozen=True):
    """How much of the kernel time of a kind of step one family of kernels takes."""

    family: FamilyName
    share: float


class StepTotals(msgspec.Struct, frozen=True):
    """All steps of one kind, or those of them with one batch size."""

    kind: StepKind
    batch: int | None  # requests in each of these steps; None: all steps of the kind
    steps: int
    requests: float | None  # median
    tokens: int | None  # of all these steps together; None where the annotations do not say
    total_ns: int
    median_ns: float
    p10_ns: float
    p90_ns: float
    host_ns: float  # median length of the range on the host
    kernels: float  # median
    busy: Quantity
    tokens_per_s: Quantity
    ns_per_token: Quantity
    families: tuple[FamilyShare, ...] = ()
    held_back_by: Kind | None = None  # of a finding; None below a kind, and where it did not use a GPU
    because: str = ""  # the largest part of it

    @property
    def tokens_per_step(self) -> float | None:
        return None if self.tokens is None else self.tokens / self.steps


class BetweenSteps(msgspec.Struct, frozen=True):
    """What lies between the first and the last step, but in none."""

    total_ns: int
    gpu_ns: int  # of that, with work on the GPU
    kernels: int  # launched outside of every step


class Worker(msgspec.Struct, frozen=True):
    """One process of the recording."""

    node: int
    pid: int | None
    rank: int | None
    name: str
    agents: tuple[int, ...]  # GPUs that it used
    kernels: int
    gpu_ns: int
    steps: int
    judged: bool  # the table of kinds is about this one


class Serving(msgspec.Struct, frozen=True):
    """The kinds of step of the process whose steps launched most, and every process beside it."""

    rows: tuple[StepTotals, ...]  # each kind, and below it its batch sizes
    told_by: str  # whose annotations say what a step is
    placed_by: str  # what says which step a kernel belongs to
    wall_ns: int  # from the beginning of the first step to the end of the last
    tokens_per_s: Quantity  # over that time
    between: BetweenSteps
    workers: tuple[Worker, ...]
    notes: tuple[str, ...] = ()
    unavailable: str | None = None

    @property
    def kinds(self) -> tuple[StepTotals, ...]:
        """One row for each kind."""
        return tuple(row for row in self.rows if row.batch is None)

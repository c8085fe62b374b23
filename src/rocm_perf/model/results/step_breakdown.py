"""What the time of each step goes to, in the roles that users of the TensorBoard plugin of torch.profiler know."""

from __future__ import annotations

import msgspec
from msgspec.structs import astuple


class StepRoles(msgspec.Struct, frozen=True):
    """Times that sum up to a step: each moment counts for the first role that is active in it. None: the recording does
    not hold what would tell."""

    kernel_ns: float | None
    copy_ns: float | None
    fill_ns: float | None
    communication_ns: float | None  # beside which no other GPU work runs
    runtime_ns: float | None  # calls of HIP or CUDA
    data_loader_ns: float | None
    host_ns: float | None  # operators, Python functions and ranges
    other_ns: float | None

    @property
    def total_ns(self) -> float:
        """The length of the step."""
        return float(sum(time for time in astuple(self) if time is not None))


class StepBreakdownRow(msgspec.Struct, frozen=True):
    """One step. It begins where it begins on the host, but not before the step before has ended on the GPU, and ends
    with the last work that it launched."""

    name: str
    start_ns: int
    end_ns: int
    roles: StepRoles


class StepBreakdown(msgspec.Struct, frozen=True):
    """The steps in their order, and the mean of those in the steady state; of all where there is none."""

    steps: tuple[StepBreakdownRow, ...]
    mean: StepRoles | None
    found_by: str  # how the steps are known
    unavailable: str | None = None

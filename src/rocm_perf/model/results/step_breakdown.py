"""What the time of each step goes to, in the roles that users of the TensorBoard plugin of torch.profiler know."""

from __future__ import annotations

import msgspec
from msgspec.structs import astuple


class StepRoles(msgspec.Struct, frozen=True):
    """Times that sum up to a step: each moment counts for the first role that is active in it."""

    kernel_ns: float
    copy_ns: float
    fill_ns: float
    communication_ns: float  # beside which no other GPU work runs
    runtime_ns: float  # calls of HIP or CUDA
    data_loader_ns: float
    host_ns: float  # operators, Python functions and ranges
    other_ns: float

    @property
    def total_ns(self) -> float:
        """The length of the step."""
        return float(sum(astuple(self)))


class StepBreakdownRow(msgspec.Struct, frozen=True):
    """One step. It begins where it begins on the host, but not before the step before has ended on the GPU, and ends
    with the last work that it launched."""

    name: str
    start_ns: int
    end_ns: int
    roles: StepRoles


class StepBreakdown(msgspec.Struct, frozen=True):
    """The steps in their order, and their mean."""

    steps: tuple[StepBreakdownRow, ...]
    mean: StepRoles | None
    found_by: str  # how the steps are known
    unavailable: str | None = None

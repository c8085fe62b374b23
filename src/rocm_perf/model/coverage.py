"""How complete a Trace is. A hole is a finding, not a smaller number."""

from __future__ import annotations

import msgspec

from rocm_perf.model.finding import Finding


class Coverage(msgspec.Struct, frozen=True):
    """What was asked for, launched, recorded and paired; a count is None if the recording does not show it."""

    asked: tuple[str, ...]  # domains the profiler was asked to record, empty if it does not say
    recorded: dict[str, int]  # rows of each table
    launched: int | None  # host calls that launch kernels
    dispatched: int  # kernel executions recorded
    paired: int | None  # dispatches whose launching call was recorded
    launches_without_kernels: int | None
    kernels_without_launches: int | None
    missing: int | None  # kernels and copies that launches and replays of graphs should have left
    lost_records: int | None  # records known to be missing; None if some loss has no count
    holes: tuple[Finding, ...] = ()
    replayed: int = 0  # of the dispatches: kernels of graph replays
    captured: int | None = None  # of those: kernels that agree with a captured launch; None without a capture

    @property
    def paired_share(self) -> float | None:
        """Share of the dispatches, recorded or missing, whose launching call and kernel are both in the recording."""
        if self.paired is None or not self.dispatched:
            return None
        return self.paired / (self.dispatched + (self.missing or 0))

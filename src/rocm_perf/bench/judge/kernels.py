"""When the kernels of a judged process ran."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass


@dataclass(frozen=True)
class Kernels:
    """When the kernels of a process ran, on the boot clock."""

    starts_ns: list[int]  # ascending
    ends_ns: list[int]

    def span_ns(self, from_ns: int, to_ns: int) -> int:
        """The time from the start of the first kernel that starts in a window to the end of the last; 0 without one."""
        first, last = bisect_left(self.starts_ns, from_ns), bisect_right(self.starts_ns, to_ns)
        return max(self.ends_ns[first:last]) - self.starts_ns[first] if first < last else 0

    def busy_ns(self, from_ns: int, to_ns: int) -> int:
        """How long the kernels that start in a window ran, all together."""
        first, last = bisect_left(self.starts_ns, from_ns), bisect_right(self.starts_ns, to_ns)
        return sum(self.ends_ns[first:last]) - sum(self.starts_ns[first:last])

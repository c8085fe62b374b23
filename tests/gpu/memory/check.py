"""Compares what rocm-perf says of the recordings that record.py left in a folder with what torch counted meanwhile.
Prints one line per number; exit code 1 if one is wrong. Usage: check.py FOLDER"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import rocm_perf
from rocm_perf.model.results.memory import Memory

LEAK = "remember"  # the function that keeps what it should not


class Check(NamedTuple):
    """A number of ours beside torch's; it may differ by a share."""

    name: str
    ours: float | None
    torch: float
    tolerance: float = 0.0

    @property
    def is_right(self) -> bool:
        return self.ours is not None and abs(self.ours - self.torch) <= self.tolerance * abs(self.torch)


def snapshot_checks(name: str, memory: Memory, truth: dict[str, Any]) -> Iterator[Check]:
    """A snapshot holds everything since its history began."""
    (peak,), (blocks,) = memory.peaks, memory.fragmentation
    uses = {row.level: row for row in memory.rows}
    owners = {row.owner: row.bytes for row in peak.owners}
    yield Check(f"{name}: allocated", blocks.allocated_bytes, truth["allocated_current"])
    yield Check(f"{name}: reserved", blocks.reserved_bytes, truth["reserved_current"])
    yield Check(f"{name}: highest reserved", uses["torch_reserved_bytes"].peak_bytes, truth["reserved_peak"])
    yield Check(f"{name}: free in pieces", blocks.split_bytes, truth["inactive_split_current"])
    yield Check(f"{name}: peak", peak.bytes, truth["allocated_peak"])
    # Most can have been asked for at another moment: a scalar of 4 bytes takes a block of 512.
    yield Check(f"{name}: requested at the peak", peak.requested_bytes, truth["requested_peak"], 0.001)
    yield Check(f"{name}: parameters", owners.get("parameters"), truth["parameter_bytes"])
    yield Check(f"{name}: optimiser state", owners.get("optimiser state"), truth["optimiser_bytes"])
    yield from growth_checks(name, memory, truth)


def trace_checks(name: str, memory: Memory, truth: dict[str, Any]) -> Iterator[Check]:
    """A trace begins in the middle of the program."""
    (peak,) = memory.peaks
    before = {row.owner: row.bytes for row in peak.owners}.get("before the recording", 0)
    uses = {row.level: row for row in memory.rows}
    yield Check(f"{name}: peak", peak.bytes, truth["allocated_peak"])
    yield Check(f"{name}: highest reserved", uses["torch_reserved_bytes"].peak_bytes, truth["reserved_peak"])
    yield Check(f"{name}: before the recording", before, truth["allocated_before"])
    yield from growth_checks(name, memory, truth)


def growth_checks(name: str, memory: Memory, truth: dict[str, Any]) -> Iterator[Check]:
    if truth["steps"] > 3:
        leak = next((row for row in memory.growing if LEAK in row.site), None)
        yield Check(
            f"{name}: leak per step", leak.per_step.value if leak else None, truth["leak_bytes_per_step"]
        )
        yield Check(f"{name}: places that grow", len(memory.growing), 1)


def checks(folder: Path) -> Iterator[Check]:
    """Every comparison."""
    truth = json.loads((folder / "truth.json").read_text())
    for name in ("python", "native"):
        yield from snapshot_checks(name, _memory(folder / f"{name}.pickle.gz"), truth[name])
    yield from trace_checks("trace", _memory(folder / "trace.json.gz"), truth["trace"])


def _memory(path: Path) -> Memory:
    return rocm_perf.analyze(path, whole=True).memory


def main() -> None:
    """Print every comparison, and fail if one is wrong."""
    made = list(checks(Path(sys.argv[1])))
    for check in made:
        print(f"{'ok   ' if check.is_right else 'WRONG'} {check.name}: {check.ours} (torch: {check.torch})")
    sys.exit(0 if all(check.is_right for check in made) else 1)


if __name__ == "__main__":
    main()

"""Captured states with other sizes: an integer among the arguments is an odd number of about half. A kernel that was
written for the captured sizes alone is wrong on all others. The launch stays as it was, so that not every size makes
sense to the original: one on which it fails, or gives another result each time, proves nothing."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rocm_perf.optimize.proof.parameters import Integer, integers
from rocm_perf.optimize.proof.reference import reference
from rocm_perf.optimize.proof.slack import KIND as SLACK
from rocm_perf.optimize.proof.states import CANDIDATE_FAILS, State
from rocm_perf.replay.json_files import number
from rocm_perf.replay.snapshot import KERNARG
from rocm_perf.replay.verify import Examined

_LEAST = 8  # a smaller number is rarely a size
_ORIGINAL = "original"
_RUNS = 2  # of the original besides the first: threads that write to one place give another result soon


@dataclass(frozen=True)
class OtherSize:
    """One captured state, with one of its integers made smaller."""

    state: State
    integer: Integer

    @property
    def value(self) -> int:
        """An odd number: what was a multiple of two, four or the like is none any more."""
        half = self.integer.value // 2
        return half - 1 + half % 2

    @property
    def name(self) -> str:
        integer = self.integer
        return f"{self.state.name}, argument {integer.number} is {self.value} instead of {integer.value}"

    @cached_property
    def examined(self) -> Examined | str:
        """What new code is judged by, found out once; or why this size proves nothing."""
        folder = self.state.replayer.work / f"size-{secrets.token_hex(8)}"
        folder.mkdir()
        try:
            examined = reference(self.state, dict(self._files(folder)), folder)
            return _fault(examined, self.state) or examined
        except CANDIDATE_FAILS as error:
            return f"the original fails: {error.what}"

    def _files(self, folder: Path) -> Iterator[tuple[str, Path]]:
        """The arguments with the smaller number in them, also where they lie in memory that was captured."""
        replayer, (offset, size) = self.state.replayer, self.integer.place
        less = self.value.to_bytes(size, "little")
        yield KERNARG, _changed(replayer.files[KERNARG], folder / KERNARG, offset, less)
        address = self.state.snapshot.dispatch.kernarg.address
        if address is None:
            return
        for region in self.state.snapshot.saved:
            at = number(address) + offset - region.base
            if 0 <= at <= region.size - size:
                path = folder / f"region_{region.base:x}.bin"
                yield region.before, _changed(replayer.files[region.before], path, at, less)


def _fault(examined: Examined, state: State) -> str:
    """Why a size proves nothing; empty where it proves something."""
    regions = examined.trial.replayer.snapshot.regions
    if any(region.changed for region in regions if region.kind == SLACK):
        return "the original writes outside of allocations"
    if not any(region.changed for region in regions):
        return "the original changes nothing"
    runs = (examined.judged(state.code(None, _ORIGINAL)) for _ in range(_RUNS))
    is_steady = all(judgement.verdict != "different" for judgement in runs)
    return "" if is_steady else "the original gives another result each time"


def _changed(file: Path, copy: Path, offset: int, data: bytes) -> Path:
    """A copy of the file, with other bytes at a place."""
    shutil.copyfile(file, copy)
    with copy.open("r+b") as opened:
        opened.seek(offset)
        opened.write(data)
    return copy


def other_sizes(states: Iterable[State], types: Sequence[str]) -> Iterator[OtherSize]:
    """Every integer of every state that may be a size; one that has the same value in two states is changed in one."""
    seen: set[tuple[int, int]] = set()
    for state in states:
        for integer in integers(state.replayer, types):
            key = (integer.number, integer.value)
            if integer.value >= _LEAST and key not in seen:
                seen.add(key)
                yield OtherSize(state, integer)

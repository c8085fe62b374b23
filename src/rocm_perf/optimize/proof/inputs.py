"""Captured states with other inputs: memory behind the arguments gets other values, and the original, in a process of
its own, says what the right result is."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocm_perf.optimize.proof import values
from rocm_perf.optimize.proof.parameters import Buffer, buffers
from rocm_perf.optimize.proof.reference import reference
from rocm_perf.optimize.proof.sizes import other_sizes
from rocm_perf.optimize.proof.slack import KIND as SLACK
from rocm_perf.optimize.proof.states import CANDIDATE_FAILS, State, States
from rocm_perf.optimize.proof.values import Array, Change
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.verify import Examined
from rocm_perf.replay.writes import written_blocks

_AGAIN = "again"  # the label of the original in its second replay
_TELLS = 0.5  # of the share of finite numbers other than zero among the captured results


@dataclass(frozen=True)
class FreshState:
    """A captured state with other inputs."""

    contents: Mapping[int, Path]  # of regions, by their base
    examined: Examined  # by what the original made of them
    fault: str = ""  # why it proves little; empty: it proves something


@dataclass(frozen=True)
class StateInputs:
    """What can be changed of one state."""

    state: State
    buffers: tuple[Buffer, ...]
    left_alone: str = ""  # what cannot be changed, and why

    @contextmanager
    def made(self, change: Change, seed: int) -> Iterator[FreshState]:
        """The state with inputs that nobody has seen before; its files go at the end."""
        folder = self.state.replayer.work / f"fresh-{secrets.token_hex(8)}"
        folder.mkdir()
        try:
            contents = write_changed(self.state.replayer, self.buffers, folder, change, seed)
            yield self._judged(contents, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _judged(self, contents: Mapping[int, Path], folder: Path) -> FreshState:
        saved = self.state.snapshot.saved
        files = {region.before: contents[region.base] for region in saved if region.base in contents}
        examined = reference(self.state, files, folder)
        fault = _fault(self.state.replayer, examined.trial.replayer, self.buffers)
        return FreshState(contents, examined, fault)


class FreshInputs:
    """Other inputs for all states. `types` are those of the source's parameters, where the symbol does not hold any."""

    def __init__(self, states: States, types: Sequence[str] = ()) -> None:
        self.states = tuple(changeable(state, types) for state in states)
        self.sizes = tuple(other_sizes(states, types))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left alone, and why."""
        return tuple(f"{one.state.name}: {one.left_alone}" for one in self.states if one.left_alone)


def changeable(state: State, types: Sequence[str]) -> StateInputs:
    """What can be changed. Integers may be indices or offsets: others are taken only where the original runs well on
    them."""
    known = buffers(state.replayer, types)
    if not known:
        return StateInputs(state, (), "its arguments point to nothing whose type is known to be a number")
    reals = tuple(buffer for buffer in known if buffer.is_float)
    if len(reals) == len(known) or _runs_well(state, known):
        return StateInputs(state, known)
    if reals and _runs_well(state, reals):
        return StateInputs(
            state, reals, "integers stay, because the original fails on others, or does not agree with itself"
        )
    return StateInputs(state, (), "the original fails on other inputs")


def _runs_well(state: State, some: tuple[Buffer, ...]) -> bool:
    """Whether the original ends well on other values, writes nowhere outside of allocations, and gives the same result
    when it is asked again: where several work-items write to one place, it may not."""
    try:
        with StateInputs(state, some).made("drawn", seed=0) as fresh:
            regions = fresh.examined.trial.replayer.snapshot.regions
            if any(region.changed for region in regions if region.kind == SLACK):
                return False
            return fresh.examined.judged(state.code(None, _AGAIN)).verdict != "different"
    except CANDIDATE_FAILS:
        return False


def write_changed(
    replayer: Replayer, some: Sequence[Buffer], folder: Path, change: Change, seed: int
) -> dict[int, Path]:
    """Files of the regions that the buffers lie in, with other values in these; returns them by the regions' bases."""
    source = np.random.default_rng(seed)
    contents: dict[int, Path] = {}
    for region in {buffer.span.region.base: buffer.span.region for buffer in some}.values():
        data = np.fromfile(replayer.files[region.before], np.uint8, region.size)
        for buffer in (one for one in some if one.span.region.base == region.base):
            part = slice(buffer.span.offset, buffer.span.end)
            data[part] = values.changed(data[part].copy(), buffer.element, change, source)
        contents[region.base] = folder / f"region_{region.base:x}.bin"
        data.tofile(contents[region.base])
    return contents


def _fault(captured: Replayer, fresh: Replayer, some: Sequence[Buffer]) -> str:
    """Why inputs prove little: they are as captured, or the original changes nothing on them, or leaves NaN, infinity
    or zeros where it left numbers before. Anything could look right there."""
    if not any(_differs(region, captured, fresh) for region in captured.snapshot.saved):
        return "they are the same in any order"
    if not fresh.snapshot.changed:
        return "the original changes nothing on them"
    outputs = [buffer for buffer in some if buffer.is_float and is_written(fresh, buffer)]
    if not outputs:
        return ""
    before, now = (_telling_share(replayer, outputs) for replayer in (captured, fresh))
    return "" if now >= _TELLS * before else "the original's result on them is mostly zero or not a number"


def _differs(region: Region, one: Replayer, other: Replayer) -> bool:
    before, after = one.files[region.before], other.files[region.before]
    return before != after and bool(written_blocks(region, before, after))


def is_written(replayer: Replayer, buffer: Buffer) -> bool:
    """Whether the kernel changed something in a buffer."""
    changed = _region(replayer, buffer.span.region.base).changed
    return any(offset < buffer.span.end and buffer.span.offset < offset + size for offset, size in changed)


def _telling_share(replayer: Replayer, outputs: Sequence[Buffer]) -> float:
    """The share of finite numbers other than zero in what the kernel wrote."""
    arrays = [values.floats(result_in(replayer, buffer), buffer.element) for buffer in outputs]
    telling = sum(int(np.count_nonzero(np.isfinite(array) & (array != 0))) for array in arrays)
    return telling / max(sum(array.size for array in arrays), 1)


def result_in(replayer: Replayer, buffer: Buffer) -> Array:
    """The bytes of a buffer after the kernel."""
    region = _region(replayer, buffer.span.region.base)
    data = np.fromfile(replayer.files[region.before], np.uint8, region.size)
    for offset, size in region.changed:
        data[offset : offset + size] = np.fromfile(
            replayer.files[region.after], np.uint8, size, offset=offset
        )
    part: Array = data[buffer.span.offset : buffer.span.end].copy()
    return part


def _region(replayer: Replayer, base: int) -> Region:
    return next(region for region in replayer.snapshot.regions if region.base == base)

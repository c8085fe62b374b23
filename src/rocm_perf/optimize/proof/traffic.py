"""What any right kernel must move on a state, shown by replays of the original: results that it writes over random
memory, and inputs of which every element that was tried changes the result."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rocm_perf.model.results.replay import Verification
from rocm_perf.optimize.proof import values
from rocm_perf.optimize.proof.inputs import FreshInputs, StateInputs, is_written
from rocm_perf.optimize.proof.parameters import Buffer
from rocm_perf.optimize.proof.states import CANDIDATE_FAILS, State
from rocm_perf.optimize.proof.values import Array
from rocm_perf.replay.differences import mismatches
from rocm_perf.replay.plan import Options

_TRIED = 8  # elements of an input
_CHANCE = 1e-3  # that all that were tried matter although a smaller share than this does
READ_SHARE = _CHANCE ** (
    1 / _TRIED
)  # where a share s matters, n elements all matter with a probability of s^n
_SMALLEST = 1 << 20  # bytes of an input that is worth eight replays


@dataclass(frozen=True)
class MustMove:
    """What any right kernel moves on one state, at least; and computes, as far as somebody said."""

    read_bytes: int
    written_bytes: int
    flops: float = 0.0


def traffic(inputs: FreshInputs, seed: int = 0) -> tuple[MustMove, ...]:
    """What must be moved on each state. Inputs are looked at on the largest one alone: that takes many replays."""
    largest = max(inputs.states, key=lambda one: one.state.snapshot.manifest.raw_bytes)
    source = random.Random(seed)
    return tuple(
        MustMove(_read(one, source) if one is largest else 0, _written(one, seed)) for one in inputs.states
    )


def _written(inputs: StateInputs, seed: int) -> int:
    """Bytes that the original changes where there were random ones before."""
    if not inputs.buffers:
        return 0
    try:
        with inputs.made("drawn", seed) as fresh:
            replayer = fresh.examined.trial.replayer
            return sum(
                _differing(replayer.files[region.before], replayer.files[region.after], *span)
                for region in replayer.snapshot.changed
                for span in region.changed
            )
    except CANDIDATE_FAILS:
        return 0


def _differing(before: Path, after: Path, offset: int, size: int) -> int:
    one, other = (np.fromfile(path, np.uint8, size, offset=offset) for path in (before, after))
    return int(np.count_nonzero(one != other))


def _read(inputs: StateInputs, source: random.Random) -> int:
    """Bytes of the largest input that is only read, if they matter."""
    state = inputs.state
    read = [one for one in inputs.buffers if not is_written(state.replayer, one)]
    largest = max(read, key=lambda buffer: buffer.span.length, default=None)
    if largest is None or largest.span.length < _SMALLEST or not _matters(state, largest, source):
        return 0
    return int(READ_SHARE * largest.span.length)


def _matters(state: State, buffer: Buffer, source: random.Random) -> bool:
    """Whether every element that is tried changes the result."""
    region = buffer.span.region
    own = state.replayer.work / "one-other-element.bin"
    count = buffer.span.length // buffer.element_bytes
    try:
        for _ in range(_TRIED):
            data = np.fromfile(state.replayer.files[region.before], np.uint8, region.size)
            part = data[buffer.span.offset : buffer.span.end]
            part[: count * buffer.element_bytes] = with_another(part, buffer, source.randrange(count))
            data.tofile(own)
            if not _changes_result(state, {region.base: own}):
                return False
        return True
    except CANDIDATE_FAILS:
        return False
    finally:
        own.unlink(missing_ok=True)


def with_another(data: Array, buffer: Buffer, place: int) -> Array:
    """The bytes of a buffer with another value in one place: the far end of the range that the values have."""
    whole = values.floats(data, buffer.element).copy()
    finite = whole[np.isfinite(whole)]
    low, high = (finite.min(), finite.max()) if finite.size else (0, 1)
    old, least, most = float(whole[place]), float(low), float(high)
    if least == most:
        whole[place] = high + 1
    else:
        whole[place] = low if old - least > most - old else high
    bits = values.as_bf16(whole) if buffer.element == "bf16" else whole
    return bits.view(np.uint8)


def _changes_result(state: State, contents: dict[int, Path]) -> bool:
    examined = state.examined
    if isinstance(examined, Verification):
        return False
    pieces = [piece for piece in examined.trial.outputs if piece.region.base not in contents]
    regions = tuple({piece.region.base: piece.region for piece in pieces}.values())
    state.replayer.run(Options(swap=contents, dumps=regions))
    return bool(mismatches(pieces, state.replayer.files, state.replayer.work))

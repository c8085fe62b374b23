"""One way to replay a snapshot and to judge what comes out: against the application's own result, and by controls that
must not give it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf.model.results.replay import Control, ControlOutcome, Judgement, Sameness, Three
from rocm_perf.replay.differences import (
    Mismatch,
    Piece,
    described,
    expected_file,
    is_close,
    mismatch,
    mismatches,
    pieces,
)
from rocm_perf.replay.errors import KernelFailedError, ReplayTimeoutError
from rocm_perf.replay.overwritten import Stretches
from rocm_perf.replay.plan import Code, Options, Poison, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.run import Answer
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.tolerance import Tolerance

_LISTED = 10  # differences


@dataclass(frozen=True)
class Rule:
    """What counts as the same: bit for bit, but for pieces where a tolerance may help."""

    tolerances: tuple[Tolerance, ...] = ()
    unsteady: frozenset[Piece] | None = frozenset()  # where they apply; None: to all that the kernel writes

    def helps(self, piece: Piece) -> bool:
        return piece.is_output and (self.unsteady is None or piece in self.unsteady)


@dataclass(frozen=True)
class Trial:
    """Every replay of it begins with the same memory: as captured, with the overwritten stretches spoilt."""

    replayer: Replayer
    pieces: tuple[Piece, ...]  # all saved memory
    start: Options

    @staticmethod
    def of(replayer: Replayer, spoilt: Stretches) -> Trial:
        saved = replayer.snapshot.saved
        found = tuple(piece for region in saved for piece in pieces(region, spoilt.get(region.base, ())))
        spots = [_spot(piece, replayer.files) for piece in found if piece.fate == "overwritten"]
        return Trial(replayer, found, Options(dumps=saved, poison=tuple(spots)))

    @property
    def outputs(self) -> tuple[Piece, ...]:
        return tuple(piece for piece in self.pieces if piece.is_output)

    @property
    def spoilt_bytes(self) -> int:
        return sum(spot.size for spot in self.start.poison)

    def run(self, code: Code | None = None) -> Answer:
        return self.replayer.run(replace(self.start, codes=(code,) if code else ()))

    def mismatches(self, dumps: Path) -> list[Mismatch]:
        return mismatches(self.pieces, self.replayer.files, dumps)

    def unsteady(self, dumps: Path) -> frozenset[Piece]:
        """Where another replay gives other bytes than the one that left the dumps."""
        self.run()
        pairs = (
            (piece, dump_path(dumps, piece.region), dump_path(self.replayer.work, piece.region))
            for piece in self.pieces
        )
        return frozenset(piece for piece, one, other in pairs if mismatch(piece, one, other))

    def judge(self, code: str, rule: Rule, dumps: Path) -> Judgement:
        """The dumps of a run against the state that the application's kernel left."""
        found = self.mismatches(dumps)
        wrong, used = _sifted(found, self.replayer.files, dumps, rule)
        verdict: Sameness = "different" if wrong else "same within tolerance" if found else "same"
        return Judgement(
            code=code,
            verdict=verdict,
            compared_bytes=sum(piece.length for piece in self.pieces),
            differing_bytes=sum(one.count for one in found),
            tolerance="; ".join(dict.fromkeys(map(str, used))),
            differences=tuple(described(one, self.replayer.files, dumps) for one in wrong[:_LISTED]),
        )

    def controls(self, rule: Rule) -> tuple[Control, ...]:
        """Replays that must not give the result, under the same rule."""
        written = tuple(dict.fromkeys(piece.region for piece in self.outputs))
        quiet = replace(self.start, launch=False, dumps=written, poison=())
        poisoned = replace(quiet, poison=self._poison())
        found = []
        if any(piece.fate == "changed" for piece in self.pieces):
            found.append(self._control(rule, "kernel not launched", quiet))
        if poisoned.poison:
            found.append(self._control(rule, "outputs poisoned, kernel not launched", poisoned))
        return (*found, self._half_of_the_grid(rule, written))

    def _half_of_the_grid(self, rule: Rule, written: tuple[Region, ...]) -> Control:
        name, dispatch = "half of the grid", self.replayer.snapshot.dispatch
        fewer = truncated(dispatch.grid, dispatch.workgroup)
        if fewer is None:
            words = "the kernel has one workgroup, which cannot be halved"
            return Control(name=name, outcome="inconclusive", words=words)
        return self._control(rule, name, replace(self.start, grid=fewer, dumps=written), may_pass=True)

    def _control(self, rule: Rule, name: str, options: Options, *, may_pass: bool = False) -> Control:
        files, work = self.replayer.files, self.replayer.work
        try:
            self.replayer.run(options)
        except (KernelFailedError, ReplayTimeoutError) as error:
            if not may_pass:
                raise
            words = f"it did not end well: {error.what}"
            return Control(name=name, outcome="failed as it must", words=words)
        dumped = [piece for piece in self.pieces if piece.region in options.dumps]
        wrong, _ = _sifted(mismatches(dumped, files, work), files, work, rule)
        if wrong:
            words = f"{sum(one.count for one in wrong):,} bytes differ from the application's result"
            return Control(name=name, outcome="failed as it must", words=words)
        outcome: ControlOutcome = "inconclusive" if may_pass else "passed"
        why = "the kernel adapts to its grid, or its second half has nothing to do"
        words = f"the result is the same: {why}" if may_pass else "the result is the same, which must not be"
        return Control(name=name, outcome=outcome, words=words)

    def _poison(self) -> tuple[Poison, ...]:
        outputs = [piece for piece in self.outputs if not piece.region.is_global]
        return tuple(_spot(piece, self.replayer.files) for piece in outputs)


def truncated(grid: Three, workgroup: Three) -> Three | None:
    """Half of the workgroups along the axis that has the most; None where there is only one."""
    counts = [math.ceil(size / group) for size, group in zip(grid, workgroup, strict=True)]
    axis = counts.index(max(counts))
    if counts[axis] < 2:
        return None
    x, y, z = (
        counts[place] // 2 * workgroup[place] if place == axis else grid[place]
        for place in range(len(counts))
    )
    return (x, y, z)


def _sifted(
    found: Sequence[Mismatch], files: Mapping[str, Path], dumps: Path, rule: Rule
) -> tuple[list[Mismatch], list[Tolerance]]:
    """What no tolerance excuses, and the tolerances that excused the rest."""
    wrong: list[Mismatch] = []
    used: list[Tolerance] = []
    for one in found:
        candidates = rule.tolerances if rule.helps(one.piece) else ()
        fitting = next((each for each in candidates if is_close(one, files, dumps, each)), None)
        if fitting is None:
            wrong.append(one)
        else:
            used.append(fitting)
    return wrong, used


def _spot(piece: Piece, files: Mapping[str, Path]) -> Poison:
    """Filled with a byte that the expected result does not begin with."""
    with expected_file(piece, files).open("rb") as file:
        file.seek(piece.offset)
        byte = file.read(1)[0] ^ 0xFF
    return Poison(piece.address, piece.length, byte)

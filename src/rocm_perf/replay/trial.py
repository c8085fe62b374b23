"""One way to replay a snapshot and to judge what comes out: against the application's own result, and by controls that
must not give it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf.model.results.replay import Control, ControlOutcome, Judgement, Sameness, Three
from rocm_perf.replay import reading
from rocm_perf.replay.differences import (
    Mismatch,
    Piece,
    described,
    differing_blocks,
    expected_file,
    is_close,
    joined,
    mismatches,
    pieces,
    read_at,
)
from rocm_perf.replay.errors import KernelFailedError, ReplayTimeoutError
from rocm_perf.replay.overwritten import Stretches
from rocm_perf.replay.plan import Code, Options, Poison, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.run import Answer
from rocm_perf.replay.snapshot import Region
from rocm_perf.replay.tolerance import Tolerance

_LISTED = 10  # differences
_MOST_REPEATS = 5
# Bytes to spoil memory with: of the first, every floating-point type makes NaN, which no tolerance excuses.
_SPOILING = (0xFF, 0x5A, 0xA5)
_RARE = 16  # a byte that less than one in so many is, spoils enough


@dataclass(frozen=True)
class Rule:
    """What counts as the same: bit for bit, but for pieces where a tolerance may help."""

    tolerances: tuple[Tolerance, ...] = ()
    unsteady: frozenset[int] | None = frozenset()  # addresses of pieces where they apply; None: all outputs

    def helps(self, piece: Piece) -> bool:
        return piece.is_output and (self.unsteady is None or piece.address in self.unsteady)


@dataclass(frozen=True)
class Outcome:
    """What a replay left in memory, against the application's own result."""

    mismatches: tuple[Mismatch, ...]
    compared_bytes: int
    files: Mapping[str, Path]
    dumps: Path

    def sifted(self, rule: Rule) -> tuple[list[Mismatch], list[Tolerance]]:
        """What no tolerance excuses, and the tolerances that excused the rest."""
        wrong: list[Mismatch] = []
        used: list[Tolerance] = []
        for one in self.mismatches:
            candidates = rule.tolerances if rule.helps(one.piece) else ()
            fitting = next((each for each in candidates if is_close(one, self.files, self.dumps, each)), None)
            if fitting is None:
                wrong.append(one)
            else:
                used.append(fitting)
        return wrong, used

    def judgement(self, code: str, rule: Rule) -> Judgement:
        """The replay of a code object by a rule."""
        wrong, used = self.sifted(rule)
        verdict: Sameness = "different" if wrong else "same within tolerance" if self.mismatches else "same"
        return Judgement(
            code=code,
            verdict=verdict,
            compared_bytes=self.compared_bytes,
            differing_bytes=sum(one.count for one in self.mismatches),
            tolerance="; ".join(dict.fromkeys(map(str, used))),
            differences=tuple(described(one, self.files, self.dumps) for one in joined(wrong)[:_LISTED]),
        )

    def excusable(self, tolerances: tuple[Tolerance, ...]) -> frozenset[int]:
        """Where it differs, by address, if a tolerance could excuse all of that; else nothing."""
        wrong, _ = self.sifted(Rule(tolerances, None))
        return frozenset() if wrong else frozenset(one.piece.address for one in self.mismatches)


@dataclass(frozen=True)
class Trial:
    """Every replay of it begins with the same memory: as captured, with the overwritten stretches spoilt."""

    replayer: Replayer
    pieces: tuple[Piece, ...]  # all saved memory
    start: Options

    @staticmethod
    def of(replayer: Replayer, spoilt: Stretches) -> Trial:
        """The trial whose replays begin with these stretches spoilt."""
        saved = replayer.snapshot.saved
        whole = tuple(piece for region in saved for piece in pieces(region, spoilt.get(region.base, ())))
        poison = poison_of((piece for piece in whole if piece.fate == "overwritten"), replayer.files)
        return Trial(replayer, whole, Options(dumps=saved, poison=poison))

    @property
    def outputs(self) -> tuple[Piece, ...]:
        return tuple(piece for piece in self.pieces if piece.is_output)

    @property
    def spoilt_bytes(self) -> int:
        return sum(spot.size for spot in self.start.poison)

    def run(self, code: Code | None = None) -> Answer:
        return self.replayer.run(replace(self.start, codes=(code,) if code else ()))

    def outcome(self, dumps: Path) -> Outcome:
        return self._outcome(self.pieces, dumps)

    def unsteady(self, doubtful: Collection[int], dumps: Path | None = None) -> frozenset[int]:
        """Where replays of the captured code give other bytes than the one that left the dumps, or than the
        application's kernel. They are repeated while they agree on a doubtful piece: a value that comes out in one of
        two ways is the same twice in half of all cases."""
        unsteady: set[int] = set()
        for _ in range(_MOST_REPEATS):
            self.run()
            unsteady.update(piece.address for piece in self.pieces if self._differs(piece, dumps))
            if unsteady.issuperset(doubtful):
                break
        return frozenset(unsteady)

    def _differs(self, piece: Piece, dumps: Path | None) -> bool:
        wanted = (
            expected_file(piece, self.replayer.files) if dumps is None else dump_path(dumps, piece.region)
        )
        got = dump_path(self.replayer.work, piece.region)
        return next(differing_blocks(piece, wanted, got), None) is not None

    def controls(self, rule: Rule) -> tuple[Control, ...]:
        """Replays that must not give the result, under the same rule."""
        written = tuple({piece.region.base: piece.region for piece in self.outputs}.values())
        quiet = replace(self.start, launch=False, dumps=written, poison=())
        own = (piece for piece in self.outputs if not piece.region.is_global)
        poisoned = replace(quiet, poison=poison_of(own, self.replayer.files))
        controls = []
        if any(piece.fate == "changed" for piece in self.pieces):
            controls.append(self._control(rule, "kernel not launched", quiet))
        if poisoned.poison:
            controls.append(self._control(rule, "outputs poisoned, kernel not launched", poisoned))
        return (*controls, self._half_of_the_grid(rule, written))

    def _half_of_the_grid(self, rule: Rule, written: tuple[Region, ...]) -> Control:
        name, dispatch = "half of the grid", self.replayer.snapshot.dispatch
        fewer = truncated(dispatch.grid, dispatch.workgroup)
        if fewer is None:
            why = "the kernel has one workgroup, which cannot be halved"
            return Control(name=name, outcome="inconclusive", words=why)
        return self._control(rule, name, replace(self.start, grid=fewer, dumps=written), may_pass=True)

    def _control(self, rule: Rule, name: str, options: Options, *, may_pass: bool = False) -> Control:
        try:
            self.replayer.run(options)
        except (KernelFailedError, ReplayTimeoutError) as error:
            if not may_pass:
                raise
            why = f"it did not end well: {error.what}"
            return Control(name=name, outcome="failed as it must", words=why)
        dumped = {region.base for region in options.dumps}
        outcome = self._outcome(
            [piece for piece in self.pieces if piece.region.base in dumped], self.replayer.work
        )
        wrong, used = outcome.sifted(rule)
        count = sum(one.count for one in wrong)
        if wrong:
            excused = sum(one.count for one in outcome.mismatches) - count
            why = f"{count:,} bytes differ from {self.replayer.oracle}"
            why += f", and {excused:,} that the tolerance excuses" if excused else ""
            return Control(name=name, outcome="failed as it must", words=why)
        verdict: ControlOutcome = "inconclusive" if may_pass else "passed"
        return Control(name=name, outcome=verdict, words=_passed_text(may_pass, bool(used)))

    def _outcome(self, some: Collection[Piece], dumps: Path) -> Outcome:
        files = self.replayer.files
        return Outcome(
            mismatches=tuple(mismatches(some, files, dumps)),
            compared_bytes=sum(piece.length for piece in some),
            files=files,
            dumps=dumps,
        )


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


def _passed_text(may_pass: bool, by_tolerance: bool) -> str:
    if may_pass:
        why = "the kernel adapts to its grid, or its second half has nothing to do"
        return f"the result is the same{' within the tolerance' if by_tolerance else ''}: {why}"
    if by_tolerance:
        return "the tolerance is wider than what the kernel does: give a smaller one with --tolerance"
    return "the result is the same, which must not be"


def poison_of(some: Iterable[Piece], files: Mapping[str, Path]) -> tuple[Poison, ...]:
    """Each piece is filled with a byte that is rare in the expected result; neighbours with the same one at once."""
    spots: list[Poison] = []
    before: Piece | None = None
    for piece in some:
        byte = _spoiling(piece, files)
        if before and before.meets(piece) and spots[-1].byte == byte:
            spots[-1] = replace(spots[-1], size=spots[-1].size + piece.length)
        else:
            spots.append(Poison(piece.address, piece.length, byte))
        before = piece
    return tuple(spots)


def _spoiling(piece: Piece, files: Mapping[str, Path]) -> int:
    path = expected_file(piece, files)
    with reading.opened(path.parent, path.name) as handle:
        wanted = read_at(handle, piece.offset, piece.length, path)
    return min(_SPOILING, key=lambda byte: _RARE * wanted.count(byte) // len(wanted))

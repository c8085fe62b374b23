"""Does a replay give the application's own result, and would we notice if it did not? Every verification also runs
replays that must not give it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from rocm_perf.model.results.replay import (
    Control,
    ControlOutcome,
    Judgement,
    Sameness,
    Three,
    Verification,
)
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
from rocm_perf.replay.plan import CAPTURED, Code, Options, Poison, dump_path
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.tolerance import DEFAULT, Tolerance

_LISTED = 10  # differences
_NO_ORACLE = "the snapshot does not hold the state after the kernel: capture it again, with --outputs"
_NOTHING_CHANGED = "the kernel changed nothing, so that every replay would look right"


@dataclass(frozen=True)
class Rule:
    """What counts as the same: bit for bit, but for pieces where a tolerance may help."""

    tolerances: tuple[Tolerance, ...] = ()
    unsteady: frozenset[Piece] | None = frozenset()  # where they apply; None: to all that the kernel writes

    def helps(self, piece: Piece) -> bool:
        return piece.is_output and (self.unsteady is None or piece in self.unsteady)


def refused(snapshot: Snapshot) -> Verification | None:
    """The answer where nothing can be verified; None if something can."""
    if not snapshot.manifest.outputs:
        return _verification(snapshot, "cannot be verified", _NO_ORACLE)
    return None if snapshot.changed else _verification(snapshot, "cannot be verified", _NOTHING_CHANGED)


def verify(replayer: Replayer, given: tuple[Tolerance, ...] = (), new: Code | None = None) -> Verification:
    """Replay, compare, run the controls; then the new code object, if there is one. Ask `refused` first."""
    snapshot = replayer.snapshot
    answer = replayer.run(Options(dumps=snapshot.saved))
    dumps = replayer.keep_dumps("first")
    rule, deterministic = _rule(replayer, dumps, given)
    captured = judge(replayer, CAPTURED, rule, dumps)
    shutil.rmtree(dumps)
    controls = run_controls(replayer, rule)
    judged_new = None
    if new is not None:
        replayer.run(Options(dumps=snapshot.saved, codes=(new,)))
        judged_new = judge(replayer, new.label, Rule(given, None) if given else rule, replayer.work)
    verdict, reason = _verdict(captured, judged_new, controls)
    if captured.verdict == "different":
        reason += _moved(snapshot, {one.name: one.address for one in answer.variables})
    return msgspec.structs.replace(
        _verification(snapshot, verdict, reason),
        device=answer.device_words,
        deterministic=deterministic,
        captured=captured,
        new=judged_new,
        controls=controls,
    )


def _rule(replayer: Replayer, dumps: Path, given: tuple[Tolerance, ...]) -> tuple[Rule, bool | None]:
    """Bit for bit where the first replay is so; else a second one shows where the kernel is not deterministic."""
    some = _all_pieces(replayer.snapshot)
    if not mismatches(some, replayer.files, dumps):
        return Rule(), None
    replayer.run(Options(dumps=replayer.snapshot.saved))
    pairs = (
        (piece, dump_path(dumps, piece.region), dump_path(replayer.work, piece.region)) for piece in some
    )
    unsteady = frozenset(piece for piece, one, other in pairs if mismatch(piece, one, other))
    return Rule(given or DEFAULT, unsteady), not unsteady


def judge(replayer: Replayer, code: str, rule: Rule, dumps: Path) -> Judgement:
    """The dumps of a run against the state that the application's kernel left."""
    some = _all_pieces(replayer.snapshot)
    found = mismatches(some, replayer.files, dumps)
    wrong, used = _sifted(found, replayer.files, dumps, rule)
    verdict: Sameness = "different" if wrong else "same within tolerance" if found else "same"
    return Judgement(
        code=code,
        verdict=verdict,
        compared_bytes=sum(piece.length for piece in some),
        differing_bytes=sum(one.count for one in found),
        tolerance="; ".join(dict.fromkeys(map(str, used))),
        differences=tuple(described(one, replayer.files, dumps) for one in wrong[:_LISTED]),
    )


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


def run_controls(replayer: Replayer, rule: Rule) -> tuple[Control, ...]:
    """Replays that must not give the result, under the same rule."""
    snapshot = replayer.snapshot
    quiet = Options(launch=False, dumps=snapshot.changed)
    poisoned = replace(quiet, poison=_poison(replayer))
    controls = [_control(replayer, rule, "kernel not launched", quiet)]
    if poisoned.poison:
        controls.append(_control(replayer, rule, "outputs poisoned, kernel not launched", poisoned))
    fewer = truncated(snapshot.dispatch.grid, snapshot.dispatch.workgroup)
    if fewer is None:
        words = "the kernel has one workgroup, which cannot be halved"
        controls.append(Control(name="half of the grid", outcome="inconclusive", words=words))
    else:
        cut = Options(grid=fewer, dumps=snapshot.changed)
        controls.append(_control(replayer, rule, "half of the grid", cut, may_pass=True))
    return tuple(controls)


def _control(
    replayer: Replayer, rule: Rule, name: str, options: Options, *, may_pass: bool = False
) -> Control:
    try:
        replayer.run(options)
    except (KernelFailedError, ReplayTimeoutError) as error:
        if not may_pass:
            raise
        return Control(name=name, outcome="failed as it must", words=f"it did not end well: {error.what}")
    some = [piece for region in replayer.snapshot.changed for piece in pieces(region)]
    found = mismatches(some, replayer.files, replayer.work)
    wrong, _ = _sifted(found, replayer.files, replayer.work, rule)
    if wrong:
        words = f"{sum(one.count for one in wrong):,} bytes differ from the application's result"
        return Control(name=name, outcome="failed as it must", words=words)
    outcome: ControlOutcome = "inconclusive" if may_pass else "passed"
    words = "the result is the same: the kernel adapts to its grid, or its second half has nothing to do"
    return Control(
        name=name, outcome=outcome, words=words if may_pass else "the result is the same, which must not be"
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


def _poison(replayer: Replayer) -> tuple[Poison, ...]:
    """Fill what the kernel writes with a byte that its result does not begin with."""
    some = [piece for region in replayer.snapshot.changed if not region.is_global for piece in pieces(region)]
    spots = []
    for piece in some:
        if piece.is_output:
            with expected_file(piece, replayer.files).open("rb") as file:
                file.seek(piece.offset)
                byte = file.read(1)[0] ^ 0xFF
            spots.append(Poison(piece.region.base + piece.offset, piece.length, byte))
    return tuple(spots)


def _all_pieces(snapshot: Snapshot) -> list[Piece]:
    return [piece for region in snapshot.saved for piece in pieces(region)]


def _verdict(captured: Judgement, new: Judgement | None, controls: Sequence[Control]) -> tuple[Sameness, str]:
    passed = [control.name for control in controls if control.outcome == "passed"]
    if passed:
        return "cannot be verified", f"a control that must fail passed: {', '.join(passed)}"
    if captured.verdict == "different" and new is not None:
        return (
            "cannot be verified",
            "not even the captured code gives the application's result when it is replayed",
        )
    judged = captured if new is None else new
    whose = "the replay" if new is None else "the new code"
    if judged.verdict == "different":
        return "different", f"{whose} does not give the application's result"
    return judged.verdict, f"{whose} gives the application's result"


def _moved(snapshot: Snapshot, now: dict[str, str]) -> str:
    """A pointer to a variable of the code object misses it, if the loader has put it elsewhere."""
    moved = [
        region.name
        for region in snapshot.saved
        if region.is_global and region.name in now and int(now[region.name], 0) != region.base
    ]
    return f"; these variables lie elsewhere than when captured: {', '.join(moved)}" if moved else ""


def _verification(snapshot: Snapshot, verdict: Sameness, reason: str) -> Verification:
    return Verification(
        kernel=snapshot.dispatch.kernel,
        name=snapshot.dispatch.name,
        device="",
        verdict=verdict,
        reason=reason,
        deterministic=None,
        captured=None,
        new=None,
        controls=(),
    )

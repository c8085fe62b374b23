"""Does a replay give the application's own result, and would we notice if it did not? Every verification also runs
replays that must not give it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rocm_perf.model.results.replay import Control, Judgement, Sameness, Verification
from rocm_perf.replay.overwritten import overwritten
from rocm_perf.replay.plan import CAPTURED, Code
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.run import Answer
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.tolerance import DEFAULT, Tolerance
from rocm_perf.replay.trial import Rule, Trial

_NO_ORACLE = "the snapshot does not hold the state after the kernel: capture it again, with --outputs"
_NOTHING_CHANGED = (
    "the kernel changed nothing in the application, and nothing was found that it overwrites, so that every replay "
    "would look right: capture another dispatch"
)
_DEPENDS = (
    "the kernel changed nothing in the application, and its result depends on what it overwrites: capture another "
    "dispatch"
)


def refused(snapshot: Snapshot) -> Verification | None:
    """The answer where nothing can be verified; None if something may be."""
    return None if snapshot.manifest.outputs else _verification(snapshot, "cannot be verified", _NO_ORACLE)


def verify(replayer: Replayer, given: tuple[Tolerance, ...] = (), new: Code | None = None) -> Verification:
    """Replay, compare, run the controls; then the new code object, if there is one. Ask `refused` first.

    New code could leave out what was there already, so that is looked for and spoilt first.
    """
    snapshot = replayer.snapshot
    spoilt = overwritten(replayer) if new is not None or not snapshot.changed else {}
    trial = Trial.of(replayer, spoilt)
    if not trial.outputs:
        return _verification(snapshot, "cannot be verified", _NOTHING_CHANGED)
    answer, dumps = _first(trial)
    if spoilt and trial.mismatches(dumps):  # the kernel reads what it overwrites
        if not snapshot.changed:
            return _verification(snapshot, "cannot be verified", _DEPENDS)
        shutil.rmtree(dumps)
        trial = Trial.of(replayer, {})
        answer, dumps = _first(trial)
    rule, deterministic = _rule(trial, dumps, given)
    captured = trial.judge(CAPTURED, rule, dumps)
    shutil.rmtree(dumps)
    controls = trial.controls(rule)
    judged_new = None
    if new is not None:
        trial.run(new)
        judged_new = trial.judge(new.label, Rule(given, None) if given else rule, replayer.work)
    verdict, reason = _verdict(captured, judged_new, controls)
    if captured.verdict == "different":
        reason += _moved(snapshot, {one.name: one.address for one in answer.variables})
    return msgspec.structs.replace(
        _verification(snapshot, verdict, reason),
        device=answer.device_words,
        deterministic=deterministic,
        spoilt_bytes=trial.spoilt_bytes,
        captured=captured,
        new=judged_new,
        controls=controls,
    )


def _first(trial: Trial) -> tuple[Answer, Path]:
    return trial.run(), trial.replayer.keep_dumps("first")


def _rule(trial: Trial, dumps: Path, given: tuple[Tolerance, ...]) -> tuple[Rule, bool | None]:
    """Bit for bit where the first replay is so; else a second one shows where the kernel is not deterministic."""
    if not trial.mismatches(dumps):
        return Rule(), None
    unsteady = trial.unsteady(dumps)
    return Rule(given or DEFAULT, unsteady), not unsteady


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
        spoilt_bytes=0,
        captured=None,
        new=None,
        controls=(),
    )

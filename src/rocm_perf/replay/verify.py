"""Does a replay give the application's own result, and would we notice if it did not? Every verification also runs
replays that must not give it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from rocm_perf.model.results.replay import Control, Judgement, Sameness, Verification
from rocm_perf.replay.overwritten import overwritten
from rocm_perf.replay.plan import CAPTURED, Code
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.run import Answer
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.tolerance import DEFAULT, Tolerance
from rocm_perf.replay.trial import Outcome, Rule, Trial
from rocm_perf.units import format_bytes, format_count

_NO_ORACLE = "the snapshot does not hold the state after the kernel: capture it again, with --outputs"
_NOTHING_CHANGED = (
    "the kernel changed nothing in the application, and nothing was found that it overwrites, so that every replay "
    "would look right: capture another dispatch"
)
_DEPENDS = (
    "the kernel changed nothing in the application, and its result depends on what it overwrites, or is another one "
    "each time: capture another dispatch"
)
_NOT_EVEN = "not even the captured code gives {oracle} when it is replayed"
_BY_CHANCE = (
    "differs from {oracle} by no more than the tolerance, in places where all replays agree; elsewhere "
    "they do not, so that it may be chance: verify it again"
)
_ROUNDED = (
    ", but by rounding alone: its values differ by no more than {share} of their size, as those of sums in another "
    "order do; --tolerance {needed} allows that"
)
_UNSTEADY = "; the kernel is not deterministic: --tolerance TYPE=ABS,REL says how far values may be off"


@dataclass(frozen=True)
class _Finding:
    """How a replay was judged."""

    judgement: Judgement
    rule: Rule
    deterministic: bool | None
    by_chance: bool  # it differs, but by no more than the tolerance, and so do replays elsewhere


def refused(snapshot: Snapshot) -> Verification | None:
    """The answer where nothing can be verified; None if something may be."""
    return None if snapshot.manifest.outputs else _verification(snapshot, "cannot be verified", _NO_ORACLE)


@dataclass(frozen=True)
class Examined:
    """What replays of the captured code have shown: any number of new code objects can be judged by it."""

    trial: Trial
    given: tuple[Tolerance, ...]
    answer: Answer
    captured: _Finding
    _controls: dict[Rule, tuple[Control, ...]] = field(default_factory=dict, repr=False)

    def controls(self, rule: Rule) -> tuple[Control, ...]:
        """Replays that must not give the result; once for each rule."""
        if rule not in self._controls:
            self._controls[rule] = self.trial.controls(rule)
        return self._controls[rule]

    def judged(self, new: Code) -> Judgement:
        """The replay of new code, without controls."""
        return self._new_code(new).judgement

    def judged_dumps(self, label: str) -> Judgement:
        """What the last run of the replayer left in memory."""
        return self._finding(label, self.trial.replayer.keep_dumps("left")).judgement

    def _new_code(self, new: Code) -> _Finding:
        self.trial.run(new)
        return self._finding(new.label, self.trial.replayer.keep_dumps("new"))

    def _finding(self, label: str, dumps: Path) -> _Finding:
        """A given tolerance is for all that the kernel writes. Else new code is judged as the captured code was; if
        that may have been the same by luck, it is replayed again to see where it is not deterministic."""
        outcome, captured = self.trial.outcome(dumps), self.captured
        rule = Rule(self.given, None) if self.given else captured.rule
        finding = _finding(label, outcome, rule, captured.deterministic)
        if finding.judgement.verdict == "different" != captured.judgement.verdict and not self.given:
            known = captured.rule.unsteady or frozenset()
            doubtful = outcome.excusable(DEFAULT) - known
            if doubtful:
                unsteady = known | self.trial.unsteady(doubtful)
                finding = _finding(label, outcome, Rule(DEFAULT, unsteady), not unsteady)
                if not unsteady:
                    finding = _needing(finding, DEFAULT[0])
        shutil.rmtree(dumps)
        if finding.judgement.verdict == "same within tolerance":
            return finding
        return replace(finding, rule=captured.rule)  # its own has excused nothing

    def verdict(self, new: Code | None = None) -> Verification:
        """Of the captured code, or of new code."""
        last = self.captured if new is None else self._new_code(new)
        snapshot = self.trial.replayer.snapshot
        controls = self.controls(last.rule)
        verdict, reason = _verdict(
            self.captured, None if new is None else last, controls, self.trial.replayer.oracle
        )
        if verdict in ("same", "same within tolerance"):
            reason += _not_compared(snapshot)
        if self.captured.judgement.verdict == "different":
            reason += _moved(snapshot, {one.name: one.address for one in self.answer.variables})
        return msgspec.structs.replace(
            _verification(snapshot, verdict, reason),
            device=self.answer.device_text,
            deterministic=last.deterministic,
            spoilt_bytes=self.trial.spoilt_bytes,
            captured=self.captured.judgement,
            new=None if new is None else last.judgement,
            controls=controls,
        )


def verify(replayer: Replayer, given: tuple[Tolerance, ...] = (), new: Code | None = None) -> Verification:
    """Replay, compare, run the controls; then the new code object, if there is one. Ask `refused` first."""
    examined = examine(replayer, given, spoils=new is not None)
    return examined if isinstance(examined, Verification) else examined.verdict(new)


def examine(
    replayer: Replayer, given: tuple[Tolerance, ...] = (), *, spoils: bool
) -> Examined | Verification:
    """Replay the captured code and compare; the verdict itself where nothing can be verified.

    New code could leave out what was there already, so with `spoils` that is looked for and spoilt first.
    """
    snapshot = replayer.snapshot
    spoilt = overwritten(replayer) if spoils or not snapshot.changed else {}
    trial = Trial.of(replayer, spoilt)
    if not trial.outputs:
        return _verification(snapshot, "cannot be verified", _NOTHING_CHANGED)
    answer, captured = _captured(trial, given)
    if spoilt and captured.judgement.verdict == "different" and not captured.by_chance:
        # The kernel reads what it overwrites.
        if not snapshot.changed:
            return _verification(snapshot, "cannot be verified", _DEPENDS)
        trial = Trial.of(replayer, {})
        answer, captured = _captured(trial, given)
    return Examined(trial=trial, given=given, answer=answer, captured=captured)


def defined(replayer: Replayer, given: tuple[Tolerance, ...], answer: Answer) -> Examined:
    """What to judge new code by where the captured code's own replay defines the right result."""
    trial = Trial.of(replayer, {})
    same = Outcome(mismatches=(), compared_bytes=0, files=replayer.files, dumps=replayer.work)
    captured = _finding(CAPTURED, same, Rule(), None)
    return Examined(trial=trial, given=given, answer=answer, captured=captured)


def _captured(trial: Trial, given: tuple[Tolerance, ...]) -> tuple[Answer, _Finding]:
    """The replay of the captured code, bit for bit where the first one is so; else more of them show where the kernel
    is not deterministic."""
    answer = trial.run()
    dumps = trial.replayer.keep_dumps("first")
    outcome = trial.outcome(dumps)
    if outcome.mismatches:
        doubtful = [one.piece.address for one in outcome.mismatches if one.piece.is_output]
        unsteady = trial.unsteady(doubtful, dumps)
        finding = _finding(CAPTURED, outcome, Rule(given or DEFAULT, unsteady), not unsteady)
    else:
        finding = _finding(CAPTURED, outcome, Rule(), None)
    shutil.rmtree(dumps)
    return answer, finding


def _finding(code: str, outcome: Outcome, rule: Rule, deterministic: bool | None) -> _Finding:
    judgement = outcome.judgement(code, rule)
    is_close = bool(rule.unsteady) and bool(outcome.excusable(rule.tolerances))
    return _Finding(
        judgement=judgement,
        rule=rule,
        deterministic=deterministic,
        by_chance=judgement.verdict == "different" and is_close,
    )


def _needing(finding: _Finding, tolerance: Tolerance) -> _Finding:
    """The finding that says which tolerance would do."""
    return replace(finding, judgement=msgspec.structs.replace(finding.judgement, needed=tolerance.option))


def _verdict(
    captured: _Finding, new: _Finding | None, controls: Sequence[Control], oracle: str
) -> tuple[Sameness, str]:
    by_chance = _BY_CHANCE.format(oracle=oracle)
    passed = [f"{control.name} ({control.words})" for control in controls if control.outcome == "passed"]
    if passed:
        return "cannot be verified", f"a control that must fail passed: {'; '.join(passed)}"
    if captured.by_chance:
        return "cannot be verified", f"the replay {by_chance}"
    if captured.judgement.verdict == "different" and new is not None:
        return "cannot be verified", _NOT_EVEN.format(oracle=oracle)
    last = captured if new is None else new
    whose = "the replay" if new is None else "the new code"
    if last.by_chance:
        return "cannot be verified", f"{whose} {by_chance}, or give a --tolerance for all that it writes"
    if last.judgement.verdict == "different":
        hint = _UNSTEADY if last.deterministic is False else _rounded(last.judgement)
        return "different", f"{whose} does not give {oracle}{hint}"
    return last.judgement.verdict, f"{whose} gives {oracle}"


def _rounded(judgement: Judgement) -> str:
    if not judgement.needed:
        return ""
    return _ROUNDED.format(share=f"{DEFAULT[0].relative:g}", needed=judgement.needed)


def _not_compared(snapshot: Snapshot) -> str:
    """What to add to a verdict where memory is not in the snapshot: nobody knows what the kernel did there."""
    left_out = [region.size for region in snapshot.regions if not region.saved]
    if not left_out:
        return ""
    size, what = format_bytes(sum(left_out)), format_count(len(left_out), "region")
    return f"; not compared, because not saved: {what} of {size}"


def _moved(snapshot: Snapshot, now: dict[str, str]) -> str:
    """What to add to a verdict where variables lie elsewhere now: a pointer to one misses it."""
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

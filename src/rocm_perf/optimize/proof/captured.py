"""The gate `captured`: the application's own result, bit for bit, on every captured state, with controls that must
fail."""

from __future__ import annotations

from rocm_perf.errors import NotSupportedError
from rocm_perf.model.results.replay import Control, Difference, Judgement, Sameness, Verification
from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.proof.states import CANDIDATE_FAILS, State, States, Variant
from rocm_perf.replay.plan import Code
from rocm_perf.units import format_apart, format_bytes, format_count

_LABEL = "candidate"
_SAME: tuple[Sameness, ...] = ("same", "same within tolerance")


def judging_states(states: States) -> States:
    """The states that candidates can be judged by: those on which the original gives the application's own result, and
    on which controls fail as they must. Raises why there is none."""
    judged = [(state, _verification(state, None)) for state in states]
    sound = tuple(state for state, verification in judged if verification.verdict in _SAME)
    notes = [f"{state.name} is left out: {_reason(one)}" for state, one in judged if one.verdict not in _SAME]
    if not sound:
        what = f"no change of {states.name} could be proven"
        next_step = "Capture one of its dispatches, and see what replay verify says."
        raise NotSupportedError(what, "; ".join(notes), next_step)
    return States(sound, (*states.notes, *notes))


def prove_captured(states: States, variant: Variant) -> Passage:
    """Whether a variant gives the application's own result on every state."""
    judged = []
    for state in states:
        try:
            verification = _verification(state, state.code(variant, _LABEL))
        except CANDIDATE_FAILS as error:
            return Passage("captured", passed=False, words=f"{state.name}: {error.what}{_why(error.why)}")
        judged.append((state, verification))
    return _proven(judged)


def _verification(state: State, new: Code | None) -> Verification:
    examined = state.examined
    return examined if isinstance(examined, Verification) else examined.verdict(new)


def _proven(judged: list[tuple[State, Verification]]) -> Passage:
    for state, verification in judged:
        if verification.verdict not in _SAME:
            judgement = verification.new or verification.captured
            words = f"{state.name}: {_reason(verification)}{_where(judgement)}"
            return Passage("captured", passed=False, words=words, needed=_needed(judgement))
    verifications = [verification for _, verification in judged]
    return Passage("captured", passed=True, words=_passed_text(verifications))


def _passed_text(verifications: list[Verification]) -> str:
    judgements = [one for all_ in verifications if (one := all_.new or all_.captured)]
    compared = sum(one.compared_bytes for one in judgements)
    tolerances = "; ".join(dict.fromkeys(one.tolerance for one in judgements if one.tolerance))
    how = f"within {tolerances}" if tolerances else "bit for bit"
    controls = [control for one in verifications for control in one.controls]
    dispatches = format_count(len(verifications), "dispatch", "dispatches")
    return f"{how} the same on {dispatches}, {format_bytes(compared)} compared; {_controls_text(controls)}"


def _controls_text(controls: list[Control]) -> str:
    failed = sum(control.outcome == "failed as it must" for control in controls)
    return f"{failed} of {format_count(len(controls), 'control')} failed as they must"


def _reason(verification: Verification) -> str:
    """Why it is not the same, with the option as `optimize` calls it."""
    return verification.reason.replace("--tolerance", "--verify")


def _why(reason: str) -> str:
    return f": {reason}" if reason else ""


def _needed(judgement: Judgement | None) -> str:
    return f"--verify {judgement.needed}" if judgement is not None and judgement.needed else ""


def _where(judgement: Judgement | None) -> str:
    """The first difference, as people would say it."""
    if judgement is None or not judgement.differences:
        return ""
    first: Difference = judgement.differences[0]
    shown = first.got
    if first.got_f32 is not None and first.expected_f32 is not None:
        shown = "{} instead of {}".format(*format_apart(first.got_f32, first.expected_f32))
    place = "" if first.is_output else ", where the original writes nothing"
    return f" ({judgement.differing_bytes:,} bytes differ, first at {first.address}{place}: as f32 {shown})"

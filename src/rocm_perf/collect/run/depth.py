"""Counters behind a trace that went well: whether they may be recorded, and what becomes of the two together."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from rocm_perf.collect.plan import deeper
from rocm_perf.collect.plan.deeper import ASK_FOR_IT, Deeper, Traced
from rocm_perf.collect.plan.planned import Plan
from rocm_perf.collect.run.attempt import Setting
from rocm_perf.collect.run.verdict import Attempt
from rocm_perf.errors import RocmPerfError
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import DeepRecord

_REFUSED = "counters: "  # begins what a machine cannot record, as the record has it


def behind(attempt: Attempt, setting: Setting) -> Deeper:
    """The runs that follow an attempt, or why there are none."""
    first = next((done for done in attempt.profiled if done.profiled), None)
    if attempt.verdict != "good" or attempt.application_code or first is None:
        return Deeper(refusal="the first run failed, or fell short of what was asked for")
    if "counters" in attempt.recorded:
        return Deeper(refusal="the recording has counters already")
    if not setting.input.can_repeat:
        return Deeper(refusal="the program's input came through a pipe and is used up")
    alone_ns = first.wall_ns or 0
    if setting.request.deep == "short" and alone_ns > deeper.SHORT_NS:
        return Deeper(refusal=f"the program runs for too long to be run again unasked; {ASK_FOR_IT}")
    folder = setting.folder
    try:
        dispatches = load(folder.current / first.folder, as_one=True).table("dispatches")
    except RocmPerfError as error:
        return Deeper(refusal=str(error))
    traced = Traced(dispatches, alone_ns)
    return deeper.further(attempt.plan, setting.request, setting.machine, folder.path, traced)


def stay(attempt: Attempt, setting: Setting, reason: str) -> None:
    """Say why there are no counters where they were asked for; elsewhere, only note that they could be."""
    if setting.request.deep == "asked":
        setting.say(f"no counters of the kernels that matter: {reason}")
        if reason.startswith(_REFUSED):
            attempt.could_not.append(reason)
    elif reason.endswith(ASK_FOR_IT):
        attempt.notices.append(f"no counters that tell why kernels take their time: {reason}")


def follow_up(attempt: Attempt, plan: Plan) -> Attempt:
    """The further runs, which go on where an attempt has ended."""
    return Attempt(plan, list(plan.runs), passes=list(attempt.passes), recorded=attempt.recorded)


def measured(more: Deeper, first: Attempt, then: Attempt) -> DeepRecord | None:
    """The record of the further runs, with what they have taken so far."""
    if more.record is None:
        return None
    took_ns = sum(done.wall_ns or 0 for done in then.passes[len(first.passes) :])
    return replace(more.record, measured_ns=took_ns)


def joined(first: Attempt, then: Attempt, *, is_asked: bool) -> Attempt:
    """One attempt from a trace and the counters behind it. Where nobody asked for these, what they lack is a notice,
    and a program that fails when it runs again has not failed."""
    # A thread trace comes beside the counters where it can.
    extra = [line for line in (*then.plan.could_not, *then.could_not) if line.startswith("thread trace")]
    lost = [line for line in (*then.plan.could_not, *then.could_not) if line not in extra]
    if then.must_stop and not is_asked:
        lost.append(f"{_REFUSED}{then.reason} when it ran again")
    ends_all = then.verdict == "stopped" or (is_asked and then.must_stop)
    last = then if ends_all else first
    return dataclasses.replace(
        first,
        plan=replace(first.plan, runs=(*first.plan.runs, *then.plan.runs)),
        passes=list(then.passes),
        pending=[*then.pending] if is_asked else [],
        recorded=first.recorded | then.recorded,
        verdict=last.verdict,
        state=last.state,
        reason=last.reason,
        application_code=last.application_code,
        could_not=[*first.could_not, *(lost if is_asked else ())],
        notices=[*first.notices, *then.plan.notices, *then.notices, *extra, *(() if is_asked else lost)],
        gave_up=first.gave_up | then.gave_up,
    )

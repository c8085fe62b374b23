"""A request on a probed machine -> the ways to do it, best first. Pure: nothing is started, nothing is read.

One invocation of the profiler per run: a file with several jobs would turn the application's exit code into the tool's.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rocm_perf.backends import profilers
from rocm_perf.backends.amd.counter_passes import refuse_names_of_no_chip
from rocm_perf.backends.base import Profiler, Purpose, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.planned import WALL_TIME, Plan, PlannedRun, Rejected
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import NotSupportedError, ToolAbsentError, UsageError
from rocm_perf.model.window import Window


class _Run(msgspec.Struct, frozen=True):
    profiler: Profiler
    wish: Wish


class _Draft(msgspec.Struct):
    """A plan in the making."""

    runs: list[_Run] = []
    refused: list[str] = []  # what cannot be recorded at all, each with the reason
    dropped: list[str] = []  # what is left out of the runs, each with the reason
    notices: list[str] = []


def plans(request: Request, machine: Machine, folder: Path) -> tuple[Plan, ...]:
    """Every way that works here, the best first; the application alone last, unless one profiler is forced."""
    if not request.command:
        raise UsageError("there is no application to run", next_step="Write it behind --.")
    if machine.vendor is None:
        refuse_names_of_no_chip(_counter_names(request))
    if request.profiler:
        return (_forced(request, machine, folder),)
    ways: list[Plan] = []
    rejected: list[Rejected] = []
    for profiler in _candidates(request, machine):
        if reason := _refusal(profiler, request, machine, folder):
            rejected.append(Rejected(profiler.name, reason))
            continue
        asked = request if not ways else _without_tool_args(request)
        ways.append(_plan(profiler, asked, machine, folder, tuple(rejected)))
    if not any(plan.profiled for plan in ways):
        _refuse_window(request, machine, folder, rejected)
    return tuple(ways)


def _candidates(request: Request, machine: Machine) -> tuple[Profiler, ...]:
    """The profilers to plan with, in their order: those for the machine's GPUs, and those for any."""
    return tuple(
        profiler
        for profiler in profilers.PROFILERS.values()
        if profiler.leads
        and not profiler.only_asked
        and profiler.vendor in (None, machine.vendor)
        and (_records(request) or not profiler.records)
    )


def _records(request: Request) -> bool:
    """Whether more is asked for than the wall time."""
    wish = request.wish
    return bool(wish.domains or wish.pc_sampling or wish.att or _counter_names(request))


def _forced(request: Request, machine: Machine, folder: Path) -> Plan:
    """The plan with the one profiler that the user wants."""
    name, known = request.profiler, profilers.PROFILERS
    if name not in known:
        near = difflib.get_close_matches(name[:40], known, n=1)
        hint = f"the nearest is {near[0]}" if near else ""
        raise UsageError(f"there is no profiler {name[:40]!r}", hint, f"Known: {', '.join(known)}.")
    profiler = known[name]
    reason = _refusal(profiler, request, machine, folder)
    if not reason:
        return replace(_plan(profiler, request, machine, folder, ()), why="you asked for it")
    error = NotSupportedError if profiler.is_here(machine) else ToolAbsentError
    next_step = "Leave out --profiler to use the best installed profiler that can."
    raise error(f"{name} cannot profile this here", reason, next_step)


def _refusal(profiler: Profiler, request: Request, machine: Machine, folder: Path) -> str:
    """Why a plan cannot be built on this profiler; empty if it can."""
    wish = _trace_wish(request)
    if not profiler.leads:
        wish = _counter_wish(profiler, request, _counter_names(request) or profiler.default_counters)
    app_refusal = profiler.app_refusal(request.command, folder, is_python=request.is_python)
    return app_refusal or _wish_refusal(profiler, wish, machine)


def _wish_refusal(profiler: Profiler, wish: Wish, machine: Machine) -> str:
    """Why the profiler cannot record this, or not in this window; empty if it can."""
    return profiler.refusal(wish, machine) or profiler.window_refusal(wish, machine)


def _refuse_window(request: Request, machine: Machine, folder: Path, rejected: list[Rejected]) -> None:
    """Refuse a window that is all that keeps every profiler from recording: the program may run for hours, and its wall
    time is not what was asked for."""
    whole = replace(request, wish=replace(request.wish, window=Window()))
    stopped = [
        each for each in rejected if not _refusal(profilers.PROFILERS[each.profiler], whole, machine, folder)
    ]
    if stopped:
        why = "; ".join(each.reason for each in stopped)
        raise NotSupportedError(
            f"no profiler here can record {request.wish.window.sentence}",
            why,
            "Most keep to --delay and --duration; docs/windows.md lists what each can do.",
        )


def _trace_wish(request: Request) -> Wish:
    """What the trace records: kernels at least, beside which all else is seen."""
    domains = request.wish.domains or ("kernel",)
    return replace(request.wish, domains=domains, counters=(), pc_sampling=None, att=False)


def _kernels_wish(profiler: Profiler, request: Request) -> Wish:
    """What a run for something else records beside it."""
    domains = ("kernel",) if profiler.traces else ()
    return replace(_trace_wish(request), domains=domains, stats=False)


def _counter_wish(profiler: Profiler, request: Request, names: tuple[str, ...]) -> Wish:
    return replace(_kernels_wish(profiler, request), counters=names)


def _without_tool_args(request: Request) -> Request:
    """The request for a further profiler: the tool's arguments are meant for the one that is tried first."""
    return replace(request, wish=replace(request.wish, tool_args=()))


def _plan(
    profiler: Profiler, request: Request, machine: Machine, folder: Path, rejected: tuple[Rejected, ...]
) -> Plan:
    draft = _draft(profiler, request, machine)
    remaining = f"; what remains: {_remaining(request, machine, folder)}" if profiler.traces else ""
    could_not = [*(f"{reason}{remaining}" for reason in draft.refused), *draft.dropped]
    runs = tuple(_planned(n, run, request.command, folder, machine) for n, run in enumerate(draft.runs, 1))
    notices = [*draft.notices, *(note for run in runs for note in run.command.notices)]
    return Plan(
        profiler=profiler.name,
        why=_why(profiler, request, rejected),
        rejected=rejected,
        runs=runs,
        could_not=tuple(dict.fromkeys(could_not)),
        notices=tuple(dict.fromkeys(notices)),
    )


def counted_behind(plan: Plan, request: Request, machine: Machine, folder: Path) -> Plan:
    """Return the runs of a request that read counters or trace threads, numbered behind those of a plan with the same
    profiler, which has recorded the rest."""
    profiler, draft = profilers.PROFILERS[plan.profiler], _Draft()
    draft.runs = _counter_runs(draft, profiler, request, machine)
    for purpose, wish in _special(profiler, request).items():
        if reason := _wish_refusal(profiler, wish, machine):
            draft.refused.append(f"{purpose}: {reason}")
        else:
            draft.runs.append(_Run(profiler, wish))
    first = len(plan.runs) + 1
    runs = tuple(
        _planned(n, run, request.command, folder, machine) for n, run in enumerate(draft.runs, first)
    )
    notices = dict.fromkeys((*draft.notices, *(note for run in runs for note in run.command.notices)))
    return Plan(
        profiler=plan.profiler,
        why=plan.why,
        runs=runs,
        could_not=tuple(dict.fromkeys((*draft.refused, *draft.dropped))),
        notices=tuple(notices),
    )


def _why(profiler: Profiler, request: Request, rejected: tuple[Rejected, ...]) -> str:
    if not _records(request):
        return "nothing but the wall time was asked for"
    if profiler.records or not rejected:
        return profiler.why
    return f"{profiler.why} ({'; '.join(f'{each.profiler}: {each.reason}' for each in rejected)})"


def _draft(profiler: Profiler, request: Request, machine: Machine) -> _Draft:
    """A trace, as many counter runs as it takes, and PC sampling and a thread trace in runs of their own."""
    draft = _Draft()
    apart = _counter_runs(draft, profiler, request, machine)
    for purpose, wish in _special(profiler, request).items():
        if reason := _wish_refusal(profiler, wish, machine):
            draft.refused.append(f"{purpose}: {reason}")
        else:
            apart.append(_Run(profiler, wish))
    if profiler.leads and _needs_trace(profiler, request, apart):
        draft.runs.append(_Run(profiler, _trace_wish(request)))
    draft.runs += apart
    draft.dropped += profiler.dropped(_asked_of(profiler, request), machine)
    return draft


def _needs_trace(profiler: Profiler, request: Request, apart: list[_Run]) -> bool:
    """Whether the trace needs a run of its own: the profiler's other runs record kernels anyway."""
    alone = all(run.profiler is not profiler for run in apart)
    return alone or _trace_wish(request).domains != ("kernel",)


def _asked_of(profiler: Profiler, request: Request) -> Wish:
    """The part of what the user asked for that the profiler's own trace is to answer."""
    return replace(_trace_wish(request), domains=request.wish.domains if profiler.leads else ())


def _special(profiler: Profiler, request: Request) -> dict[Purpose, Wish]:
    """What is recorded in a run of its own, besides counters."""
    kernels, asked = _kernels_wish(profiler, request), request.wish
    wishes: dict[Purpose, Wish] = {}
    if asked.pc_sampling is not None:
        wishes["pc sampling"] = replace(kernels, pc_sampling=asked.pc_sampling)
    if asked.att:
        wishes["thread trace"] = replace(
            kernels, att=True, kernel_include=asked.att_kernels or kernels.kernel_include
        )
    return wishes


def _counter_runs(draft: _Draft, profiler: Profiler, request: Request, machine: Machine) -> list[_Run]:
    """The runs that read counters, or the reason why there are none."""
    names, groups = request.counters, request.counter_passes
    if not _counter_names(request):
        names = profiler.default_counters
        if not names:
            return []
        draft.notices.append(
            f"{profiler.name} records only counters, and none were named: {', '.join(names)}"
        )
    counting = _counting(profiler, request, machine)
    asked = request if counting is profiler else _without_tool_args(request)
    counted = counting.counter_passes(names, groups, machine)
    wishes = [_counter_wish(counting, asked, each) for each in counted.passes]
    draft.notices += counted.notes
    refusals = (_wish_refusal(counting, wish, machine) for wish in wishes)
    if reason := counted.refusal or next(filter(None, refusals), ""):
        draft.refused.append(f"counters: {reason}")
        return []
    if counting is not profiler:
        draft.dropped += [part for wish in wishes for part in counting.dropped(wish, machine)]
    return [_Run(counting, wish) for wish in wishes]


def _counting(profiler: Profiler, request: Request, machine: Machine) -> Profiler:
    """Who reads the counters: the profiler itself, or the one of the same vendor that does nothing else. Where a
    profiler for any GPU is forced, no other comes in."""
    if profiler.counts:
        return profiler
    vendor = profiler.vendor or (machine.vendor if not request.profiler else None)
    others = (each for each in profilers.PROFILERS.values() if each.counts and not each.traces)
    return next((each for each in others if each.vendor == vendor), profiler)


def _remaining(request: Request, machine: Machine, folder: Path) -> str:
    """What the user still has, where something cannot be done."""
    trace = replace(request, wish=_trace_wish(request), counters=(), counter_passes=(), profiler="")
    working = [each for each in _candidates(trace, machine) if not _refusal(each, trace, machine, folder)]
    return ", ".join(dict.fromkeys(each.offers for each in working))


def _counter_names(request: Request) -> tuple[str, ...]:
    grouped = (name for group in request.counter_passes for name in group)
    return tuple(dict.fromkeys((*request.counters, *grouped)))


def _planned(number: int, run: _Run, app: tuple[str, ...], folder: Path, machine: Machine) -> PlannedRun:
    name = f"pass_{number}"
    profiled = run.profiler.records
    return PlannedRun(
        number=number,
        purpose=run.wish.purpose if profiled else WALL_TIME,
        profiler=run.profiler.name,
        profiled=profiled,
        folder=name,
        command=run.profiler.command(run.wish, app, folder / name, machine),
        domains=run.wish.domains if profiled else (),
        counters=run.wish.counters,
    )

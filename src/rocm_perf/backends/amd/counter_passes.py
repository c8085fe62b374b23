"""Counters, metrics and sets by name -> passes that the first GPU can count, before anything starts. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from rocm_perf.arch.counter_names import nearest, no_counters, resolve
from rocm_perf.arch.counter_sets import counter_sets, plan_with_sets
from rocm_perf.arch.counters import known_chips
from rocm_perf.arch.metric_data import metrics
from rocm_perf.backends.base import CounterPasses
from rocm_perf.errors import UsageError

_NVIDIA = "__"  # in every name of Nsight Compute: sm__throughput

Names = tuple[str, ...]


def counter_passes(wanted: Names, own: tuple[Names, ...], gfx: str, rocm: str | None) -> CounterPasses:
    """The passes for names and for the user's own passes; one of these that is too full is split."""
    if gfx not in known_chips():
        return CounterPasses(refusal=f"no counters are known for {gfx or 'this GPU'}")
    if reason := no_counters(gfx, rocm):
        _refuse_unknown((*wanted, *(name for group in own for name in group)), gfx)
        return CounterPasses(refusal=reason)
    groups = [group for group in (wanted, *own) if group]
    for group in groups:
        _refuse_unknown(group, gfx)
    planned = [_planned(group, gfx, rocm) for group in groups]
    passes = tuple(each for plan in planned for each in plan.passes)
    notes = [note for plan in planned for note in plan.notes]
    notes += [
        f"{' '.join(group)}: too much for one pass, split into {len(plan.passes)}"
        for group, plan in zip(groups, planned, strict=True)
        if group in own and len(plan.passes) > 1
    ]
    refusal = "" if passes else f"nothing of {' '.join(wanted)} can be counted on {gfx}"
    return CounterPasses(passes=passes, notes=tuple(dict.fromkeys(notes)), refusal=refusal)


def refuse_names_of_no_chip(names: Names) -> None:
    """Refuse what is a counter, a metric or a set on no chip at all, where no GPU is here to say which chip it is."""
    chips = known_chips()
    own = tuple(name for name in names if _NVIDIA not in name)
    if not (lines := _unknown(own, chips[-1])):
        return
    near = [each for name in own if name in " ".join(lines) for each in _nearest_anywhere(name)]
    hint = f"similar names: {', '.join(dict.fromkeys(near))}" if near else ""
    raise UsageError(
        "; ".join(line.partition("; similar")[0] for line in lines),
        hint,
        "rocm-perf list-counters --arch GFX lists those of a chip.",
    )


def _nearest_anywhere(name: str) -> tuple[str, ...]:
    """Similar names of the first chip that has any, the newest first."""
    return next((near for gfx in reversed(known_chips()) if (near := nearest(name, gfx))), ())


def _unknown(names: Iterable[str], gfx: str) -> tuple[str, ...]:
    """One line for each name that no chip has."""
    counters = [resolve(name, gfx) for name in names if name not in counter_sets() and name not in metrics()]
    return tuple(each.describe() + _set_meant(each.asked) for each in counters if each.standing == "unknown")


def _set_meant(name: str) -> str:
    near = difflib.get_close_matches(name[:40], counter_sets(), n=1, cutoff=0.8)
    return f"; the nearest set of counters is {near[0]}" if near else ""


def _planned(names: Names, gfx: str, rocm: str | None) -> CounterPasses:
    plan, notes = plan_with_sets(names, gfx, rocm)
    if plan is None:
        return CounterPasses(notes=notes)
    return CounterPasses(passes=tuple(each.ask for each in plan.passes), notes=(*notes, *plan.notes))


def _refuse_unknown(names: Iterable[str], gfx: str) -> None:
    if lines := _unknown(names, gfx):
        raise UsageError("; ".join(lines), next_step=f"rocm-perf list-counters --arch {gfx} lists them all.")

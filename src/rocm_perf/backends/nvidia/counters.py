"""From the names that users write, sets of counters and metrics of ours, to the metrics of Nsight Compute."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib import resources

import msgspec

from rocm_perf.arch.metric_recipes import recipes
from rocm_perf.arch.metrics import metrics_of
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import UsageError
from rocm_perf.once import once

ALWAYS = ("gpu__time_duration.sum",)  # rates need it
# unit__name, with a rollup (.sum), a submetric or nothing behind it; also ncu's own groups and patterns.
_OF_NCU = re.compile(r"[a-z][a-z0-9]*__[a-z0-9_]+(\.[a-z0-9_]+)*|(group|regex|breakdown|pmsampling):[^\s,]+")
_OF_AMD = re.compile(r"[A-Z][A-Z0-9]*_\w*")


class MetricSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set as the file has it."""

    title: str
    metrics: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    only: Mapping[str, tuple[str, ...]] = {}  # more of them, on chips that fit a pattern
    replays: Mapping[str, int] = {}  # of a kernel that they take, by a pattern of chips


@once
def metric_sets() -> Mapping[str, MetricSet]:
    """Every set by its name."""
    file = resources.files("rocm_perf.backends.nvidia").joinpath("counter_sets.toml")
    return msgspec.convert(read_toml(file.read_bytes(), file.name), dict[str, MetricSet])


def ncu_metrics(names: tuple[str, ...], gfx: str) -> tuple[str, ...]:
    """What to ask ncu for, each once; a name that means nothing is refused with the nearest one."""
    resolved = (metric for name in names for metric in _resolved(name, gfx))
    return tuple(dict.fromkeys((*ALWAYS, *resolved)))


def _resolved(name: str, gfx: str) -> tuple[str, ...]:
    if name in metric_sets():
        return _of_set(name, gfx)
    if ways := [recipe for recipe in recipes(gfx, name) if recipe.askable]:
        return tuple(sorted(ways[0].shown.get(counter, counter) for counter in ways[0].counters))
    if _OF_NCU.fullmatch(name):
        return (name,)
    raise _unknown(name, gfx)


def _of_set(name: str, gfx: str = "") -> tuple[str, ...]:
    known = metric_sets()[name]
    inherited = (metric for included in known.includes for metric in _of_set(included, gfx))
    more = (each for pattern, names in known.only.items() if fnmatchcase(gfx, pattern) for each in names)
    return tuple(dict.fromkeys((*inherited, *known.metrics, *more)))


def replays_of(name: str, gfx: str) -> int | None:
    """How often ncu runs a kernel for a set on a chip; None where nobody has asked."""
    known = metric_sets()[name].replays
    return next((count for pattern, count in known.items() if fnmatchcase(gfx, pattern)), None)


def _unknown(name: str, gfx: str) -> UsageError:
    known = [
        *metric_sets(),
        *metrics_of(gfx),
        *(metric for each in metric_sets() for metric in _of_set(each)),
    ]
    near = difflib.get_close_matches(name[:80], known, n=1)
    if near:
        reason = f"the nearest name is {near[0]}"
    elif _OF_AMD.fullmatch(name):
        reason = "it is named as AMD's counters are, and this GPU is NVIDIA's"
    else:
        reason = ""
    return UsageError(
        f"there is no counter {name[:80]!r} on {gfx or 'this GPU'}",
        reason,
        f"Sets: {', '.join(metric_sets())}; or any metric that `ncu --query-metrics` lists.",
    )

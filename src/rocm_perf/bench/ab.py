"""`rocm_perf.ab_test`: whether NEW is right, and faster than BASE, within this process. Standard
library, the caller's torch, and numpy, which compares."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable
from typing import Any

from rocm_perf.bench.ab_result import AbResult, ab_result, pair_samples
from rocm_perf.bench.inside.target import TargetError
from rocm_perf.bench.judge.arrays import plain
from rocm_perf.bench.judge.checking import Pair
from rocm_perf.bench.judge.clocks import own_times
from rocm_perf.bench.judge.inputs import Inputs
from rocm_perf.bench.judge.lap import BASE, NEW
from rocm_perf.bench.judge.local import LocalSide
from rocm_perf.bench.judge.made_inputs import made_inputs
from rocm_perf.bench.judge.trial import Trial, TrialPlan
from rocm_perf.bench.judge.values import UnsupportedValueError, Value
from rocm_perf.bench.judge.workbench import has_device_events
from rocm_perf.bench.samples import Clock, Result
from rocm_perf.errors import UsageError

_BIND = "Bind everything else with functools.partial, or make it within the function."


def ab_test(  # noqa: PLR0913  (each is a choice of the user's)
    base: Callable[..., object],
    new: Callable[..., object],
    inputs: tuple[Any, ...] | dict[str, Any] | Callable[..., object],
    *,
    tolerance: float | None = None,
    in_place: tuple[int | str, ...] = (),
    strides: bool = True,
    rounds: int = 3,
    laps: int = 15,
    lap_ms: float = 10.0,
    quiet: bool = False,
) -> AbResult:
    """Compare two functions within this process: whether NEW does what BASE does, and how many times as fast it is.

    `inputs` is a tuple of arguments, a dictionary of keyword arguments, or a function that makes fresh ones (a list of
    them for several shapes). `tolerance` is absolute; without it, it depends on the type. The answer holds for this
    process alone, and for code that does not set out to deceive: `rocm-perf ab` judges from another process.
    """
    plan = TrialPlan(
        tolerance=tolerance,
        in_place=in_place,
        compares_strides=strides,
        rounds=rounds,
        laps=laps,
        lap_ms=lap_ms,
    )
    trial = Trial(plan, Inputs(_local_maker(inputs)))
    pair = Pair(LocalSide(BASE, base, plan.terms), LocalSide(NEW, new, plan.terms))
    trial.check(pair)
    turns = trial.time(pair) if trial.is_right else []
    if trial.failure and not turns:
        raise trial.failure
    pairs = [own_times(turns)] if turns else []
    clock: Clock = "device events" if has_device_events() else "wall clock"
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    base_result, new_result = (
        Result(target=_name(function), processes=samples, date=date)
        for function, samples in zip((base, new), pair_samples(pairs, clock), strict=True)
    )
    result = ab_result(trial, pairs, base=base_result, new=new_result)
    if not quiet:
        sys.stdout.write(f"{result}\n")
    return result


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def _local_maker(inputs: object) -> Callable[[int], list[Value]]:
    def make(seed: int) -> list[Value]:
        try:
            cases = made_inputs(inputs, seed) if callable(inputs) else made_inputs(lambda: inputs, seed)
            return [plain(case) for case in cases]
        except (TargetError, UnsupportedValueError) as error:
            raise UsageError("these inputs cannot be used", str(error), _BIND) from error

    return make

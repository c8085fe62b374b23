"""Reserving, timing and comparing: the verbs that replay without looking at results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from rocm_perf.model.results.replay import (
    Clock,
    ReplayComparison,
    ReplayTiming,
    ReserveCheck,
    Reserved,
    Timing,
)
from rocm_perf.replay import run
from rocm_perf.replay.errors import KernelFailedError
from rocm_perf.replay.plan import CAPTURED, Code, Options, plan_text
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.runner import write_plan
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.replay.writes import restoring_writes_of
from rocm_perf.statistics import series
from rocm_perf.units import format_bytes

_VERDICTS: dict[int, Reserved] = {0: "exact", run.RESERVATION_FAILED: "failed", run.RELOCATED: "relocated"}
EXIT_CODES: dict[Reserved, int] = {"exact": 0, "failed": 1, "relocated": 2}
AGAIN = "again"  # the label of the first code object, loaded a second time
TOO_FEW = f"fewer than {series.FEWEST_SAMPLES} iterations"


def reserve_check(snapshot: Snapshot, runner: Path, work: Path, timeout_s: float) -> ReserveCheck:
    """Whether every range can be had at its address. Needs none of the memory's contents."""
    plan = write_plan(work, plan_text(snapshot, {}, work, Options(mode="reserve")))
    ended = run.run_plan(runner, plan, timeout_s)
    if ended.status not in _VERDICTS:
        raise run.failure(ended)
    answer = ended.answer
    if not answer.state:
        raise run.failure(msgspec.structs.replace(ended, status=-1))
    return ReserveCheck(
        verdict=_VERDICTS[ended.status],
        reason=answer.error,
        device=answer.device_text,
        reservations=answer.reservations,
    )


def time_replay(replayer: Replayer, options: Options) -> ReplayTiming:
    """The times of one code object, launched as the options say."""
    answer = _ready_for(replayer, options).run(options)
    label = options.codes[0].label if options.codes else CAPTURED
    dispatch = replayer.snapshot.dispatch
    return ReplayTiming(
        kernel=dispatch.kernel,
        name=dispatch.name,
        device=answer.device_text,
        iterations=options.iterations,
        warmup=options.warmup,
        recopy=options.recopy,
        mode=_mode(options),
        restored_bytes=answer.restored_bytes,
        cache_bytes=answer.cache_bytes or None,
        cache_note=cache_note(answer.restored_bytes, answer.cache_bytes, options),
        wall_ns=answer.wall_ns,
        clock=_clock(answer.clocks_mhz),
        timing=_timing(label, answer.samples_ns.get(label, ()), options.iterations),
    )


def _ready_for(replayer: Replayer, options: Options) -> Replayer:
    return restoring_writes_of(replayer, options.codes) if options.recopy else replayer


def first_again(options: Options) -> Options:
    """The options with the first code object loaded a second time: where code lies in memory changes its time a
    little, and a difference that is no larger says nothing."""
    return replace(options, codes=(*options.codes, Code(AGAIN, options.codes[0].path)))


def compare_codes(replayer: Replayer, options: Options, labels: tuple[str, str]) -> ReplayComparison:
    """How two code objects that are launched by turns compare. `labels` are what to call them."""
    asked = first_again(options)
    answer = _ready_for(replayer, options).run(asked)
    base, new, again = (
        _timing(label, answer.samples_ns.get(code.label, ()), options.iterations)
        for label, code in zip((*labels, labels[0]), asked.codes, strict=True)
    )
    speedup = series.median_ratio(base.samples_ns, new.samples_ns)
    noise = series.noise_of(series.median_ratio(base.samples_ns, again.samples_ns))
    dispatch = replayer.snapshot.dispatch
    return ReplayComparison(
        kernel=dispatch.kernel,
        name=dispatch.name,
        device=answer.device_text,
        iterations=options.iterations,
        warmup=options.warmup,
        mode=_mode(options),
        wall_ns=answer.wall_ns,
        clock=_clock(answer.clocks_mhz),
        base=base,
        again=again,
        new=new,
        noise=noise,
        speedup=speedup.value,
        interval=speedup.interval,
        interval_unavailable=None if speedup.interval else TOO_FEW,
        confidence=series.CONFIDENCE,
        verdict=series.verdict(speedup, noise),
    )


def cache_note(restored: int, cache: int, options: Options) -> str:
    """What restoring does to the time; empty where it does not matter. It leaves its last bytes in the cache: a kernel
    that writes far less finds its data there in any loop, one that writes far more finds little of it."""
    if not options.recopy or options.cold_cache or not cache // 2 <= restored <= 4 * cache or not cache:
        return ""
    return (
        f"the {format_bytes(restored)} that are restored before each launch stay in part in the GPU's cache "
        f"({format_bytes(cache)}): --no-recopy and --cold-cache show what that is worth"
    )


def _clock(measured: tuple[float, ...]) -> Clock | None:
    if not measured:
        return None
    return Clock(median_mhz=series.median(measured), min_mhz=min(measured), max_mhz=max(measured))


def _timing(label: str, samples: tuple[float, ...], expected: int) -> Timing:
    if len(samples) != expected or min(samples, default=0) <= 0:
        why = (
            f"{len(samples)} of {expected} times came back"
            if len(samples) != expected
            else "a time is not positive"
        )
        raise KernelFailedError("the runner gave no usable times", why)
    summary = series.summary(samples)
    return Timing(
        label=label,
        iterations=summary.count,
        median_ns=summary.median,
        interval_ns=summary.interval,
        interval_unavailable=None if summary.interval else TOO_FEW,
        confidence=series.CONFIDENCE,
        mean_ns=summary.mean,
        p5_ns=summary.p5,
        p95_ns=summary.p95,
        min_ns=summary.lowest,
        max_ns=summary.highest,
        samples_ns=samples,
    )


def _mode(options: Options) -> str:
    restored = "restored before each iteration" if options.recopy else "restored once"
    return f"memory {restored}, caches {'emptied before each' if options.cold_cache else 'as they are'}"

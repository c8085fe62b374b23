"""Causes from the geometry and the times of launches alone: grids that leave the GPU empty, last waves, bursts of small
launches, times that vary."""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import polars as pl

from rocm_perf.analysis.basis.keys import ordered, telling
from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.basis.passes import timed_by_kernel
from rocm_perf.analysis.limits.geometry import with_geometry
from rocm_perf.analysis.limits.uses import (
    NEAR_ROOF,
    KernelUses,
    Rule,
    Use,
    bounded,
    cause,
    peak_rate,
    times_as_fast,
    units_of,
    weighed,
)
from rocm_perf.analysis.roofline.devices import Device
from rocm_perf.analysis.time.kernel_family import RUNTIME, family
from rocm_perf.model.results.limits import Cause, GroupCause
from rocm_perf.model.trace import Trace
from rocm_perf.model.vendor import is_nvidia
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

FEW = 0.5  # workgroups for each compute unit: below, half of the GPU cannot have work
_FLOORS = 3  # times the shortest dispatch: what is shorter is starting and ending
BRIEF_NS = 10_000  # a shorter launch is a matter of latency, whatever its grid
_LONG_NS = 20_000  # shorter launches vary by how they start
_MOVING = 0.2  # of the time of a launch: moving its bytes at the peak
_SHORT = 0.4  # of the time of a launch: starting and ending it
QUEUE = ("node", "rank", "pid", "agent_id", "queue_id", "stream_id")  # whose launches run one after another
_LAST_WAVE = 1.3
_FEW_WAVES = 3
_SERIAL_BYTES = 1_000  # that each work-item could move in its time
_VARY = 1.25
_VARY_CALLS = 5
_REGULAR = 0.9  # of the launches are as long as those one period later
_LONGEST = 64  # launches in a period
_BOTH = 0.1  # of the launches are long, and as many short
_FIRST = 2.0
_FIRST_CALLS = 3
_BURST = 4  # launches in a row
_BURST_GAP_NS = 10_000
_BURST_SHARE = 0.02  # of the kernel time of the GPU
_TILED = (
    "gemm",
    "convolution",
    "attention",
)  # judged by their tiles, in products.py, convolutions.py and attention.py
_WAITS = ("collective",)


def launch_causes(of_kernel: KernelUses) -> list[Cause]:
    """Return what the launches of a kernel say of it."""
    if of_kernel.family.name in _WAITS or of_kernel.family.library == RUNTIME:
        return []
    rules: list[Rule] = [
        too_small_a_grid,
        last_wave,
        one_wave,
        serial_loop,
        short_launch,
        times_vary,
        first_call,
    ]
    if of_kernel.family.name in _TILED:
        rules = [times_vary, first_call]
    found = [one for rule in rules for one in weighed(of_kernel, rule)]
    return [*found, *no_reuse(of_kernel)]


def too_small_a_grid(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that most of the GPU has no workgroup."""
    groups, units, roof = use.workgroups, use.units, of_kernel.roof
    if groups is None or not units or groups > FEW * units or is_brief(use, of_kernel) or _near(roof):
        return None
    saves = bounded(units / groups, roof)
    size = f" of {use.workgroup_size:,} work-items" if use.workgroup_size else ""
    bound = (
        "the time cannot fall below what its memory traffic needs" if roof and roof > groups / units else ""
    )
    return cause(
        "grid-too-small",
        use.kernel,
        share=1 - groups / units,
        saves=saves,
        certainty="proven",
        title=f"{format_count(groups, 'workgroup')} for {units_of(use.device)}: {format_share(1 - groups / units)} of "
        "the GPU has no work",
        evidence=(
            f"a launch has {format_count(groups, 'workgroup')}{size}, the GPU {units_of(use.device)}",
            f"spread over the whole GPU it is at most {times_as_fast(saves)}{'; ' + bound if bound else ''}",
        ),
        source="launch geometry",
    )


def last_wave(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that the last round of workgroups leaves most of the GPU idle."""
    if use.fits is None or not use.workgroups or not use.units or is_brief(use, of_kernel):
        return None
    room = use.units * use.fits.workgroups_per_cu
    rounds = use.workgroups / room if room else 0.0
    if not 1 < rounds <= _FEW_WAVES or ceil(rounds) / rounds < _LAST_WAVE or _near(of_kernel.roof):
        return None
    saves = bounded(ceil(rounds) / rounds, of_kernel.roof)
    return cause(
        "last-wave-of-launch",
        use.kernel,
        share=1 - rounds / ceil(rounds),
        saves=saves,
        certainty="likely",
        title=f"{use.workgroups:,} workgroups run in {ceil(rounds)} rounds of {room:,.0f}, and the last one fills "
        f"{format_share(rounds - ceil(rounds) + 1)} of the GPU",
        evidence=(
            f"by its registers, LDS and workgroup size {use.fits.workgroups_per_cu:g} workgroups fit a compute unit: "
            f"{room:,.0f} at once, and {use.workgroups:,} are {rounds:.2f} rounds",
            f"without the last round it is at most {times_as_fast(saves)}, if its workgroups take equally long",
        ),
        source="launch geometry",
    )


def one_wave(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that a SIMD holds one wave of the kernel, so that nothing runs while it waits."""
    fits = use.fits
    if fits is None or not use.workgroups or not use.units or fits.waves_per_simd > 1:
        return None
    if use.workgroups < use.units or _near(of_kernel.roof) or is_brief(use, of_kernel):
        return None
    simd, wave = ("SM partition", "warp") if is_nvidia(use.device.gfx) else ("SIMD", "wave")
    steps = ", ".join(map(str, fits.steps))
    return cause(
        "one-wave-per-simd",
        use.kernel,
        share=0.5,
        saves=bounded(2, of_kernel.roof),
        certainty="hint",
        title=f"{' and '.join(fits.limiters)} allow one {wave} per {simd}: while it waits, the {simd} is idle",
        evidence=(
            f"{fits.waves_per_simd:g} of {fits.max_waves_per_simd} {wave}s per {simd} fit",
            *([steps] if steps else []),
            "how long it waits is not recorded: counters of waits would tell",
        ),
        source="launch geometry",
    )


def serial_loop(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that there are fewer waves than SIMDs, each of which does one thing after another."""
    peak, gpu = peak_rate(use.device), use.device.gpu
    if gpu is None or peak is None or not use.workgroups or not use.workgroup_size or not use.units:
        return None
    waves = use.workgroups * ceil(use.workgroup_size / gpu.wave_sizes[0])
    items = use.workgroups * use.workgroup_size
    room = peak * use.mean_ns / items  # bytes that each could have moved
    if use.workgroups <= FEW * use.units or waves >= gpu.simds or room < _SERIAL_BYTES:
        return None
    if use.mean_ns < _LONG_NS or (of_kernel.roof or 0) >= FEW:
        return None
    wave, simd = ("warp", "SM partition") if is_nvidia(use.device.gfx) else ("wave", "SIMD")
    return cause(
        "serial-loop",
        use.kernel,
        share=1 - waves / gpu.simds,
        saves=bounded(gpu.simds / waves, of_kernel.roof),
        certainty="likely",
        title=f"{format_count(waves, wave)} for {format_count(gpu.simds, simd)}, and a launch takes "
        f"{format_ns(use.mean_ns)}: each work-item does much, one thing after another",
        evidence=(
            f"{items:,} work-items in {format_count(use.workgroups, 'workgroup')}; in the time of a launch the memory "
            f"moves {format_bytes(room)} for each of them",
            f"so few cannot hide each other's waits: one {wave} for each {simd} is at most "
            f"{times_as_fast(bounded(gpu.simds / waves, of_kernel.roof))}",
        ),
        source="launch geometry",
    )


def short_launch(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that a launch takes little more than starting and ending it."""
    floor, peak = of_kernel.floor_ns, peak_rate(use.device)
    if use.mean_ns > BRIEF_NS or (of_kernel.roof or 0) > FEW:
        return None
    like_an_empty_one = floor is not None and floor >= _SHORT * use.mean_ns
    moving = use.bytes / peak / use.mean_ns if use.bytes and peak else None
    if not like_an_empty_one and (moving is None or moving > _MOVING):
        return None
    moved = f" and moves {format_bytes(use.bytes)}" if use.bytes else ""
    beside = f"the shortest kernel of the recording takes {format_ns(floor)}" if floor else ""
    bandwidth = (
        f"at {(peak or 0) / 1e3:.2f} TB/s that takes {format_ns(moving * use.mean_ns)}" if moving else ""
    )
    share = max(floor / use.mean_ns if floor else 0.0, 1 - moving if moving is not None else 0.0)
    return cause(
        "small-tensor" if moved else "short-launch",
        use.kernel,
        share=min(1.0, share),
        saves=None,
        certainty="proven",
        title=f"a launch takes {format_ns(use.mean_ns)}{moved}: starting it and waiting for its few steps is its time",
        evidence=tuple(
            text
            for text in (
                f"{format_count(use.calls, 'launch', 'launches')} of {format_ns(use.mean_ns)} on average",
                bandwidth,
                beside,
            )
            if text
        ),
        source="times",
    )


def times_vary(use: Use, _: KernelUses) -> Cause | None:
    """Say that launches alike take times that are not."""
    if use.calls < _VARY_CALLS or use.agents > 1 or use.mean_ns < _LONG_NS:
        return None
    if not (use.arguments and use.alone):
        return None  # launches of other sizes may hide behind one grid
    spread = use.mean_ns / use.quartile_ns if use.quartile_ns else 1.0
    if spread < _VARY or _is_regular(use.lengths):
        return None
    return cause(
        "times-vary",
        use.kernel,
        share=1 - 1 / spread,
        saves=1 - 1 / spread,
        certainty="likely",
        title=f"{format_count(use.calls, 'launch', 'launches')} with the same shapes take from "
        f"{format_ns(use.least_ns)} to {format_ns(use.most_ns)}, {format_ns(use.mean_ns)} on average",
        evidence=(
            f"a quarter of them take {format_ns(use.quartile_ns)} at most, half {format_ns(use.median_ns)}: if all did "
            f"like the fastest quarter, it would be {times_as_fast(1 - 1 / spread)}",
            "its shapes give no reason: clocks, power, other work on the GPU, or the values in its data do",
        ),
        source="times",
    )


def _is_regular(lengths: tuple[int, ...]) -> bool:
    """Whether short and long launches follow each other in one pattern: then an argument that shapes do not show, such
    as the window of every other layer, is the reason."""
    ordered = sorted(lengths)
    gaps = [(after - before, (after + before) / 2) for before, after in pairwise(ordered)]
    if len(gaps) < _VARY_CALLS:
        return False
    border = max(gaps)[1]
    is_long = [length > border for length in lengths]
    return any(
        sum(one == other for one, other in zip(is_long[period:], is_long, strict=False))
        >= _REGULAR * (len(is_long) - period)
        for period in range(2, min(_LONGEST, len(is_long) // 2) + 1)
    ) and min(sum(is_long), len(is_long) - sum(is_long)) >= _BOTH * len(is_long)


def first_call(use: Use, of_kernel: KernelUses) -> Cause | None:
    """Say that the first launch took much longer than the others."""
    if use.calls < _FIRST_CALLS or use.first_ns < _FIRST * use.second_ns or use.agents > 1:
        return None
    share = (use.first_ns - use.median_ns) / use.total_ns
    if is_brief(use, of_kernel):
        return None
    return cause(
        "first-call-slow",
        use.kernel,
        share=share,
        saves=share,
        certainty="likely",
        title=f"the first launch takes {format_ns(use.first_ns)}, the others {format_ns(use.median_ns)}",
        evidence=(
            f"{format_count(use.calls, 'launch', 'launches')} with one grid: the first {format_ns(use.first_ns)}, the "
            f"median {format_ns(use.median_ns)}",
            "loading code and touching memory for the first time are part of it: a warm-up shows the kernel alone",
        ),
        source="times",
    )


def no_reuse(of_kernel: KernelUses) -> list[Cause]:
    """Say that a product of the program's own keeps no tile of its matrices in shared memory."""
    use = of_kernel.uses[0]
    if of_kernel.family.name != "gemm" or not _is_own(of_kernel):
        return []
    if not is_nvidia(use.device.gfx) or use.resources.get("lds_bytes") != 0 or use.grid is None:
        return []
    if (of_kernel.roof or 0) >= FEW or is_brief(use, of_kernel):
        return []
    return [
        cause(
            "no-reuse",
            use.kernel,
            share=0.5,
            saves=None,
            certainty="likely",
            title="each thread reads its row and its column for itself: a product that uses no shared memory",
            evidence=(
                f"its launches reserve 0 B of shared memory for {format_count(use.workgroups or 0, 'workgroup')}",
                "tiles of 16 x 16 in shared memory read each value a sixteenth as often from the caches",
            ),
            source="launch geometry",
        )
    ]


def _is_own(of_kernel: KernelUses) -> bool:
    """Whether a kernel is C++ of the program itself; Triton's products are called alike, but have no parameters."""
    library = of_kernel.family.library
    return not library or (
        library == "Triton" and ("(" in of_kernel.kernel or of_kernel.kernel.startswith("_Z"))
    )


def is_brief(use: Use, of_kernel: KernelUses) -> bool:
    """Return whether a launch does little more than start and end, so that its geometry says nothing."""
    return use.mean_ns < max(BRIEF_NS, _FLOORS * (of_kernel.floor_ns or 0))


def _near(roof: float | None) -> bool:
    return roof is not None and roof >= NEAR_ROOF


def bursts(trace: Trace, known: tuple[Device, ...]) -> list[GroupCause]:
    """Return kernels that are launched many times in a row, each launch too small to fill the GPU."""
    frame = with_geometry(timed_by_kernel(trace), known).drop_nulls("duration_ns")
    if not frame.height:
        return []
    totals = dict(frame.group_by("gpu").agg(pl.col("duration_ns").sum()).iter_rows())
    found = []
    for gpu, kernel, groups, launches, runs, total, saved in _runs(frame, known).iter_rows():
        if family(str(kernel)).name in _WAITS or total < _BURST_SHARE * totals[gpu]:
            continue
        device = known[gpu]
        each = launches / runs
        found.append(
            GroupCause(
                kernels=(str(kernel),),
                gpu=gpu,
                total_ns=total,
                calls=launches,
                cause=cause(
                    "one-launch-each",
                    str(kernel),
                    share=saved / total,
                    saves=saved / total,
                    certainty="hint",
                    title=f"{short_name(str(kernel))} is launched {each:,.0f} times in a row with "
                    f"{format_count(groups, 'workgroup')} each, for {units_of(device)}",
                    evidence=(
                        f"{format_count(launches, 'launch', 'launches')} in {format_count(runs, 'run')}, one after "
                        "another on one queue with one grid: one for each head, expert or batch entry looks like this",
                        f"one launch for all of a run fills the GPU, if none needs the result of another: at most "
                        f"{times_as_fast(saved / total)}",
                    ),
                    source="launch geometry",
                ),
            )
        )
    return sorted(found, key=lambda one: -one.total_ns * (one.cause.saves or 0))


def _runs(frame: pl.DataFrame, known: tuple[Device, ...]) -> pl.DataFrame:
    """For each kernel and number of workgroups: launches in runs, runs, their time, and what one launch for each run
    saves at most."""
    units = {place: device.compute_units for place, device in enumerate(known)}
    rows = ordered(frame, [*telling(QUEUE, frame), "start_ns"]).with_columns(
        pl.col("gpu").replace_strict(units, return_dtype=pl.Float64).alias("units")
    )
    same = [*telling([*QUEUE, "gpu", "workgroups", "workgroup_size"], frame), "kernel"]
    apart = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in same)
    late = (pl.col("start_ns") - pl.col("end_ns").shift(1)) > _BURST_GAP_NS
    runs = (
        rows.with_columns((apart | late.fill_null(True)).cum_sum().alias("run"))
        .drop_nulls(["workgroups", "units"])
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("gpu", "kernel", "workgroups", "units").first(),
            pl.len().alias("launches"),
            pl.col("duration_ns").sum().alias("total"),
        )
        .filter((pl.col("launches") >= _BURST) & (pl.col("workgroups") <= FEW * pl.col("units")))
    )
    rounds = (pl.col("launches") * pl.col("workgroups") / pl.col("units")).ceil()
    saved = pl.col("total") * (1 - rounds / pl.col("launches"))
    return (
        runs.with_columns(saved.alias("saved"))
        .group_by("gpu", "kernel", "workgroups", maintain_order=True)
        .agg(
            pl.col("launches").sum().cast(pl.Int64),
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("total").sum(),
            pl.col("saved").sum(),
        )
        .filter((pl.col("saved") >= 0.2 * pl.col("total")) & pl.col("workgroups").is_finite())
        .with_columns(pl.col("workgroups").cast(pl.Int64))
    )

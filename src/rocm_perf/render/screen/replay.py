"""Captures and replays in a terminal: the answer first, then what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.table import Table

from rocm_perf.model.results.replay import (
    CaptureReport,
    Clock,
    Difference,
    Judgement,
    RegionInfo,
    ReplayComparison,
    ReplayTiming,
    ReserveCheck,
    SnapshotInfo,
    Three,
    Timing,
    Verification,
)
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.render.lines import facts, labelled, line, paragraph, show, uncut, verdict
from rocm_perf.units import format_apart, format_bytes, format_count, format_ns, format_share

_REGIONS = 12
_RANGES = 8
_TEXTS = 4
_NAMES = 8
_SHORT_S = 0.005  # not worth a word


def print_blocks(blocks: Iterable[RenderableType], console: Console) -> None:
    """Print one block under the other."""
    for block in blocks:
        show(console, block)


def capture_blocks(report: CaptureReport, width: int) -> Iterator[RenderableType]:
    """What was captured, and what to do with it."""
    rows = list(_capture_facts(report))
    room = max(len(label) for label, _ in rows)
    yield from facts(rows, width)
    task = "full-vm" if report.changed_bytes is None else "verify"
    for path in report.snapshots:
        yield uncut(("Wrote".ljust(room), "bold"), f"  {path}")
        yield uncut(("Next".ljust(room), "bold"), f"  rocm-perf replay {task} {shlex.quote(path)}")


def _capture_facts(report: CaptureReport) -> Iterator[tuple[str, str]]:
    several = len(report.snapshots) > 1
    number = f", launch {report.launch:,} of the program" if report.launch else ""
    yield "Captured", report.name or report.kernel
    yield (
        "Dispatch",
        f"{report.dispatch:,} of those that match{number}{', in the first process' if several else ''}",
    )
    share = format_share(report.stored_bytes / report.raw_bytes) if report.raw_bytes else "0 %"
    size = f"{format_bytes(report.raw_bytes)} raw, {format_bytes(report.stored_bytes)} on disk ({share})"
    regions = format_count(report.regions, "region")
    where = f" of {len(report.snapshots)} processes" if several else ""
    yield "Memory", f"{regions}{where}, {size}; {_changed_text(report.changed_bytes)}"
    if report.seconds:
        yield "Time", _time_text(report.seconds)
    for text in _some(report.uncovered):
        yield "Not covered", text
    for text in report.not_seen:
        yield "Note", text


def seen_blocks(seen: Sequence[tuple[str, int]], width: int) -> Iterator[RenderableType]:
    """Kernels that were launched where none was the right one."""
    shown = seen[:_NAMES]
    yield fitted(
        [
            GridColumn("launches", [f"{count:,}" for _, count in shown], numeric=True),
            GridColumn("kernel", [name for name, _ in shown], numeric=False, code=True),
        ],
        width,
    )
    if len(seen) > len(shown):
        yield line((f"and {len(seen) - len(shown):,} more", "dim"))


def _changed_text(changed: int | None) -> str:
    if changed is None:
        return "what the kernel changed was not saved, so it cannot be verified"
    return f"the kernel changed {format_bytes(changed)}" if changed else "the kernel changed nothing"


def _time_text(seconds: Mapping[str, float]) -> str:
    """How long the program was held up, and what storing took after it had ended."""
    stages = {"drain": "for its earlier work", "before": "to save memory", "after": "to save what changed"}
    parts = [
        f"{seconds[name]:.2f} s {what}" for name, what in stages.items() if seconds.get(name, 0) >= _SHORT_S
    ]
    held = sum(took for name, took in seconds.items() if name != "store")
    stored = f"storing took {seconds.get('store', 0):.2f} s"
    if held < _SHORT_S:
        return stored
    return (
        f"the program was held up for {held:.2f} s"
        + (f" ({', '.join(parts)})" if parts else "")
        + f"; {stored}"
    )


def info_blocks(info: SnapshotInfo, width: int) -> Iterator[RenderableType]:
    """What is in a snapshot, and that its hashes are right."""
    yield from facts(_facts(info), width)
    yield from _regions(info.regions, width)
    lists = (("Not covered", info.uncovered), ("Note", info.notes), ("Missing", info.missing))
    yield from facts(((label, text) for label, texts in lists for text in _some(texts)), width)
    if info.checked_files:
        yield line(("Every hash is right", "green"), f": {format_count(info.checked_files, 'file')} checked")
    else:
        yield line("This layout has no hashes to check.")


def _facts(info: SnapshotInfo) -> Iterator[tuple[str, str]]:
    yield "Kernel", info.name or info.kernel
    if info.name and info.name != info.kernel:
        yield "Symbol", info.kernel
    launch = f", launch {info.launch:,} of the program" if info.launch else ""
    yield "Dispatch", f"{info.dispatch:,} of those that matched{launch}"
    yield "Launch", _geometry(info)
    device = info.device
    memory = format_bytes(device.memory_bytes) if device.memory_bytes else ""
    parts = (device.name, device.gfx, memory, info.driver, info.runtime)
    yield "Captured on", ", ".join(part for part in parts if part) or "unknown"
    if info.command:
        yield "Command", shlex.join(info.command)
    made = ", ".join(part for part in (info.producer, info.created_at) if part)
    if made:
        yield "Made by", made
    yield "Size", f"{format_bytes(info.raw_bytes)} raw, {format_bytes(info.stored_bytes)} on disk"
    if info.changed_bytes is None:
        yield "Written", "unknown: the state after the kernel was not saved, so it cannot be verified"
    elif not info.changed_bytes:
        yield "Written", "nothing that was not there before"
    else:
        yield "Written", f"{format_bytes(info.changed_bytes)} by the kernel, in blocks of 64 KiB"


def _geometry(info: SnapshotInfo) -> str:
    lds = info.group_segment_bytes + info.dynamic_lds_bytes
    parts = [f"{_by(info.grid)} work-items in groups of {_by(info.workgroup)}"]
    if lds:
        parts.append(f"{format_bytes(lds)} LDS ({format_bytes(info.dynamic_lds_bytes)} dynamic)")
    if info.private_segment_bytes:
        parts.append(f"{format_bytes(info.private_segment_bytes)} scratch per work-item")
    return "; ".join([*parts, f"{format_bytes(info.kernarg_bytes)} of arguments; {info.code_object}"])


def _regions(regions: Sequence[RegionInfo], width: int) -> Iterator[RenderableType]:
    largest = sorted(regions, key=lambda region: (not region.saved, -region.size))[:_REGIONS]
    if not largest:
        return
    yield line((f"{format_count(len(regions), 'region')} of memory", "bold"))
    yield fitted(
        [
            GridColumn("address", [region.base for region in largest], numeric=True),
            GridColumn("size", [format_bytes(region.size) for region in largest], numeric=True),
            GridColumn("written", [_or_dash(region.changed_bytes) for region in largest], numeric=True),
            GridColumn("on disk", [_or_dash(region.stored_bytes) for region in largest], numeric=True),
            GridColumn(
                "kind", [" ".join((region.kind, region.name)).strip() for region in largest], numeric=False
            ),
        ],
        width,
    )
    if len(regions) > len(largest):
        yield line((f"and {len(regions) - len(largest):,} more (--json shows all)", "dim"))


def reserve_blocks(check: ReserveCheck, width: int) -> Iterator[RenderableType]:
    """Whether the addresses can be had, and which cannot."""
    style, text = {
        "exact": ("green", "every range can be had at its address"),
        "failed": ("red", "a range cannot be reserved here"),
        "relocated": ("yellow", "a range was given another address"),
    }[check.verdict]
    yield from verdict(check.verdict, f"bold {style}", f": {text}", width)
    pairs = (("On", check.device), ("Reason", check.reason))
    yield from facts((pair for pair in pairs if pair[1]), width)
    wrong = [one for one in check.reservations if not one.exact]
    shown = (wrong or check.reservations)[:_RANGES]
    yield _plain_table([(one.base, format_bytes(one.size), one.got or "nothing") for one in shown])
    rest = len(wrong or check.reservations) - len(shown)
    if rest:
        yield line((f"and {rest:,} more (--json shows all)", "dim"))


def _plain_table(rows: Sequence[tuple[str, str, str]]) -> Table:
    wanted, sizes, given = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [
        GridColumn("wanted", wanted, True),
        GridColumn("size", sizes, True),
        GridColumn("given", given, True),
    ]
    return fitted(columns, 80)


def timing_blocks(replay: ReplayTiming, width: int) -> Iterator[RenderableType]:
    """How long the kernel takes, and how it was launched."""
    yield from facts(_timing_facts(replay), width)
    unit = _unit(replay.timing)
    yield _timings({"": replay.timing}, unit, width)
    if replay.cache_note:
        yield from labelled("Note", replay.cache_note, width)
    yield from paragraph(_times_note(replay.timing, unit), width, style="dim")


def _timing_facts(replay: ReplayTiming) -> Iterator[tuple[str, str]]:
    timing = replay.timing
    yield "Kernel", replay.name or replay.kernel
    yield "On", replay.device
    yield "Iterations", f"{replay.iterations:,} after {replay.warmup:,} to warm up"
    yield "Recopy", f"{'yes' if replay.recopy else 'no'}: {replay.mode}"
    yield "GPU time", f"average {format_ns(timing.mean_ns)}, median {format_ns(timing.median_ns)}"
    yield "Wall", f"{format_ns(replay.wall_ns)} in all"
    if replay.clock is not None:
        yield "Clock", _clock_text(replay.clock)


def comparison_blocks(comparison: ReplayComparison, width: int) -> Iterator[RenderableType]:
    """Whether B is faster than A, and by how much."""
    style = {"better": "green", "worse": "red", "no difference shown": "yellow"}[comparison.verdict]
    why = f" ({comparison.interval_unavailable})" if comparison.interval_unavailable else ""
    interval = comparison.interval
    limits = f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
    answer = f"{why}: B against A, speedup {comparison.speedup:.3f}x{limits}"
    yield from verdict(comparison.verdict, f"bold {style}", answer, width)
    labels = (("A", comparison.base.label), ("B", comparison.new.label))
    yield from facts((*_comparison_facts(comparison), *labels), width)
    unit = _unit(comparison.base, comparison.again, comparison.new)
    rows = {"A": comparison.base, "A again": comparison.again, "B": comparison.new}
    yield _timings(rows, unit, width)
    noise = f"A was loaded twice: a difference of up to {_percent(comparison.noise, 2)} is noise."
    notes = (
        _times_note(comparison.base, unit),
        noise if interval else "",
        "Results are not compared here: replay verify does.",
    )
    yield from paragraph(" ".join(filter(None, notes)), width, style="dim")


def _comparison_facts(comparison: ReplayComparison) -> Iterator[tuple[str, str]]:
    yield "Kernel", comparison.name or comparison.kernel
    yield "On", comparison.device
    yield (
        "Run",
        f"{format_count(comparison.iterations, 'iteration')} after {comparison.warmup:,} to warm up, "
        f"{comparison.mode}; {format_ns(comparison.wall_ns)} in all",
    )
    if comparison.clock is not None:
        yield "Clock", _clock_text(comparison.clock)


def _clock_text(clock: Clock) -> str:
    return (
        f"{clock.median_mhz:,.0f} MHz before the launches (from {clock.min_mhz:,.0f} to {clock.max_mhz:,.0f})"
    )


def _timings(timings: Mapping[str, Timing], unit: Unit, width: int) -> Table:
    def column(heading: str, value: Callable[[Timing], float]) -> GridColumn:
        return GridColumn(heading, [unit.format(value(one)) for one in timings.values()], numeric=True)

    intervals = [_interval(one.interval_ns, unit) for one in timings.values()]
    columns = [
        column("median", lambda one: one.median_ns),
        GridColumn("interval", intervals, numeric=True),
        column("mean", lambda one: one.mean_ns),
        column("p5", lambda one: one.p5_ns),
        column("p95", lambda one: one.p95_ns),
        column("min", lambda one: one.min_ns),
        column("max", lambda one: one.max_ns),
    ]
    if len(timings) > 1:  # 80 columns hold no more, and --json has the mean
        columns[2] = GridColumn("", list(timings), numeric=False)
        columns.insert(0, columns.pop(2))
    return fitted(columns, width)


def _times_note(timing: Timing, unit: Unit) -> str:
    why = timing.interval_unavailable
    interval = f"interval of the median at {_percent(timing.confidence)}, by bootstrap"
    return f"Times in {unit.name} by device timestamps; {f'no interval: {why}' if why else interval}."


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _interval(interval: tuple[float, float] | None, unit: Unit) -> str:
    return "-" if interval is None else " to ".join(map(unit.format, interval))


@dataclass(frozen=True)
class Unit:
    """The unit of a whole table, so that its columns can be compared, and stay narrow."""

    name: str
    ns: float

    def format(self, value_ns: float) -> str:
        return f"{value_ns / self.ns:,.3f}"


_UNITS = (Unit("microseconds", 1e3), Unit("milliseconds", 1e6), Unit("seconds", 1e9))


def _unit(*timings: Timing) -> Unit:
    slowest = max(one.max_ns for one in timings)
    return next((unit for unit in _UNITS if slowest < 1000 * unit.ns), _UNITS[-1])


def verification_blocks(verification: Verification, width: int) -> Iterator[RenderableType]:
    """Whether a replay gives the application's result, and what that rests on."""
    style = {
        "same": "green",
        "same within tolerance": "green",
        "different": "red",
        "cannot be verified": "red",
    }[verification.verdict]
    yield from verdict(verification.verdict, f"bold {style}", f": {verification.reason}", width)
    yield from facts(_verification_facts(verification), width)


def _verification_facts(verification: Verification) -> Iterator[tuple[str, str]]:
    yield "Kernel", verification.name or verification.kernel
    if verification.device:
        yield "On", verification.device
    if verification.spoilt_bytes:
        yield (
            "Spoilt",
            f"{format_bytes(verification.spoilt_bytes)} before each replay, which the kernel must bring back: "
            "in the application it overwrote them with the values that were there already",
        )
    for title, judgement in (("Replay", verification.captured), ("New code", verification.new)):
        if judgement is not None:
            yield title, _judgement_text(judgement)
            for difference in judgement.differences:
                yield from (("", text) for text in _difference_lines(difference))
    if verification.deterministic is not None:
        is_steady = verification.deterministic
        yield "Replays", "gave the same bytes" if is_steady else "differ: the kernel is not deterministic"
    for control in verification.controls:
        yield "Control", f"{control.name}: {control.outcome} ({control.words})"


def _judgement_text(judgement: Judgement) -> str:
    compared = f"{format_bytes(judgement.compared_bytes)} compared"
    if judgement.verdict == "same":
        return f"bit for bit the same, {compared}"
    count = judgement.differing_bytes
    differ = f"{format_count(count, 'byte')} {'differs' if count == 1 else 'differ'}"
    tolerance = f"; {judgement.tolerance}" if judgement.tolerance else ""
    return f"{judgement.verdict}: {differ}, {compared}{tolerance}"


def _difference_lines(difference: Difference) -> Iterator[str]:
    unwritten = "which the kernel did not write in the application"
    where = "written by the kernel" if difference.is_output else unwritten
    yield (
        f"region {difference.region}, offset {difference.offset:,} ({where}): {difference.differing_bytes:,} of "
        f"{format_count(difference.compared_bytes, 'byte')}; expected {difference.expected}, got {difference.got}"
    )
    values = []
    if difference.expected_f32 is not None and difference.got_f32 is not None:
        values.append("as f32 {} and {}".format(*format_apart(difference.expected_f32, difference.got_f32)))
    if difference.expected_f16 is not None and difference.got_f16 is not None:
        values.append("as f16 {} and {}".format(*format_apart(difference.expected_f16, difference.got_f16)))
    if values:
        yield "; ".join(values)


def _some(texts: Sequence[str]) -> list[str]:
    rest = len(texts) - _TEXTS
    return [*texts[:_TEXTS], f"and {rest:,} more (--json shows all)"] if rest > 0 else list(texts)


def _by(sizes: Three) -> str:
    used = list(sizes)
    while len(used) > 1 and used[-1] == 1:
        used.pop()
    return " x ".join(f"{size:,}" for size in used)


def _or_dash(size: int) -> str:
    return format_bytes(size) if size else "-"

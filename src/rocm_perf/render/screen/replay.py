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
from rocm_perf.units import format_bytes, format_count, format_ns, format_share

_REGIONS = 12
_RANGES = 8
_TEXTS = 4
_NAMES = 8
_SHORT_S = 0.005  # not worth a word


def print_blocks(blocks: Iterable[RenderableType], console: Console) -> None:
    for block in blocks:
        show(console, block)


def capture_blocks(report: CaptureReport, width: int) -> Iterator[RenderableType]:
    """What was captured, and what to do with it."""
    told = list(_capture_facts(report))
    room = max(len(label) for label, _ in told)
    yield from facts(told, width)
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
    yield "Memory", f"{regions}{where}, {size}; {_changed_words(report.changed_bytes)}"
    if report.seconds:
        yield "Time", _time_words(report.seconds)
    for words in _some(report.uncovered):
        yield "Not covered", words
    for words in report.not_seen:
        yield "Note", words


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


def _changed_words(changed: int | None) -> str:
    if changed is None:
        return "what the kernel changed was not saved, so it cannot be verified"
    return f"the kernel changed {format_bytes(changed)}" if changed else "the kernel changed nothing"


def _time_words(seconds: Mapping[str, float]) -> str:
    """`store` comes after the program has ended; all else holds it up."""
    stages = {"drain": "for its earlier work", "before": "to save memory", "after": "to save what changed"}
    parts = [
        f"{seconds[name]:.2f} s {words}" for name, words in stages.items() if seconds.get(name, 0) >= _SHORT_S
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
    words = (device.name, device.gfx, memory, info.driver, info.runtime)
    yield "Captured on", ", ".join(word for word in words if word) or "unknown"
    if info.command:
        yield "Command", shlex.join(info.command)
    made = ", ".join(word for word in (info.producer, info.created_at) if word)
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
        parts.append(f"{format_bytes(info.private_segment_bytes)} scratch a work-item")
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


def reserve_blocks(found: ReserveCheck, width: int) -> Iterator[RenderableType]:
    style, words = {
        "exact": ("green", "every range can be had at its address"),
        "failed": ("red", "a range cannot be reserved here"),
        "relocated": ("yellow", "a range was given another address"),
    }[found.verdict]
    yield from verdict(found.verdict, f"bold {style}", f": {words}", width)
    pairs = (("On", found.device), ("Reason", found.reason))
    yield from facts((pair for pair in pairs if pair[1]), width)
    wrong = [one for one in found.reservations if not one.exact]
    shown = (wrong or found.reservations)[:_RANGES]
    yield _plain_table([(one.base, format_bytes(one.size), one.got or "nothing") for one in shown])
    rest = len(wrong or found.reservations) - len(shown)
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


def timing_blocks(found: ReplayTiming, width: int) -> Iterator[RenderableType]:
    yield from facts(_run_facts(found), width)
    unit = _unit(found.timing)
    yield _timings({"": found.timing}, unit, width)
    if found.cache_note:
        yield from labelled("Note", found.cache_note, width)
    yield from paragraph(_times_note(found.timing, unit), width, style="dim")


def comparison_blocks(found: ReplayComparison, width: int) -> Iterator[RenderableType]:
    style = {"better": "green", "worse": "red", "no difference shown": "yellow"}[found.verdict]
    why = f" ({found.interval_unavailable})" if found.interval_unavailable else ""
    ratio = f"{found.speedup:.3f}x" + (
        f" [{found.interval[0]:.3f}, {found.interval[1]:.3f}]" if found.interval else ""
    )
    yield from verdict(found.verdict, f"bold {style}", f"{why}: B against A, speedup {ratio}", width)
    yield from facts((*_run_facts(found), ("A", found.base.label), ("B", found.new.label)), width)
    unit = _unit(found.base, found.again, found.new)
    yield _timings({"A": found.base, "A again": found.again, "B": found.new}, unit, width)
    noise = (
        f"A was loaded twice: a difference of up to {_percent(found.noise, 2)} is noise."
        if found.interval
        else ""
    )
    words = (_times_note(found.base, unit), noise, "Results are not compared here: replay verify does.")
    yield from paragraph(" ".join(filter(None, words)), width, style="dim")


def _run_facts(found: ReplayTiming | ReplayComparison) -> Iterator[tuple[str, str]]:
    yield "Kernel", found.name or found.kernel
    yield "On", found.device
    yield (
        "Run",
        f"{format_count(found.iterations, 'iteration')} after {found.warmup:,} to warm up, {found.mode}; "
        f"{format_ns(found.wall_ns)} in all",
    )
    if found.clock is not None:
        yield "Clock", _clock_words(found.clock)


def _clock_words(clock: Clock) -> str:
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
    told = (
        f"no interval: {why}"
        if why
        else f"interval of the median at {_percent(timing.confidence)}, by bootstrap"
    )
    return f"Times in {unit.name} by device timestamps; {told}."


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _interval(interval: tuple[float, float] | None, unit: Unit) -> str:
    return "-" if interval is None else " to ".join(map(unit.format, interval))


@dataclass(frozen=True)
class Unit:
    """One for a whole table, so that its columns can be compared, and stay narrow."""

    name: str
    ns: float

    def format(self, value_ns: float) -> str:
        return f"{value_ns / self.ns:,.3f}"


_UNITS = (Unit("microseconds", 1e3), Unit("milliseconds", 1e6), Unit("seconds", 1e9))


def _unit(*timings: Timing) -> Unit:
    slowest = max(one.max_ns for one in timings)
    return next((unit for unit in _UNITS if slowest < 1000 * unit.ns), _UNITS[-1])


def verification_blocks(found: Verification, width: int) -> Iterator[RenderableType]:
    style = {
        "same": "green",
        "same within tolerance": "green",
        "different": "red",
        "cannot be verified": "red",
    }
    yield from verdict(found.verdict, f"bold {style[found.verdict]}", f": {found.reason}", width)
    yield from facts(_verification_facts(found), width)


def _verification_facts(found: Verification) -> Iterator[tuple[str, str]]:
    yield "Kernel", found.name or found.kernel
    if found.device:
        yield "On", found.device
    if found.spoilt_bytes:
        words = (
            f"{format_bytes(found.spoilt_bytes)} before each replay, which the kernel must bring back: "
            "in the application it overwrote them with the values that were there already"
        )
        yield "Spoilt", words
    for title, judged in (("Replay", found.captured), ("New code", found.new)):
        if judged is not None:
            yield title, _judged(judged)
            for difference in judged.differences:
                yield from (("", words) for words in _difference(difference))
    if found.deterministic is not None:
        words = "gave the same bytes" if found.deterministic else "differ: the kernel is not deterministic"
        yield "Replays", words
    for control in found.controls:
        yield "Control", f"{control.name}: {control.outcome} ({control.words})"


def _judged(judged: Judgement) -> str:
    compared = f"{format_bytes(judged.compared_bytes)} compared"
    if judged.verdict == "same":
        return f"bit for bit the same, {compared}"
    differ = f"{format_count(judged.differing_bytes, 'byte')} {'differs' if judged.differing_bytes == 1 else 'differ'}"
    return f"{judged.verdict}: {differ}, {compared}" + (f"; {judged.tolerance}" if judged.tolerance else "")


def _difference(found: Difference) -> Iterator[str]:
    where = (
        "written by the kernel" if found.is_output else "which the kernel did not write in the application"
    )
    yield (
        f"region {found.region}, offset {found.offset:,} ({where}): {found.differing_bytes:,} of "
        f"{format_count(found.compared_bytes, 'byte')}; expected {found.expected}, got {found.got}"
    )
    values = []
    if found.expected_f32 is not None and found.got_f32 is not None:
        values.append(f"as f32 {found.expected_f32:g} and {found.got_f32:g}")
    if found.expected_f16 is not None and found.got_f16 is not None:
        values.append(f"as f16 {found.expected_f16:g} and {found.got_f16:g}")
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

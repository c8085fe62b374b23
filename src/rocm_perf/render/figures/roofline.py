"""The roofline: kernels as dots under the ceilings of their GPU, on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rocm_perf.model.results.roofline import KernelRoofline, Roofline
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.labels import Room, around, beside, leader, written
from rocm_perf.render.figures.lettering import fitted, text_width
from rocm_perf.render.figures.parts import Part, legend, notes
from rocm_perf.render.figures.roofs import Plot, Roof, device_memory, drawn_roofs, roofs
from rocm_perf.render.figures.scales import Log, decades
from rocm_perf.render.sections.section import rate
from rocm_perf.units import format_count, format_list, format_ns, format_share

_LEFT, _RIGHT, _TOP, _BELOW = 52, 24, 24, 40
_LABELLED = 8  # kernels, by their time
_REASONS = 3  # why kernels have no place
_SMALLEST, _LARGEST = 3.5, 16.0  # radius of a dot
_FLAT = 6.0  # how far the flat part of the highest ceiling goes on, as a factor
_REGIMES = {
    "compute": ("fill-1", "near a peak rate"),
    "memory": ("fill-3", "near a bandwidth"),
    "latency": ("fill-2", "far below both"),
    "unknown": ("fill-8", "regime not known"),
}


def roofline_figure(roofline: Roofline, width: float = WIDE) -> Drawn:
    """One diagram for each model of GPU whose kernels have a known work."""
    if roofline.unavailable:
        return Missing(roofline.unavailable)
    panels = [
        _panel(roofline, place, width) for place in range(len(roofline.gpus)) if _placed(roofline, place)
    ]
    if not panels:
        return Missing(next((row.reason for row in roofline.kernels), "no kernels were recorded"))
    body: list[str] = []
    height = 0.0
    for panel in panels:
        body.append(svg.moved(panel.body, height))
        height += panel.height
    return Figure(
        title=" ".join(panel.title for panel in panels), width=width, height=height, body=tuple(body)
    )


def _placed(roofline: Roofline, gpu: int) -> list[KernelRoofline]:
    """Kernels of this GPU whose place is known, longest total time first."""
    return [
        row
        for row in roofline.kernels
        if row.gpu == gpu and (row.operational_intensity.value or 0) > 0 and (row.tflops.value or 0) > 0
    ]


def _panel(roofline: Roofline, place: int, width: float) -> Figure:
    gpu, kernels = roofline.gpus[place], _placed(roofline, place)
    lines = roofs(gpu, frozenset(part.ceiling for row in kernels for part in row.work))
    plot = _plot(kernels, lines, width)
    room = Room(plot.box)
    room.take(around(_centre(row, plot), _radius(row, kernels)) for row in kernels)
    body = [
        svg.text((0, 14), fitted(gpu.name, width, 13), "strong", size=13),
        *_axes(plot),
        *drawn_roofs(lines, plot, room),
        *_dots(kernels, plot),
        *_labels(kernels, plot, room),
    ]
    key = legend(_legend(kernels), left=_LEFT, top=plot.box.bottom + _BELOW, width=width - _LEFT)
    below = plot.box.bottom + _BELOW + key.height
    remarks = notes(_notes(roofline, place, lines), left=_LEFT, top=below, width=width - _LEFT)
    body += (*key.body, *remarks.body)
    title = f"Roofline of {gpu.name}: {format_count(len(kernels), 'kernel')} under its ceilings."
    return Figure(title=title, width=width, height=below + remarks.height + 16, body=tuple(body))


def _plot(kernels: Sequence[KernelRoofline], lines: Sequence[Roof], width: float) -> Plot:
    """Axes around all kernels, the ceilings, and the ridges of the device memory."""
    slowest = device_memory(lines)
    rates = [roof.rate for roof in lines if roof.kind == "compute"]
    ridges = [rate / slowest.rate for rate in rates] if slowest else []
    x = [row.operational_intensity.value or 1.0 for row in kernels] + ridges
    y = [row.tflops.value or 1.0 for row in kernels] + rates
    height = max(min(0.48 * width, 430), 300)
    return Plot(Log(*_around(x, above=_FLAT), _LEFT, width - _RIGHT), Log(*_around(y), _TOP + height, _TOP))


def _around(values: Sequence[float], above: float = 2.0) -> tuple[float, float]:
    """Bounds with some room below the lowest value and a factor above the highest; two decades at least."""
    low, high = min(values) / 3, max(values) * above
    return low, max(high, 100 * low)


def _axes(plot: Plot) -> Iterator[str]:
    box = plot.box
    for tick in decades(plot.x.low, plot.x.high):
        x = plot.x(tick)
        yield svg.line((x, box.top), (x, box.bottom), "grid")
        yield svg.text((x, box.bottom + 15), _tick(tick), "soft", size=11, anchor="middle")
    for tick in decades(plot.y.low, plot.y.high):
        y = plot.y(tick)
        yield svg.line((box.left, y), (box.right, y), "grid")
        yield svg.text((box.left - 6, y + 4), _tick(tick), "soft", size=11, anchor="end")
    yield svg.polyline(((box.left, box.top), (box.left, box.bottom), (box.right, box.bottom)), "axis")
    across = "operational intensity: FLOP per byte of device memory"
    if text_width(across, 11) > box.width:
        across = "FLOP per byte of device memory"
    yield svg.text((box.left + box.width / 2, box.bottom + 31), across, size=11, anchor="middle")
    middle = (11, box.top + box.height / 2)
    yield svg.turned(svg.text(middle, "TFLOP/s", size=11, anchor="middle"), middle, -90)


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _centre(row: KernelRoofline, plot: Plot) -> svg.Point:
    return plot.at(row.operational_intensity.value or 0, row.tflops.value or 0)


def _radius(row: KernelRoofline, kernels: Sequence[KernelRoofline]) -> float:
    """Areas are as times are to one another, down to the smallest dot that can be seen."""
    most = max(other.total_ns for other in kernels) or 1
    return max(_LARGEST * math.sqrt(row.total_ns / most), _SMALLEST)


def _dots(kernels: Sequence[KernelRoofline], plot: Plot) -> Iterator[str]:
    """The largest first, so that no dot hides a smaller one."""
    for row in kernels:
        centre, radius = _centre(row, plot), _radius(row, kernels)
        ring = (svg.circle(centre, radius + 3, "doubtful"),) if row.percent_of_roof.doubt else ()
        yield svg.mark(_about(row), svg.circle(centre, radius, f"{_REGIMES[row.regime][0]} dot"), *ring)


def _about(row: KernelRoofline) -> str:
    lines = [
        row.short_name,
        f"{format_ns(row.total_ns)} in {format_count(row.calls, 'call')}",
        f"{rate(row.operational_intensity)} FLOP/B, {rate(row.tflops)} TFLOP/s, {rate(row.tbytes)} TB/s",
        f"{rate(row.percent_of_roof)} % of its roof; {row.position or 'no ceiling known'}",
        f"{row.regime}: {row.reason}",
        f"basis: {row.basis}",
    ]
    if row.percent_of_roof.doubt:
        lines.append(f"doubtful: {row.percent_of_roof.doubt}")
    return "\n".join(lines)


def _labels(kernels: Sequence[KernelRoofline], plot: Plot, room: Room) -> Iterator[str]:
    for row in kernels[:_LABELLED]:
        centre, radius = _centre(row, plot), _radius(row, kernels)
        label = fitted(row.short_name, min(plot.box.width * 0.35, 220), 11)
        others = [box for box in room.taken if box != around(centre, radius)]
        box = Room(room.inside, others, room.avoided).first_free(beside(centre, radius, label, 11))
        if box is not None:
            room.take((box,))
            yield from leader(centre, radius, box)
            yield written(box, label, "strong halo", 11)


def _legend(kernels: Sequence[KernelRoofline]) -> list[Part]:
    total = sum(row.total_ns for row in kernels) or 1
    times = {name: sum(row.total_ns for row in kernels if row.regime == name) for name in _REGIMES}
    return [
        Part(name=f"{name}: {meaning},", value=times[name], look=look, said=format_share(times[name] / total))
        for name, (look, meaning) in _REGIMES.items()
        if any(row.regime == name for row in kernels)
    ]


def _notes(roofline: Roofline, place: int, lines: Sequence[Roof]) -> Iterator[str]:
    """What the figure cannot show by itself: sizes, doubts, where ceilings come from, and who is missing."""
    gpu = roofline.gpus[place]
    here = [row for row in roofline.kernels if row.gpu == place]
    kernels = _placed(roofline, place)
    yield "Area of a dot: total time of the kernel. Shares are of the time of the kernels shown."
    if any(row.percent_of_roof.doubt for row in kernels):
        yield "Dashed ring: above its roof, which cannot be; its work or its ceiling is doubtful."
    origins = dict.fromkeys(roof.origin for roof in lines)
    yield (
        f"Ceilings: {'; '.join(origins)}."
        if origins
        else f"No ceilings: {gpu.unavailable or 'none is known'}."
    )
    yield from _absent([row for row in here if row not in kernels], sum(row.total_ns for row in here))


def _absent(kernels: Sequence[KernelRoofline], total_ns: int) -> Iterator[str]:
    """Which kernels have no place, and why; the reasons that concern most time."""
    reasons: dict[str, list[KernelRoofline]] = {}
    for row in kernels:
        reasons.setdefault(_why_absent(row), []).append(row)
    ordered = sorted(reasons.items(), key=lambda entry: -sum(row.total_ns for row in entry[1]))
    for why, rows in ordered[:_REASONS]:
        share = format_share(sum(row.total_ns for row in rows) / (total_ns or 1))
        names = format_list([fitted(row.short_name, 180, 11) for row in rows], most=3)
        yield f"Not placed, {share} of the kernel time: {names} ({why})."
    if len(ordered) > _REASONS:
        rest = sum(len(rows) for _, rows in ordered[_REASONS:])
        yield f"Not placed for other reasons: {format_count(rest, 'kernel')}."


def _why_absent(row: KernelRoofline) -> str:
    for quantity in (row.operational_intensity, row.tflops):
        if quantity.unavailable is not None:
            return quantity.unavailable
    return "no floating-point operations: a logarithmic axis has no place for 0"

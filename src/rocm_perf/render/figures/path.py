"""The critical path: what the wall time consists of, and which kernels lie on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocm_perf.model.results.path import CriticalPath, KernelOnPath
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.parts import LINE, SIZE, Part, bar_rows, legend, stacked_bar
from rocm_perf.render.sections.path import NO_PATH, impact, readable
from rocm_perf.units import format_count, format_ns, format_share

_LOOKS: Mapping[str, str] = {
    "kernel": "fill-1",
    "copy": "fill-4",
    "collective": "fill-3",
    "api": "fill-2",
    "op": "fill-7 faint",
    "host": "fill-7",
    "launch_latency": "fill-5",
    "queue_gap": "fill-8",
    "sync_return": "fill-6",
    "event_wait": "fill-6 faint",
    "room_wait": "fill-8 faint",
    "collective_wait": "fill-3 faint",
    "unrecorded": "idle",
}
_BAR = 26
_KERNELS = 8


def path_figure(path: CriticalPath, short: Callable[[str], str] = str, width: float = WIDE) -> Drawn:
    """The path as a bar by kind, longest first, and the kernels with most of it and their slack."""
    if not path.links or not path.total_ns:
        return Missing("; ".join(path.missing) or NO_PATH)
    parts = [
        _part(kind, time, path.total_ns) for kind, time in sorted(path.by_kind.items(), key=_longest) if time
    ]
    key = legend(parts, left=0, top=_BAR + 6, width=width)
    kernels = [_kernel(row, short, path.wall_ns) for row in path.by_kernel[:_KERNELS] if row.path_ns]
    top = _BAR + 6 + key.height
    body = [*stacked_bar(parts, svg.Box(0, 0, width, _BAR)), *key.body]
    if kernels:
        heading = "Kernels on the path; slack: how much later one could end without delaying anything"
        short_heading = "Kernels on the path, and their slack"
        body.append(
            svg.text((0, top + 22), heading if width >= WIDE else short_heading, "soft", size=SIZE - 1)
        )
        top += 30
        body += bar_rows(kernels, width=width, top=top, whole=1.0)
    return Figure(
        title=f"Critical path of {format_ns(path.total_ns)}: {', '.join(_said(part) for part in parts[:3])}.",
        width=width,
        height=top + len(kernels) * LINE + 4,
        body=tuple(body),
    )


def _longest(entry: tuple[str, int]) -> int:
    return -entry[1]


def _said(part: Part) -> str:
    return f"{part.name} {part.said}"


def _part(kind: str, time_ns: int, total_ns: int) -> Part:
    return Part(
        name=readable(kind),
        value=time_ns,
        look=_LOOKS.get(kind, "idle"),
        said=f"{format_share(time_ns / total_ns)} ({format_ns(time_ns)})",
    )


def _kernel(row: KernelOnPath, short: Callable[[str], str], wall_ns: int) -> Part:
    return Part(
        name=short(row.kernel),
        value=row.critical_path_score,
        look="fill-1",
        said=f"{format_share(row.critical_path_score)}, slack {format_ns(row.slack_median_ns)}",
        about=f"{format_ns(row.path_ns)} on the path in {format_count(row.dispatches, 'dispatch', 'dispatches')}\n"
        f"10 % off every dispatch saves {impact(row, wall_ns)} of the wall",
    )

"""How each GPU spent its time: busy, and idle by cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocm_perf.model.results.gaps import CAUSE_NAMES as CAUSES
from rocm_perf.model.results.gaps import Gaps, PlaceGaps
from rocm_perf.model.results.times import DeviceTime
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import text_width
from rocm_perf.render.figures.parts import SIZE, Part, legend, notes, stacked_bar
from rocm_perf.units import format_ns, format_share

LOOKS: Mapping[str, str] = {
    "busy": "fill-1",
    "host_sync": "fill-6",
    "host_api": "fill-2",
    "copy": "fill-4",
    "framework": "fill-7",
    "loading": "fill-2 faint",
    "host_busy": "fill-7 faint",
    "launch_latency": "fill-5",
    "event": "fill-3",
    "collective": "fill-3 faint",
    "queue_gap": "fill-8",
    "unrecorded": "fill-8 faint",
    "nothing_recorded": "idle",
}
_NAMES = {"busy": "busy", **CAUSES}
_BAR, _ROW = 22, 30
_MOST = 16  # GPUs that are drawn


def idle_figure(gaps: Gaps, devices: Sequence[DeviceTime], width: float = WIDE) -> Drawn:
    """One bar per GPU between its first and last work, busy time first."""
    causes = {_key(place): place.causes for place in gaps.places if place.level == "gpu"}
    rows = sorted((device for device in devices if device.window_ns > 0), key=_order)
    if not rows:
        return Missing(gaps.unavailable or "no GPU has a recorded time")
    if gaps.unavailable:
        return Missing(gaps.unavailable)
    bars = [(device, _times(device, causes.get(_key(device), {}))) for device in rows[:_MOST]]
    several_nodes = len({device.node for device in rows}) > 1
    names = [_name(device, several_nodes=several_nodes) for device, _ in bars]
    room = max(text_width(name, SIZE) for name in names) + 10
    body: list[str] = []
    for place, (name, (_, times)) in enumerate(zip(names, bars, strict=True)):
        top = place * _ROW
        body.append(svg.text((0, top + 15), name, size=SIZE))
        body += stacked_bar(_parts(times), svg.Box(room, top, width - room, _BAR))
    key = legend(_parts(_summed([times for _, times in bars])), left=0, top=len(bars) * _ROW, width=width)
    below = len(bars) * _ROW + key.height
    remarks = notes(_remarks(gaps, len(rows)), left=0, top=below, width=width)
    return Figure(
        title=f"Busy and idle time of {len(rows)} GPUs by cause."
        if len(rows) > 1
        else "Busy and idle time by cause.",
        width=width,
        height=below + remarks.height,
        body=(*body, *key.body, *remarks.body),
    )


def _key(place: DeviceTime | PlaceGaps) -> tuple[int, int | None]:
    return place.node, place.agent_id


def _order(device: DeviceTime) -> tuple[int, int]:
    return device.node, -1 if device.agent_id is None else device.agent_id


def _name(device: DeviceTime, *, several_nodes: bool) -> str:
    return f"node {device.node}, {device.number}" if several_nodes else device.number


def _times(device: DeviceTime, causes: Mapping[str, int]) -> dict[str, int]:
    """What the window consists of; idle time that no gap accounts for has no recorded cause."""
    times = {"busy": device.busy_ns, **causes}
    unexplained = device.idle_ns - sum(causes.values())
    if unexplained > 0:
        times["nothing_recorded"] = times.get("nothing_recorded", 0) + unexplained
    return times


def _parts(times: Mapping[str, int]) -> list[Part]:
    total = sum(times.values()) or 1
    return [
        Part(
            name=_NAMES[name],
            value=times[name],
            look=look,
            said=f"{format_share(times[name] / total)} ({format_ns(times[name])})",
        )
        for name, look in LOOKS.items()
        if times.get(name)
    ]


def _summed(rows: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(row.get(name, 0) for row in rows) for name in LOOKS}


def _remarks(gaps: Gaps, gpus: int) -> list[str]:
    left_out = f"{gpus - _MOST} more GPUs are not drawn." if gpus > _MOST else ""
    return [remark for remark in (left_out, gaps.doubt, gaps.not_attributed) if remark]

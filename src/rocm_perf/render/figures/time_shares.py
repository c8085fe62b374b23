"""The judged time as one bar: what the GPU does, and why it is idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rocm_perf.model.document import Document
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import text_width
from rocm_perf.render.figures.parts import SIZE, Part, legend, notes, stacked_bar
from rocm_perf.render.time_shares import Segment, Side, is_usual_step, judged_length, segments
from rocm_perf.units import format_count, format_ns, format_share

# Idle time has the colours that the same causes have in the bars of gaps and in the timeline, where there are any, with
# stripes, which tell it from work without colours.
IDLE_LOOKS: Mapping[str, str] = {
    "waiting-for-gpu": "fill-6",
    "waiting-for-copy": "fill-4",
    "launching": "fill-7",
    "queue-gaps": "fill-8",
    "loading-data": "fill-2 faint",
    "compiling": "fill-4 faint",
    "loading-code": "fill-6 faint",
    "first-use": "fill-6 faint",
    "mpi": "fill-5 faint",
    "allocating": "fill-1 faint",
    "host-work": "fill-7 faint",
    "other-calls": "fill-2",
    "stream-dependency": "fill-3",
    "waiting-for-communication": "fill-3 faint",
    "unrecorded-work": "fill-8 faint",
    "not-recorded": "idle",
    "end-of-work": "idle",
    "profiler": "fill-5",
}
_WORK = (
    "fill-1",
    "fill-5",
    "fill-3",
    "fill-1 faint",
    "fill-3 faint",
    "fill-8 faint",
)  # families, longest first
_COMMUNICATION, _COPY, _FILL, _REST = "fill-4", "fill-2", "fill-2 faint", "fill-8"
_TOP, _BAR = 20, 34
_PLACES = 3  # of a segment that its hint names
_STRIPE = 7  # units from one stripe to the next
_NAMES: Mapping[Side, str] = {"busy": "busy", "idle": "idle"}


def time_shares_figure(document: Document, width: float = WIDE) -> Drawn:
    """Draw one bar for a step, or for all judged time: kernels by family, communication, copies and fills, then idle
    time by cause."""
    ledger = document.ledger
    shown = segments(ledger)
    if ledger.unavailable or not shown:
        return Missing(ledger.unavailable or "nothing was judged")
    parts = [_part(segment, look, document) for segment, look in zip(shown, _looks(shown), strict=True)]
    bar = svg.Box(0, _TOP, width, _BAR)
    key = legend(parts, left=0, top=_TOP + _BAR + 8, width=width)
    below = _TOP + _BAR + 8 + key.height
    remark = f"Idle time is left out: {ledger.idle_unknown}." if ledger.idle_unknown else ""
    remarks = notes(filter(None, (remark,)), left=0, top=below, width=width)
    body = (
        *_sides(shown, bar),
        *stacked_bar(parts, bar),
        *_stripes(shown, bar),
        *key.body,
        *(remarks.body if remark else ()),
    )
    height = below + (remarks.height if remark else 0)
    return Figure(title=_title(shown, document), width=width, height=height, body=body)


def _title(shown: Sequence[Segment], document: Document) -> str:
    said = ", ".join(f"{segment.name} {format_share(segment.share)}" for segment in shown)
    return f"Where {judged_time(document)} goes: {said}."


def judged_time(document: Document) -> str:
    """Return what the bar stands for, in words."""
    gpus, length = len(document.ledger.gpus), format_ns(judged_length(document))
    mean = f" on average of {format_count(gpus, 'GPU')}" if gpus > 1 else ""
    if not document.judged_steps:
        return f"the judged time of {length}{mean}"
    if document.phases.kernel is not None:
        return f"the {length} from one launch to the next{mean}"
    return f"{'a' if is_usual_step(document) else 'an average'} step of {length}{mean}"


def _part(segment: Segment, look: str, document: Document) -> Part:
    each = max(len(document.ledger.gpus), 1) * max(document.judged_steps, 1)
    places = ", ".join(segment.places[:_PLACES])
    more = len(segment.places) - _PLACES
    return Part(
        name=segment.name if segment.side == "busy" else f"idle: {segment.name}",
        value=segment.total_ns,
        look=look,
        said=f"{format_share(segment.share)} ({format_ns(segment.total_ns / each)})",
        about=f"{places} and {more} more" if more > 0 else places,
    )


def _looks(shown: Sequence[Segment]) -> Iterator[str]:
    families = 0
    for segment in shown:
        if segment.cause == "other" and segment.name.startswith("other "):
            yield _REST if segment.side == "busy" else "idle"
        elif segment.kind == "kernel":
            yield _WORK[min(families, len(_WORK) - 1)]
            families += 1
        elif segment.kind == "idle":
            yield IDLE_LOOKS.get(segment.cause, "idle")
        else:
            yield {"communication": _COMMUNICATION, "copy": _COPY}.get(segment.kind, _FILL)


def _sides(shown: Sequence[Segment], bar: svg.Box) -> Iterator[str]:
    """How much of the bar is busy and how much idle, above the two parts."""
    busy = sum(segment.share for segment in shown if segment.side == "busy")
    idle = sum(segment.share for segment in shown if segment.side == "idle")
    total = busy + idle or 1.0
    middle = bar.left + bar.width * busy / total
    first, second = f"busy {format_share(busy)}", f"idle {format_share(idle)}"
    if busy:
        yield svg.text((bar.left, bar.top - 6), first, "strong", size=SIZE)
    if idle:
        left = max(middle, bar.left + (text_width(first, SIZE) + 12 if busy else 0))
        fits = left + text_width(second, SIZE) <= bar.right
        place = (left if fits else bar.right, bar.top - 6)
        yield svg.text(place, second, "strong", size=SIZE, anchor="" if fits else "end")


def _stripes(shown: Sequence[Segment], bar: svg.Box) -> Iterator[str]:
    """Upright lines over the idle part: it is told from work without its colours."""
    total = sum(segment.total_ns for segment in shown) or 1
    busy = sum(segment.total_ns for segment in shown if segment.side == "busy")
    x = bar.left + bar.width * busy / total + _STRIPE
    while x < bar.right - 1:
        yield svg.line((x, bar.top + bar.height * 0.55), (x, bar.bottom), "cut")
        x += _STRIPE

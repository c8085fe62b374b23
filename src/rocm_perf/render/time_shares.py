"""The judged time as segments of one bar: kernels by family, communication, copies and fills, then idle time by cause.
The terminal, the page and the first sentence draw on the same segments, so that they say the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rocm_perf.model.document import Document
from rocm_perf.model.results.ledger import CAUSES, Entry, EntryKind, Ledger

Side = Literal["busy", "idle"]
NARROW = 0.02  # of the judged time: a narrower segment cannot be seen, and joins the others of its side
_ALIKE = 0.005  # of the median step: a mean that differs by less is the same to a reader
# In the order of the bar. What stands here is the name where all of a kind is meant.
KINDS: dict[EntryKind, str] = {
    "kernel": "kernels",
    "communication": "communication",
    "copy": "copies",
    "fill": "fills",
    "idle": "idle",
}
FAMILIES = {
    "gemm": "matrix products",
    "convolution": "convolutions",
    "attention": "attention",
    "normalisation": "normalisation",
    "softmax": "softmax",
    "reduction": "reductions",
    "elementwise": "elementwise kernels",
    "embedding": "gathers and scatters",
    "copy": "kernels that copy",
    "collective": "collectives",
    "sort": "sorts and scans",
    "random": "random numbers",
    "quantisation": "quantisation",
    "optimiser": "optimizer",
    "other": "other kernels",
}


# Causes of idle time in few words, for tables and legends.
SHORT: dict[str, str] = {
    "waiting-for-gpu": "host waits for the GPU",
    "waiting-for-copy": "host waits for a copy",
    "launching": "host launches",
    "queue-gaps": "gaps in the queue",
    "loading-data": "data loading",
    "compiling": "compilation",
    "loading-code": "first use of code",
    "first-use": "first, slow calls",
    "mpi": "MPI",
    "allocating": "allocation",
    "host-work": "other host work",
    "other-calls": "other host calls",
    "stream-dependency": "another stream",
    "waiting-for-communication": "communication awaited",
    "unrecorded-work": "unrecorded work",
    "not-recorded": "unknown cause",
    "end-of-work": "nothing launched",
    "profiler": "profiler",
}
_DIRECTIONS = ("H2D", "D2H", "D2D", "P2P")  # which the cause of a copy says in words


@dataclass(frozen=True)
class Segment:
    """A part of the bar."""

    side: Side
    kind: EntryKind
    cause: str  # a family of kernels or a key of CAUSES; "other" where several narrow ones stand together
    name: str  # in few words
    total_ns: int
    share: float  # of the judged time
    places: tuple[str, ...] = ()  # that hold most of it


def segments(ledger: Ledger) -> tuple[Segment, ...]:
    """Return the segments in the order of the bar; together they are the judged time. Narrow ones of a side are one."""
    whole = _segments(ledger)
    shown: list[Segment] = []
    for side in ("busy", "idle"):
        own = [segment for segment in whole if segment.side == side]
        narrow = [segment for segment in own if segment.share < NARROW]
        shown += [segment for segment in own if segment.share >= NARROW]
        shown += narrow if len(narrow) == 1 else [_together(narrow)] if narrow else []
    return tuple(shown)


def idle_causes(ledger: Ledger) -> tuple[Segment, ...]:
    """Return the idle time by cause, longest first."""
    return tuple(segment for segment in _segments(ledger) if segment.side == "idle")


def kind_ns(entries: Iterable[Entry], kind: EntryKind) -> int:
    """Return the time of the entries of one kind."""
    return sum(entry.total_ns for entry in entries if entry.kind == kind)


def cause_name(entry: Entry) -> str:
    """Return what the time of an entry went to, in words."""
    if entry.kind == "kernel":
        return FAMILIES.get(entry.family, entry.family) or CAUSES["running"]
    return CAUSES.get(entry.cause, entry.cause)


def short_name(entry: Entry) -> str:
    """Return the same in few words."""
    return SHORT.get(entry.cause, entry.cause) if entry.kind == "idle" else cause_name(entry)


def place_name(entry: Entry) -> str:
    """Return where the time of an entry went, unless its cause says so."""
    return "" if entry.kind == "copy" and entry.place in _DIRECTIONS else entry.place


def steps_of_gpus(document: Document) -> int:
    """Return how many steps the ledger holds, each GPU's own counted; 0 where nothing repeats."""
    return document.judged_steps * max(len(document.ledger.gpus), 1)


def is_usual_step(document: Document) -> bool:
    """Return whether the mean step of the ledger is the median one, which the phases tell, to a reader, and holds what
    the GPUs do in it."""
    usual, steps, ledger = document.phases.step_ns.value, steps_of_gpus(document), document.ledger
    if not usual or not steps or abs(ledger.judged_ns / steps - usual) > _ALIKE * usual:
        return False
    return all(kind_ns(ledger.entries, kind) <= steps * usual for kind in KINDS)


def judged_length(document: Document) -> float:
    """Return how long the judged time is on one GPU, of a step where there are steps: written as the phases write it
    where both are the same to a reader."""
    usual = document.phases.step_ns.value
    if usual and is_usual_step(document):
        return usual
    return document.ledger.judged_ns / (steps_of_gpus(document) or max(len(document.ledger.gpus), 1))


def _segments(ledger: Ledger) -> list[Segment]:
    groups: dict[tuple[EntryKind, str], list[Entry]] = {}
    for entry in ledger.entries:
        groups.setdefault((entry.kind, _cause(entry)), []).append(entry)
    order = list(KINDS)
    whole = [_segment(kind, cause, own, ledger.judged_ns) for (kind, cause), own in groups.items()]
    return sorted(whole, key=lambda each: (order.index(each.kind), -each.total_ns, each.cause))


def _cause(entry: Entry) -> str:
    if entry.kind == "kernel":
        return entry.family or "other"
    return "communicating" if entry.kind == "communication" else entry.cause


def _segment(kind: EntryKind, cause: str, entries: Sequence[Entry], judged_ns: int) -> Segment:
    total_ns = sum(entry.total_ns for entry in entries)
    longest = sorted(entries, key=lambda entry: -entry.total_ns)
    name = KINDS[kind] if kind == "communication" else short_name(longest[0])
    return Segment(
        side="idle" if kind == "idle" else "busy",
        kind=kind,
        cause=cause,
        name=name,
        total_ns=total_ns,
        share=total_ns / judged_ns if judged_ns else 0.0,
        places=tuple(filter(None, map(place_name, longest))),
    )


def _together(narrow: Sequence[Segment]) -> Segment:
    first = narrow[0]
    return Segment(
        side=first.side,
        kind=first.kind,
        cause="other",
        name="other work" if first.side == "busy" else "other causes",
        total_ns=sum(segment.total_ns for segment in narrow),
        share=sum(segment.share for segment in narrow),
        places=tuple(segment.name for segment in narrow),
    )

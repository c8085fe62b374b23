"""Themes: the entries of the ledger that one remedy can remove, how the finding about them reads, and the change to the
graph that the remedy is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.ledger.idle import AFTER_A_COPY, AFTER_A_WAIT, BEFORE_A_COPY
from rocm_perf.analysis.path.changes import Change, CopiesAsync, SyncsRemoved
from rocm_perf.analysis.path.joined import Captured, Fused
from rocm_perf.analysis.path.wrappers import sync_wrappers
from rocm_perf.analysis.remedies.setting import Setting
from rocm_perf.analysis.remedies.table import remedy
from rocm_perf.analysis.time.slivers import SHORT_NS
from rocm_perf.analysis.verdict.step_waits import waits_first
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Kind
from rocm_perf.model.results.ledger import Entry, Ledger
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

FEWEST = 20  # kernels: where nothing repeats, what lies between fewer says nothing about a program
_OFTEN_NS = 1_000_000  # from launch to launch: where they are further apart, graphs would shorten little
_CALLS = 3
_NEARLY = 0.9  # of the time: the place of less of it is said to hold most
_EVERY = 0.7  # of the steps: there may be others between them
_FEWER_BYTES = "Copy fewer bytes: copies that take longer than all kernels cannot be hidden behind them. "
_TO_THE_HOST = ("copying-to-gpu", "copying-to-host", "copying")


class Run(msgspec.Struct, frozen=True):
    """The judged part of a recording, which changes are applied to."""

    document: Document
    graph: Graph
    trace: Trace
    setting: Setting
    whole: Trace | None = None  # what the judged part was cut from

    @property
    def ledger(self) -> Ledger:
        """Return where the judged time went."""
        return self.document.ledger


Words = tuple[str, str]  # title and remedy


class Theme(msgspec.Struct, frozen=True):
    """`causes` are those of the ledger that its remedy removes, `after` the places of launching that go with them where
    the change was re-timed; `show` names the sections with the evidence."""

    id: str
    kind: Kind
    causes: tuple[str, ...]
    show: str
    words: Callable[[Run, Sequence[Entry]], Words]
    change: Callable[[Run], Change | None] = lambda _: None
    after: tuple[str, ...] = ()
    members: tuple[str, ...] = ()  # findings of topics whose evidence belongs to it

    def claimed(self, ledger: Ledger, *, retimed: bool = False) -> list[Entry]:
        """Return the entries that the remedy can remove, most time first."""
        return [
            entry
            for entry in ledger.entries
            if entry.cause in self.causes
            or (retimed and entry.cause == "launching" and entry.place in self.after)
        ]


def mostly_short(document: Document) -> bool:
    """Return whether most gaps are beside short kernels: each kernel has one, however long it runs."""
    spots = document.hotspots
    usual = ((spot.mean_ns if spot.median_ns is None else spot.median_ns, spot.calls) for spot in spots.rows)
    return 2 * sum(calls for length, calls in usual if length < SHORT_NS) >= spots.dispatches


def mostly_between_queued(run: Run) -> bool:
    """Return whether the GPU is idle mostly between kernels that wait in its queue: no host is too slow there."""
    return 2 * run.ledger.total_ns("queue-gaps") > run.ledger.idle_ns


def too_few(document: Document) -> bool:
    """Return whether nothing repeats, in so few kernels that what is between them says nothing about a program."""
    return not document.judged_steps and kernels(document) < FEWEST


def kernels(document: Document) -> int:
    """Return how many kernels the GPUs ran."""
    return sum(device.dispatches for device in document.devices)


def _remedy(run: Run, cause: str, **words: str) -> str:
    return remedy(cause, run.setting, **words)


def _every_ns(run: Run) -> float:
    """Return the time from one launch to the next on a GPU."""
    return run.document.judged_ns * len(run.document.devices) / max(kernels(run.document), 1)


def _launches_often(run: Run) -> bool:
    return bool(kernels(run.document)) and _every_ns(run) <= _OFTEN_NS


def _fused(run: Run) -> Change | None:
    rows = run.document.slivers.rows
    return Fused(rows[0].kernels) if rows else None


def _captured(run: Run) -> Change | None:
    """Return launches as graphs, unless they are already. In JAX the remedy is another: one compiled call instead of
    many operators."""
    return None if run.setting.uses_graphs or run.setting.jax or not _launches_often(run) else Captured()


def _launching_words(run: Run, claimed: Sequence[Entry]) -> Words:
    """Say how a slow host shows: launches one after another that take too long, or gaps between queued kernels."""
    document, every_ns = run.document, _every_ns(run)
    if not _launches_often(run):
        title = f"The host prepares each launch for long: one kernel every {format_ns(every_ns)}"
        return title, _remedy(run, "host-work")
    each_ns = sum(device.kernel_ns for device in document.devices) / kernels(document)
    per_step = document.phases.kernels_per_step.value if document.judged_steps else None
    of_step = f"{format_count(round(per_step), 'kernel')} a step, " if per_step else ""
    rhythm = f"{of_step}one kernel every {format_ns(every_ns)}, each runs {format_ns(each_ns)}"
    queued_ns = sum(entry.total_ns for entry in claimed if entry.cause == "queue-gaps")
    if 2 * queued_ns > sum(entry.total_ns for entry in claimed):
        which = "short kernels" if mostly_short(document) else "kernels"
        return f"The gaps between {which} add up: {rhythm}", _remedy(run, "queue-gaps")
    title = f"The host launches too slowly: {rhythm}"
    if run.setting.uses_graphs:
        launching_ns = run.ledger.of_one_gpu_ns(sum(entry.total_ns for entry in claimed))
        title = f"The GPU waits {format_ns(launching_ns)} before and between graphs that the host launches too late"
    if too_few(document):
        few = f"{format_count(kernels(document), 'kernel')} in which nothing repeats are too few to judge a program by."
        return title, f"{few} {_remedy(run, 'record-steps')}"
    waits = "" if run.setting.jax else waits_first(run.graph, document.judged_steps, run.setting)
    return title, waits + _remedy(run, "launching")


def _host_work_words(run: Run, claimed: Sequence[Entry]) -> Words:
    """Name the part of the program that keeps the host, where one is known."""
    place = next((entry.place for entry in claimed if entry.place), "")
    largest = claimed[0] if claimed else None
    if largest is not None and largest.place == BEFORE_A_COPY:
        title = "The GPU waits while the host prepares data that is then copied to it, probably its input"
        return title, _remedy(run, "loading-data")
    place = "" if place == BEFORE_A_COPY else place
    if not place or (largest is not None and not largest.place and largest.total_ns > _of(claimed, place)):
        why = "outside any call that was recorded"
        return f"The GPU waits while the host does other work, {why}", _remedy(run, "host-work")
    mostly = "" if _of(claimed, place) >= _NEARLY * sum(entry.total_ns for entry in claimed) else "mostly "
    if in_other_threads(run.document, place):
        title = f"The GPU waits until another thread of the program is done with {place}"
    else:
        title = f"The GPU waits while the host is {mostly}in {place}, and in no call of the runtime"
    is_operator = run.setting.torch and "::" in place and not in_other_threads(run.document, place)
    return title, _remedy(run, "slow-operator" if is_operator else "host-work", place=place)


def _of(claimed: Sequence[Entry], place: str) -> int:
    return sum(entry.total_ns for entry in claimed if entry.place == place)


def in_other_threads(document: Document, place: str) -> bool:
    """Return whether a part of the program ran in other threads than those that launch."""
    return any(row.in_other_threads for row in document.gaps.ranges if row.name == place)


def _loading_words(run: Run, claimed: Sequence[Entry]) -> Words:
    place = next((entry.place for entry in claimed if entry.place), "")
    return "The GPU waits for the data loader", _remedy(run, "loading-data", place=place)


def _compiling_words(run: Run, claimed: Sequence[Entry]) -> Words:
    inside = _places(claimed)
    return f"The GPU waits while code is compiled{inside}", _remedy(run, "compiling")


def _first_use_words(run: Run, claimed: Sequence[Entry]) -> Words:
    loads = run.ledger.total_ns("loading-code") >= run.ledger.total_ns("first-use")
    if loads:
        return f"The GPU waits while code is loaded{_places(claimed)}", _remedy(run, "loading-code")
    return f"The GPU waits for calls that are slow the first time{_places(claimed)}", _remedy(
        run, "first-uses"
    )


def _allocation_words(run: Run, claimed: Sequence[Entry]) -> Words:
    return f"The GPU waits while memory is allocated and freed{_places(claimed)}", _remedy(run, "allocating")


def _mpi_words(run: Run, claimed: Sequence[Entry]) -> Words:
    return f"The GPU waits while the host is inside MPI{_places(claimed)}", _remedy(run, "mpi")


def _call_words(run: Run, claimed: Sequence[Entry]) -> Words:
    title = f"The GPU waits while the host is inside other calls{_places(claimed)}"
    call = next((entry.place for entry in claimed if entry.place), "")
    return title, _remedy(run, "other-calls", call=call)


def _places(claimed: Sequence[Entry]) -> str:
    """Return the places of the entries behind a colon, most time first."""
    places = list(dict.fromkeys(short_name(entry.place) for entry in claimed if entry.place))[:_CALLS]
    return f": {', '.join(places)}" if places else ""


def _wait_words(run: Run, claimed: Sequence[Entry]) -> Words:
    """Say which call waits, and how often."""
    document = run.document
    steps, calls = document.judged_steps, document.sync.total.calls
    call = next((entry.place for entry in claimed if entry.place and entry.cause == "waiting-for-gpu"), "")
    title = f"The host waits for the GPU {_how_often(calls, steps)}{f', in {call}' if call else ''}"
    return f"{title}, and launches late because of it", _remedy(run, "waiting-for-gpu", call=call)


def _how_often(calls: int, steps: int) -> str:
    if not steps or calls < steps:
        return format_count(calls, "time")
    a_step = round(calls / steps)
    return f"{a_step:,} times a step" if a_step > 1 else "in every step"


def _copy_words(run: Run, claimed: Sequence[Entry]) -> Words:
    """Say what is copied, by whom and how often."""
    document = run.document
    every = [row for row in document.steady_copies.rows if (row.per_step or 0) >= 1]
    copies_ns = sum(entry.total_ns for entry in claimed if entry.kind == "copy")
    place = next((row.call_site for row in every if row.call_site), "")
    largest = next((entry for entry in claimed if entry.kind == "copy"), None)
    cause = (
        largest.cause
        if largest and largest.cause in ("copying-to-gpu", "copying-to-host")
        else "waiting-for-copy"
    )
    fewer = _FEWER_BYTES if document.steady_copies.total_ns > document.hotspots.total_ns else ""
    advice = fewer + _remedy(run, cause, place=place)
    if every:
        often = max(row.in_steps for row in every)
        when = "in every step" if often >= _EVERY else f"in one step of {round(1 / often)}"
        return f"Data crosses between host and GPU {when}", advice
    if 2 * copies_ns > sum(entry.total_ns for entry in claimed):
        spent = format_ns(run.ledger.of_one_gpu_ns(sum(entry.total_ns for entry in claimed)))
        return f"Copies between host and GPU, and waits for them, take {spent}", advice
    return f"The GPU waits while the host is inside copies{_places(claimed)}", advice


def _stream_words(run: Run, _: Sequence[Entry]) -> Words:
    return "The GPU is idle: a stream waits for another", _remedy(run, "stream-dependency")


def _communication_words(run: Run, _: Sequence[Entry]) -> Words:
    return (
        "The GPU is idle: compute waits for communication",
        _remedy(run, "waiting-for-communication"),
    )


def _unknown_words(run: Run, _: Sequence[Entry]) -> Words:
    """Say how much the GPU works, where nothing says why it does not work more."""
    busy = max((device.busy_ns for device in run.document.devices), default=0)
    share = format_share(busy / max(run.document.judged_ns, 1))
    reason = run.document.gaps.not_attributed or "the recording does not say what the host did"
    title = f"The GPU works {share} of the time, and the recording does not show why not more: {reason}"
    return title, _remedy(run, "record-host" if not run.setting.host_recorded else "not-recorded")


def _fusion_words(run: Run, _: Sequence[Entry]) -> Words:
    return "Runs of short kernels could be fused into one", _remedy(run, "short-kernels")


THEMES = (
    Theme(
        id="synchronisation",
        kind="sync",
        causes=("waiting-for-gpu",),
        after=(AFTER_A_WAIT,),
        members=("sync-after-every-kernel",),
        show="ledger,sync",
        change=lambda run: SyncsRemoved(sync_wrappers(run.trace, run.graph)),
        words=_wait_words,
    ),
    Theme(
        id="host-bound",
        kind="host-bound",
        causes=("launching", "queue-gaps"),
        members=("launch-bound",),
        show="ledger,launches",
        change=_captured,
        words=_launching_words,
    ),
    Theme(
        id="data-loading",
        kind="host-bound",
        causes=("loading-data",),
        show="ledger,ranges",
        words=_loading_words,
    ),
    Theme(
        id="host-elsewhere",
        kind="host-bound",
        causes=("host-work",),
        show="ledger,gaps",
        words=_host_work_words,
    ),
    Theme(id="compiling", kind="startup", causes=("compiling",), show="ledger", words=_compiling_words),
    Theme(
        id="first-uses",
        kind="startup",
        causes=("loading-code", "first-use"),
        show="ledger",
        words=_first_use_words,
    ),
    Theme(id="mpi", kind="communication", causes=("mpi",), show="ledger,host", words=_mpi_words),
    Theme(
        id="allocation",
        kind="host-bound",
        causes=("allocating",),
        show="ledger,memory",
        words=_allocation_words,
    ),
    Theme(
        id="other-calls", kind="host-bound", causes=("other-calls",), show="ledger,host", words=_call_words
    ),
    Theme(
        id="host-not-recorded",
        kind="unrecorded-work",
        causes=("not-recorded",),
        show="ledger,gaps",
        words=_unknown_words,
    ),
    Theme(id="streams", kind="sync", causes=("stream-dependency",), show="ledger,path", words=_stream_words),
    Theme(
        id="awaited-communication",
        kind="communication",
        causes=("waiting-for-communication",),
        show="ledger,communication",
        words=_communication_words,
    ),
    Theme(
        id="copies",
        kind="copies",
        causes=("waiting-for-copy", *_TO_THE_HOST),
        after=(AFTER_A_COPY, AFTER_A_WAIT),
        members=("copies-in-steady-state",),
        show="ledger,copies",
        change=lambda _: CopiesAsync(overlapped=True),
        words=_copy_words,
    ),
    Theme(
        id="fusion",
        kind="host-bound",
        causes=("launching", "queue-gaps"),
        members=("slivers",),
        show="steps",
        change=_fused,
        words=_fusion_words,
    ),
)
THEMED = frozenset(name for theme in THEMES for name in theme.members)
# What is about idle time alone: copies and kernels take time of their own.
IDLE = frozenset(theme.id for theme in THEMES) - {"copies", "fusion"}

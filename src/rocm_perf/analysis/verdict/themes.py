"""Themes: findings with one remedy, told as one, and the change to the graph that the remedy is."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from rocm_perf.analysis.basis.loading import LOADING
from rocm_perf.analysis.graph.graph import Graph
from rocm_perf.analysis.idle.copies import exposed_host_copies_ns
from rocm_perf.analysis.idle.long_gaps import OUTSIDE_CALLS
from rocm_perf.analysis.path.changes import Change, CopiesAsync, SyncsRemoved
from rocm_perf.analysis.path.joined import Captured, Fused
from rocm_perf.analysis.path.wrappers import sync_wrappers
from rocm_perf.analysis.time.slivers import SHORT_NS
from rocm_perf.analysis.verdict.recurring import ALLOCATION, long_pauses_ns, recurring_idle, too_few
from rocm_perf.analysis.verdict.servers import serving_remedy
from rocm_perf.analysis.verdict.setting import Setting
from rocm_perf.analysis.verdict.step_waits import waits_first
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count, format_ns, format_share

_RANGES = "jax.profiler.TraceAnnotation"
_WAITS_OF_TORCH = " (no .item(), .cpu() or torch.cuda.synchronize() in the loop)"
_WAITS_OF_JAX = " (no block_until_ready(), float() or numpy.asarray() of a result in the loop)"
_FEWER_BYTES = "Copy fewer bytes: copies that take longer than all kernels cannot be hidden behind them. "
_ASYNCHRONOUSLY = (
    "Keep the data on the GPU between iterations; copy what must move asynchronously, from pinned memory, on a stream "
    "of its own."
)
# Launches this close to one another are one stream of work; further apart, the host does more.
_OFTEN_NS = 1_000_000
_TOO_FEW = (
    "{} in which nothing repeats are too few to judge a program by: record several iterations of its loop (rocm-perf "
    "profile --steps 3..13, or --delay)."
)
_PREPARED_NS = 200_000  # outside of calls for each launch: a host that takes longer does more than prepare it


class Run(msgspec.Struct, frozen=True):
    """The judged part of a recording, which changes are applied to."""

    document: Document
    graph: Graph
    trace: Trace
    setting: Setting
    whole: Trace | None = None  # what the judged part was cut from


def _idle_of_causes(run: Run, theme: Theme) -> int:
    idle = recurring_idle(run.document)
    return sum(idle.get(cause, 0) for cause in theme.causes)


def _idle_in_long_gaps(run: Run, _: Theme) -> int:
    return long_pauses_ns(run.document)


def _idle_in_short_gaps(run: Run, theme: Theme) -> int:
    return _idle_of_causes(run, theme) - long_pauses_ns(run.document)


def _not_busy_ns(run: Run) -> int:
    """What a faster host can save at most: the GPU still has to do its work."""
    busy = max((device.busy_ns for device in run.document.devices), default=0)
    return max(run.document.judged_ns - busy, 0)


def exposed_copies_ns(run: Run) -> int:
    """The time of copies beside which nothing runs; of all of them where only sums of each rank are known."""
    if run.graph.empty:
        return max((device.busy_ns - device.kernel_ns for device in run.document.devices), default=0)
    return exposed_host_copies_ns(run.trace)


def _beside_copies_ns(run: Run) -> int:
    """Copies beside which nothing runs, and idle time but for long pauses: what the host does in these has to be done
    all the same when it need not wait for a copy before it."""
    idle_ns = sum(recurring_idle(run.document).values())
    return exposed_copies_ns(run) + idle_ns - long_pauses_ns(run.document)


class Theme(msgspec.Struct, frozen=True):
    """`causes` are those of idle time that belong to it; `show` is the section that holds the evidence."""

    id: str
    kind: Kind
    members: tuple[str, ...]
    causes: tuple[str, ...]
    show: str
    change: Callable[[Run], Change | None]
    words: Callable[[Run, Finding], tuple[str, str]]  # title and remedy, of the finding with most time
    idle: Callable[[Run, Theme], int] = _idle_of_causes  # what it can be worth without a projection, at most
    most: Callable[[Run], int] | None = None  # and with one, if that is bounded as well


def _as_found(_: Run, finding: Finding) -> tuple[str, str]:
    return finding.title, finding.remedy


def _fused(run: Run) -> Change | None:
    rows = run.document.slivers.rows
    return Fused(rows[0].kernels) if rows else None


def _captured(run: Run) -> Change | None:
    """Launches as graphs, unless they are already, or it is not launches that keep the host."""
    return None if run.setting.uses_graphs or not _launches_often(run) else Captured()


def _kernels(run: Run) -> int:
    return sum(device.dispatches for device in run.document.devices)


def _every_ns(run: Run) -> float:
    """The time from one launch to the next on a GPU."""
    return run.document.judged_ns * len(run.document.devices) / max(_kernels(run), 1)


def _launches_often(run: Run) -> bool:
    return bool(_kernels(run)) and _every_ns(run) <= _OFTEN_NS and not _does_more(run)


def _does_more(run: Run) -> bool:
    """Whether the host, outside of calls, takes longer for each launch than preparing one does."""
    calls, idle = run.document.launches.calls, recurring_idle(run.document)
    return bool(calls) and sum(idle.get(cause, 0) for cause in OUTSIDE_CALLS) > _PREPARED_NS * calls


def _host_words(run: Run, finding: Finding) -> tuple[str, str]:
    """How a slow host shows: launches one after another that take too long, or other work between them."""
    kernels, every_ns = _kernels(run), _every_ns(run)
    if not _launches_often(run):
        return (
            _inside_calls(run, finding) if finding.id == "gap-host-api" else _other_work_words(run, finding)
        )
    each_ns = sum(device.kernel_ns for device in run.document.devices) / kernels
    per_step = run.document.phases.kernels_per_step.value if run.document.judged_steps else None
    of_step = f"{format_count(round(per_step), 'kernel')} a step, " if per_step else ""
    rhythm = f"{of_step}one kernel every {format_ns(every_ns)}, each runs {format_ns(each_ns)}"
    if mostly_between_queued(run):
        which = "short kernels" if mostly_short(run.document) else "kernels"
        return f"The gaps between {which} add up: {rhythm}", _between_queued_remedy(run.setting)
    title = f"The host launches too slowly: {rhythm}"
    if too_few(run.document):
        return title, _TOO_FEW.format(format_count(kernels, "kernel"))
    waits = waits_first(run.graph, run.document.judged_steps, run.setting)
    return title, waits + (serving_remedy(run.trace, run.setting) or _launch_remedy(run.setting))


def mostly_short(document: Document) -> bool:
    """Whether most gaps are beside short kernels: each kernel has one, however long it runs."""
    spots = document.hotspots
    usual = ((spot.mean_ns if spot.median_ns is None else spot.median_ns, spot.calls) for spot in spots.rows)
    return 2 * sum(calls for length, calls in usual if length < SHORT_NS) >= spots.dispatches


def mostly_between_queued(run: Run) -> bool:
    """Whether the GPU is idle mostly between kernels that wait in its queue: no host is too slow there."""
    idle = recurring_idle(run.document)
    return idle.get("queue_gap", 0) > sum(idle.values()) / 2


def _between_queued_remedy(setting: Setting) -> str:
    graphs = "" if setting.uses_graphs else f", or replay them as a {setting.graph}, which shortens the gaps"
    return f"Fuse neighbouring kernels, or give each more work (a larger batch){graphs}: they are launched in time."


def _inside_calls(run: Run, finding: Finding) -> tuple[str, str]:
    called = ", ".join(row.call for row in run.document.gaps.calls[:2] if row.cause == "host_api")
    return f"The GPU waits while the host is inside other calls: {called}", finding.remedy


def _other_work_words(run: Run, _: Finding) -> tuple[str, str]:
    """The part of the program that keeps the host, where a range names one."""
    named = next(iter(run.document.gaps.ranges), None)
    if named is None:
        return (
            "The GPU waits while the host does other work, outside any call that was recorded",
            "Move that work out of the loop, or into another thread that prepares the next input; ranges "
            f"({_RANGES if run.setting.jax else 'roctx'}) around the parts of the program show which part it is.",
        )
    if re.search(LOADING, named.name):
        return (
            "The GPU waits for the data loader",
            "Load ahead of need: more workers (DataLoader(num_workers=, prefetch_factor=, pin_memory=True)), or less "
            "to do for each sample on the host.",
        )
    if named.in_other_threads:
        return (
            f"The GPU waits until another thread of the program is done with {named.name}",
            "Find out why that takes so long, and whether the thread that launches has to wait for it.",
        )
    return (
        f"The GPU waits while the host is in {named.name}, and in no call of the runtime",
        "Move that work out of the loop, or into another thread that prepares the next input.",
    )


def _launch_remedy(setting: Setting) -> str:
    if setting.uses_graphs:
        return "Graphs are used already: put more of the step into each graph, or give each kernel more work."
    if setting.torch:
        return (
            f"Replay each step as one {setting.graph} (torch.cuda.graph, or torch.compile with "
            'mode="reduce-overhead"), or give each launch more work (a larger batch).'
        )
    if setting.jax:
        return (
            "Run several steps in one jitted call (jax.lax.scan), wait for results (block_until_ready, a printed loss) "
            "less often than in every step, let XLA replay steps as graphs "
            "(XLA_FLAGS=--xla_gpu_graph_min_graph_size=1), or give each launch more work (a larger batch)."
        )
    return f"Capture the sequence into a {setting.graph}, fuse small kernels, or give each launch more work."


def _sync_words(run: Run, finding: Finding) -> tuple[str, str]:
    """Which call waits, and how often."""
    functions = [row for row in run.document.sync.functions if "Memcpy" not in row.name]
    if not functions:
        return finding.title, finding.remedy
    steps = run.document.judged_steps
    calls = run.document.sync.total.calls
    often = _how_often(calls, steps)
    wait = "Wait once, before the host reads a result"
    example = _WAITS_OF_TORCH if run.setting.torch else _WAITS_OF_JAX if run.setting.jax else ""
    return (
        f"The host waits for the GPU {often}, in {functions[0].name}, and launches late because of it",
        f"{wait}, not in every iteration{example}: a stream keeps its kernels in order by itself.",
    )


def _how_often(calls: int, steps: int) -> str:
    if not steps or calls < steps:
        return format_count(calls, "time")
    a_step = round(calls / steps)
    return f"{a_step:,} times a step" if a_step > 1 else "in every step"


def _copy_words(run: Run, finding: Finding) -> tuple[str, str]:
    """The advice for a framework's tensors, or for a program that copies by itself."""
    fewer = _FEWER_BYTES if run.document.steady_copies.total_ns > run.document.hotspots.total_ns else ""
    advice = finding.remedy if run.setting.torch else _ASYNCHRONOUSLY
    return finding.title, fewer + advice


_WITH_CALLS = (
    "Record the host's calls as well: rocm-perf profile does so by itself (rocprofv3: --hip-trace beside "
    "--kernel-trace, or --sys-trace)."
)
_WITH_IDS = (
    "The host's calls are here, but not which of them launched this. If the file was exported from a database (.rpd, "
    ".db), analyze that, which says so; else record again with rocm-perf profile."
)


def _unknown_words(run: Run, _: Finding) -> tuple[str, str]:
    """How much the GPU works, where nothing says why it does not work more."""
    busy = max((device.busy_ns for device in run.document.devices), default=0)
    share = format_share(busy / max(run.document.judged_ns, 1))
    reason = run.document.gaps.not_attributed or "the recording does not say what the host did"
    return (
        f"The GPU works {share} of the time, and the recording does not show why not more: {reason}",
        _WITH_IDS if run.trace.rows("api_calls") else _WITH_CALLS,
    )


THEMES = (
    Theme(
        id="synchronisation",
        kind="sync",
        members=("sync-after-every-kernel", "gap-host-sync"),
        causes=("host_sync",),
        show="sync,gaps",
        change=lambda run: SyncsRemoved(sync_wrappers(run.trace, run.graph)),
        words=_sync_words,
    ),
    Theme(
        id="host-bound",
        kind="host-bound",
        members=(
            "launch-bound",
            "gap-framework",
            "gap-loading",
            "gap-launch-latency",
            "gap-host-api",
            "gap-queue-gap",
            "gap-host-busy",
        ),
        causes=(*OUTSIDE_CALLS, "host_api", "launch_latency", "queue_gap"),
        show="gaps,launches",
        change=_captured,
        words=_host_words,
        idle=_idle_in_short_gaps,
        most=_not_busy_ns,
    ),
    Theme(
        id="host-elsewhere",
        kind="host-bound",
        members=("gap-host-elsewhere",),
        causes=OUTSIDE_CALLS,
        show="gaps,ranges",
        change=lambda _: None,
        words=_other_work_words,
        idle=_idle_in_long_gaps,
        most=_not_busy_ns,
    ),
    Theme(
        id="allocation",
        kind="host-bound",
        members=("gap-allocation",),
        causes=(ALLOCATION,),
        show="gaps,memory",
        change=lambda _: None,
        words=_as_found,
        most=_not_busy_ns,
    ),
    Theme(
        id="host-not-recorded",
        kind="unrecorded-work",
        members=("gap-nothing-recorded",),
        causes=("nothing_recorded",),
        show="gaps",
        change=lambda _: None,
        words=_unknown_words,
    ),
    Theme(
        id="streams",
        kind="sync",
        members=("gap-event",),
        causes=("event",),
        show="gaps,path",
        change=lambda _: None,
        words=_as_found,
    ),
    Theme(
        id="copies",
        kind="copies",
        members=("copies-in-steady-state", "gap-copy"),
        causes=("copy",),
        show="copies",
        change=lambda _: CopiesAsync(overlapped=True),
        words=_copy_words,
        most=_beside_copies_ns,
    ),
    Theme(
        id="fusion",
        kind="host-bound",
        members=("slivers",),
        causes=(),
        show="steps",
        change=_fused,
        words=_as_found,
        most=_not_busy_ns,
    ),
)
THEMED = frozenset(name for theme in THEMES for name in theme.members)

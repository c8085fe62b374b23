"""The host's own pace: the GPU cannot be done sooner than the host issues its work, however much goes of the GPU's
time. Where the host had a head start on the judged part, the part alone does not show that."""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace
from msgspec.structs import replace as changed

from rocm_perf.analysis.basis.launched import launched_work
from rocm_perf.analysis.basis.shared import once_per_trace
from rocm_perf.analysis.basis.stakes import bound
from rocm_perf.analysis.graph.graph import Graph, forward
from rocm_perf.analysis.path.unprofiled import unprofiled
from rocm_perf.analysis.phases.focus import cut, judged_span
from rocm_perf.analysis.verdict.worth import WORTH
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_ns

_SAME = 1.01  # the part that was re-timed and the one that is judged are of one length
_IDLE = 0.1  # of the judged time
_AHEAD = 0.1  # of the judged part: launches that much earlier than it are a head start


def within_hosts_pace(finding: Finding, document: Document, part: Graph, whole: Trace | None) -> Finding:
    """A finding about communication whose worth leaves the time that the host needs to issue the same work."""
    stake = finding.time_at_stake_ns
    if whole is None or not stake or finding.kind != "communication" or part.empty:
        return finding
    issue_ns = _head_start_ns(whole)
    if issue_ns is None and _is_idle(document) and part.wall_ns <= _SAME * document.judged_ns:
        issue_ns = _without_gpu_ns(part)
    if issue_ns is None or issue_ns > document.judged_ns or stake <= document.judged_ns - issue_ns:
        return finding  # a host that takes longer than the GPU did waits in ways that are not known
    return _bounded(finding, document, issue_ns)


def _bounded(finding: Finding, document: Document, issue_ns: int) -> Finding:
    """The finding with what the host leaves; where that is next to nothing, with the time that a faster host would
    leave, and no more said of it."""
    left = max(document.judged_ns - issue_ns, 0)
    needs = (
        f"the host needs {format_ns(issue_ns)} to issue what the GPU does in {format_ns(document.judged_ns)}"
    )
    if left < WORTH * document.judged_ns:
        sentence = f"{needs}: only behind a faster host is anything of it saved"
        return replace(finding, projected_speedup=None, evidence=(*finding.evidence, sentence))
    sentence = f"{needs}: unless it gets faster as well, no more than {format_ns(left)} can be saved"
    return replace(
        finding,
        time_at_stake_ns=left,
        projected_speedup=bound(document.judged_ns, left),
        evidence=(*finding.evidence, sentence),
    )


def _is_idle(document: Document) -> bool:
    """Whether a GPU waits for the host: elsewhere, a host that is never seen to wait may poll for its end. In pauses
    the host does something else."""
    busy = max((device.busy_ns for device in document.devices), default=0)
    if document.gaps.doubt or document.phases.paused_ns:
        return False
    return document.judged_ns - busy >= _IDLE * document.judged_ns


@once_per_trace
def _head_start_ns(whole: Trace) -> int | None:
    """How long the host takes to launch what the GPU does in the judged part, without waiting for it; None where it
    has no head start there, or launches are not known."""
    span = judged_span(whole)
    if span is None or span.start_ns is None or span.end_ns is None:
        return None
    inside = pl.col("start_ns").is_between(span.start_ns, span.end_ns, closed="left")
    work = launched_work(whole).filter(inside).drop_nulls("launch_start")
    ahead_ns = _AHEAD * (span.end_ns - span.start_ns)
    first, last = work["launch_start"].min(), work["launch_end"].max()
    if not isinstance(first, int) or not isinstance(last, int) or span.start_ns - first < ahead_ns:
        return None
    return _without_gpu_ns(unprofiled(cut(whole, Span(first, last))))


def _without_gpu_ns(graph: Graph) -> int:
    """The last end of the host's calls, where nothing on a GPU takes any time."""
    on_gpu = pl.col("lane").is_not_null()
    nodes = graph.nodes.with_columns(duration_ns=pl.when(on_gpu).then(0).otherwise("duration_ns"))
    ends = nodes.select("thread", end_ns=forward(changed(graph, nodes=nodes)) + nodes["duration_ns"])
    latest = ends.filter(pl.col("thread").is_not_null())["end_ns"].max()
    return latest if isinstance(latest, int) else 0

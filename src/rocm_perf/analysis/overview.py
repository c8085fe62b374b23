"""Everything that is said about a run, as one document."""

from __future__ import annotations

import msgspec
import polars as pl

from rocm_perf.analysis import bottleneck, roofline
from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.idle import communication, copies, gaps, launches, queue_length, sync
from rocm_perf.analysis.kernels import excerpts, instructions, pc_samples
from rocm_perf.analysis.kernels.counter_metrics import counter_metrics
from rocm_perf.analysis.operators import build as operators
from rocm_perf.analysis.path import critical_path, whatif
from rocm_perf.analysis.program import energy, memory, ranges
from rocm_perf.analysis.time import busy, families, hotspots, slivers, steps, totals
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.analysis.trust import coverage, overhead
from rocm_perf.analysis.trust.sanity import sanity
from rocm_perf.analysis.verdict import findings, scorecard
from rocm_perf.model.document import Agent, Document
from rocm_perf.model.trace import Trace
from rocm_perf.version import __version__

_MODULES = (
    hotspots, busy, totals, sync, coverage, gaps, launches, families, steps, slivers, copies, communication, operators,
    queue_length, critical_path, whatif, ranges, memory, energy, instructions, pc_samples, roofline,
    bottleneck, overhead,
)  # fmt: skip
FORMULAS = {name: formula for module in _MODULES for name, formula in module.FORMULAS.items()}


def overview(trace: Trace, label: str, grouping: Grouping = "full") -> Document:
    """Every analysis of one run. What cannot be said carries the reason why."""
    graph = build(trace)
    found = steps.steps(trace)
    spans = ranges.step_spans(trace)
    in_use = memory.memory(trace, spans)
    devices = busy.device_times(trace)
    waiting = sync.waiting(trace)
    kinds = families.family_totals(trace)
    spots = hotspots.hotspots(trace, grouping)
    points = roofline.roofline(trace)
    document = Document(
        label=label,
        producer=f"rocm-perf {__version__}",
        run=trace.run,
        overhead=overhead.overhead(trace.run),
        tables={name: trace.rows(name) for name in trace},
        agents=_gpus(trace),
        wall_ns=busy.wall_ns(trace),
        devices=devices,
        queues=busy.queue_times(trace),
        hotspots=spots,
        domains=totals.domain_totals(trace),
        copies=totals.copy_totals(trace),
        sync=waiting,
        gaps=gaps.gaps(trace),
        launches=launches.launches(trace),
        families=kinds,
        steps=found,
        slivers=slivers.slivers(trace, found),
        steady_copies=copies.steady_copies(trace, found),
        communication=communication.communication(trace, devices),
        operators=operators.operators(trace),
        queue_lengths=queue_length.queue_lengths(trace),
        path=critical_path.critical_path(graph),
        roofline=points,
        bottlenecks=bottleneck.bottlenecks(trace, points),
        metrics=counter_metrics(trace, spots.rows),
        ranges=ranges.ranges(trace),
        memory=in_use,
        energy=energy.energy(trace, spans),
        thread_trace=instructions.thread_trace(trace),
        pc_samples=pc_samples.pc_samples(trace),
        scorecard=scorecard.scorecard(
            gemm_share=kinds.gemm_share,
            sync_share=waiting.lost_share,
            gap_share=scorecard.gap_share(devices),
            memory_growth=scorecard.memory_growth(in_use),
        ),
        sanity=sanity(trace),
        excerpts=excerpts.excerpts(trace),
        coverage=coverage.coverage(trace),
        formulas=FORMULAS,
    )
    projections, ranked = findings.findings(document, graph, trace)
    return msgspec.structs.replace(document, projections=projections, findings=ranked)


def _gpus(trace: Trace) -> tuple[Agent, ...]:
    gpus = trace.table("agents").filter(pl.col("kind").str.to_uppercase().fill_null("GPU") == "GPU")
    return tuple(
        Agent(*row) for row in gpus.select("node", "agent_id", "gfx", "name", "cu_count").iter_rows()
    )

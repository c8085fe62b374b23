"""The one typed document that analyses fill and renderers read, and the topics that fill it. `--json` prints it.

To add a topic: a result type in results/, a field of the Document and an entry of TOPICS here, a function in analysis/
that computes it, and one in render/sections/ that shows it.
"""

from __future__ import annotations

import msgspec

from rocm_perf.model.coverage import Coverage
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.bottleneck import Bottlenecks
from rocm_perf.model.results.clocks import Clocks
from rocm_perf.model.results.communication import Communication
from rocm_perf.model.results.contents import Agent, Excerpt
from rocm_perf.model.results.copies import SteadyCopies
from rocm_perf.model.results.energy import Energy
from rocm_perf.model.results.gaps import Gaps
from rocm_perf.model.results.gpu_use import GpuUse
from rocm_perf.model.results.graphs import Graphs
from rocm_perf.model.results.instructions import PcSamples, ThreadTrace
from rocm_perf.model.results.kernels import Families, Slivers, Steps
from rocm_perf.model.results.launches import Launches
from rocm_perf.model.results.layers import LargestLayers, Layers
from rocm_perf.model.results.ledger import Ledger
from rocm_perf.model.results.memory import Memory
from rocm_perf.model.results.metrics import Metrics
from rocm_perf.model.results.modules import Modules
from rocm_perf.model.results.operators import Operators, QueueLength
from rocm_perf.model.results.path import CriticalPath
from rocm_perf.model.results.phases import Phases
from rocm_perf.model.results.ranges import Ranges
from rocm_perf.model.results.ranks import Ranks
from rocm_perf.model.results.roofline import Roofline
from rocm_perf.model.results.scorecard import Score
from rocm_perf.model.results.serving import Serving
from rocm_perf.model.results.step_breakdown import StepBreakdown
from rocm_perf.model.results.sync import Sync
from rocm_perf.model.results.times import CopyTotal, DeviceTime, DomainTotal, Hotspots
from rocm_perf.model.results.whatif import Projection
from rocm_perf.model.results.windows import Windows
from rocm_perf.model.run import RunInfo
from rocm_perf.model.topic import Topic

SCHEMA_VERSION = 2
HEADER = ("label", "producer", "run", "steady", "formulas", "schema_version")  # fields that are not answers

# In the order of a report.
TOPICS = (
    Topic("findings", "verdicts:findings_section", concludes=("findings",), on_first_screen=True),
    Topic(
        "projections",
        "path:projections_section",
        concludes=("projections",),
        formulas=("path.whatif",),
    ),
    Topic(
        "scorecard",
        "verdicts:scorecard_section",
        {"scorecard": "verdict.scorecard:scorecard"},
    ),
    Topic("ledger", "ledger:ledger_section", {"ledger": "ledger.entries:ledger"}),
    Topic(
        "gpus",
        "kernels:gpus_section",
        {
            "agents": "time.busy:gpus",
            "wall_ns": "time.busy:wall_ns",
            "devices": "time.busy:device_times",
            "queues": "time.busy:queue_times",
        },
        on_first_screen=True,
    ),
    Topic(
        "phases",
        "phases:phases_section",
        {"phases": "phases.build:phases"},
        whole=True,
        on_first_screen=True,
    ),
    Topic("windows", "windows:windows_section", {"windows": "parts.sampled:windows"}, whole=True),
    Topic("gaps", "idle:gaps_section", {"gaps": "idle.gaps:gaps"}),
    Topic("sync", "idle:sync_section", {"sync": "idle.sync:waiting"}, findings="idle.sync:sync_findings"),
    Topic(
        "launches",
        "launching:launches_section",
        {"launches": "idle.launches:launches"},
        findings="idle.launches:launch_findings",
    ),
    Topic("host", "launching:host_section", {"domains": "time.totals:domain_totals"}),
    Topic(
        "kernels",
        "kernels:kernels_section",
        {"hotspots": "time.hotspots:hotspots"},
        parameters=("grouping",),
        on_first_screen=True,
    ),
    Topic(
        "families",
        "kernels:families_section",
        {"families": "time.families:family_totals"},
    ),
    Topic(
        "steps",
        "kernels:steps_section",
        {
            "steps": "time.steps:steps",
            "slivers": "time.slivers:slivers",
            "largest_layers": "layers.largest:largest_layers",
        },
        findings="time.slivers:sliver_findings",
    ),
    Topic(
        "serving",
        "serving:serving_section",
        {"serving": "serving.build:serving"},
        parameters=("machines",),
        whole=True,
        on_first_screen=True,
    ),
    Topic(
        "copies",
        "launching:copies_section",
        {"copies": "time.totals:copy_totals", "steady_copies": "idle.copies:steady_copies"},
        findings="idle.copies:copy_findings",
    ),
    Topic(
        "communication",
        "communication:communication_section",
        {"communication": "collectives.build:communication"},
        findings="collectives.findings:communication_findings",
        parameters=("link_gbps",),
    ),
    Topic(
        "ranks",
        "ranks:ranks_section",
        {"ranks": "ranks.build:ranks"},
        findings="ranks.findings:rank_findings",
        formulas=("ranks.arrivals", "ranks.criterion", "ranks.lateness"),
    ),
    Topic(
        "operators",
        "operators:operators_section",
        {"operators": "operators.build:operators", "queue_lengths": "idle.queue_length:queue_lengths"},
    ),
    Topic("graphs", "graphs:graphs_section", {"graphs": "program.graphs:graphs"}, whole=True),
    Topic(
        "modules",
        "modules:modules_section",
        {"modules": "modules.build:modules", "layers": "layers.build:layers"},
        whole=True,
    ),
    Topic(
        "step-breakdown",
        "step_breakdown:step_breakdown_section",
        {"step_breakdown": "phases.step_breakdown:step_breakdown"},
        whole=True,
    ),
    Topic("gpu-use", "gpu_use:gpu_use_section", {"gpu_use": "kernels.gpu_use:gpu_use"}),
    Topic("path", "path:path_section", {"path": "path.critical_path:recorded_path"}),
    Topic(
        "roofline",
        "roofline:roofline_section",
        {"roofline": "roofline:roofline"},
        parameters=("machines",),
    ),
    Topic(
        "bottlenecks",
        "roofline:bottlenecks_section",
        {"bottlenecks": "bottleneck:bottlenecks"},
        parameters=("machines",),
        findings="verdict.kernels.findings:kernel_findings",
        evidence="bottlenecks,roofline,families",
    ),
    Topic("kernel", "limits:limits_section"),
    Topic("metrics", "metrics:metrics_section", {"metrics": "kernels.counter_metrics:counter_metrics"}),
    Topic("indicators", "metrics:indicators_section", {}),
    Topic(
        "instructions",
        "instructions:instructions_section",
        {"thread_trace": "kernels.instructions:thread_trace"},
    ),
    Topic("pc-samples", "instructions:pc_samples_section", {"pc_samples": "kernels.pc_samples:pc_samples"}),
    Topic("ranges", "program:ranges_section", {"ranges": "program.ranges:ranges"}, whole=True),
    Topic(
        "memory",
        "memory:memory_section",
        {"memory": "memory.build:memory"},
        findings="memory.findings:memory_findings",
        whole=True,
    ),
    Topic("energy", "program:energy_section", {"energy": "program.energy:energy"}, whole=True),
    Topic(
        "sanity",
        "verdicts:sanity_section",
        {"sanity": "trust.sanity:sanity"},
        whole=True,
        on_first_screen=True,
    ),
    Topic("clocks", "clocks:clocks_section", {"clocks": "trust.clocks:clocks"}, whole=True),
    Topic(
        "coverage",
        "verdicts:coverage_section",
        {"coverage": "phases.coverage:coverage"},
        whole=True,
        on_first_screen=True,
    ),
    Topic(
        "tables",
        "verdicts:tables_section",
        {"tables": "trust.contents:table_rows", "excerpts": "trust.contents:excerpts"},
        whole=True,
        on_first_screen=True,
    ),
    Topic("recording", "recording:recording_section", {"overhead": "trust.overhead:overhead"}, whole=True),
)


class Document(msgspec.Struct, frozen=True):
    """Everything that `analyze` says about one run."""

    label: str
    producer: str
    run: RunInfo
    steady: bool  # it is about the judged part of the recording, not about all of it
    overhead: Quantity  # of the profiler, on the wall time of the whole program
    tables: dict[str, int]
    phases: Phases
    windows: Windows
    agents: tuple[Agent, ...]
    wall_ns: int | None
    devices: tuple[DeviceTime, ...]
    queues: tuple[DeviceTime, ...]
    hotspots: Hotspots
    domains: tuple[DomainTotal, ...]
    copies: tuple[CopyTotal, ...]
    sync: Sync
    gaps: Gaps
    ledger: Ledger
    launches: Launches
    families: Families
    steps: Steps
    serving: Serving
    slivers: Slivers
    largest_layers: LargestLayers | None
    steady_copies: SteadyCopies
    communication: Communication
    ranks: Ranks
    operators: Operators
    graphs: Graphs
    queue_lengths: tuple[QueueLength, ...]
    modules: Modules
    layers: Layers
    step_breakdown: StepBreakdown
    gpu_use: GpuUse
    path: CriticalPath
    roofline: Roofline
    bottlenecks: Bottlenecks
    metrics: Metrics
    ranges: Ranges
    memory: Memory
    energy: Energy
    thread_trace: ThreadTrace
    pc_samples: PcSamples
    scorecard: tuple[Score, ...]
    sanity: tuple[Finding, ...]  # what cannot be true, or should not be trusted
    excerpts: tuple[Excerpt, ...]
    clocks: Clocks
    coverage: Coverage
    formulas: dict[str, str]
    projections: tuple[Projection, ...] = ()  # what the changes that findings propose would bring
    findings: tuple[Finding, ...] = ()  # what to do next, most time at stake first
    schema_version: int = SCHEMA_VERSION

    def __repr__(self) -> str:
        """Return the document in one line: everything in it would fill screens."""
        finding = f", first {self.findings[0].title!r}" if self.findings else ""
        return (
            f"<Document of {self.label!r}: {self.run.tool or 'unknown tool'}, {self.hotspots.dispatches:,} dispatches, "
            f"{len(self.findings)} findings{finding}>"
        )

    @property
    def judged_steps(self) -> int:
        """The steps that the document is about; 0 where it is about the whole recording, nothing repeats, or a step has
        no length because the time between its kernels is the profiler's."""
        return self.phases.steps if self.steady and self.phases.step_ns.known else 0

    @property
    def judged_ns(self) -> int:
        """The time that is judged: the wall without the pauses, or that of kernels where the rest is the profiler's."""
        if self.gaps.doubt:
            return self.hotspots.total_ns
        return max((self.wall_ns or 0) - self.phases.paused_ns, 0)

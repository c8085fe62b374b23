"""What the list of runs and the side-by-side page say of an analysed run."""

from __future__ import annotations

import msgspec

from rocm_perf.model.document import Document
from rocm_perf.model.finding import Severity
from rocm_perf.render.sections.headline import headline, ranked_findings, worth

_FINDINGS = 3
_KERNELS = 3


class Point(msgspec.Struct, frozen=True):
    """One finding in a line."""

    title: str
    severity: Severity
    worth: str = ""


class Share(msgspec.Struct, frozen=True):
    """A kernel and its share of the time of all kernels."""

    kernel: str
    share: float


class Summary(msgspec.Struct, frozen=True):
    """An analysed run in a few lines. Times are of a step where the run has a steady state, else of the run."""

    tool: str
    gpus: tuple[str, ...]
    recorded_at: str | None
    command: str | None
    per: str
    wall_ns: float | None
    busy_ns: float | None
    kernels: float
    headline: tuple[str, ...]
    findings: tuple[Point, ...]
    longest: tuple[Share, ...]


def summarise(document: Document) -> Summary:
    """The run in a few lines."""
    units = document.judged_steps or 1
    busiest = document.devices[0] if document.devices else None
    return Summary(
        tool=document.run.tool,
        gpus=tuple(dict.fromkeys(agent.name or agent.gfx or "GPU" for agent in document.agents)),
        recorded_at=document.run.recorded_at,
        command=document.run.command,
        per="step" if document.judged_steps else "run",
        wall_ns=None if document.wall_ns is None else document.wall_ns / units,
        busy_ns=None if busiest is None else busiest.busy_ns / units,
        kernels=document.hotspots.dispatches / units,
        headline=tuple(headline(document)),
        findings=tuple(
            Point(finding.title, finding.severity, worth(finding, document))
            for finding in ranked_findings(document)[0][:_FINDINGS]
        ),
        longest=tuple(Share(spot.short_name, spot.share) for spot in document.hotspots.rows[:_KERNELS]),
    )

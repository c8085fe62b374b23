"""The costliest lines of source, or instructions, of kernels that were traced or sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf.model.results.instructions import (
    InstructionCost,
    KernelInstructions,
    KernelSamples,
    LineCost,
    PcSamples,
    SampleCount,
    ThreadTrace,
)
from rocm_perf.render import svg
from rocm_perf.render.figures.figure import WIDE, Drawn, Figure, Missing
from rocm_perf.render.figures.lettering import fitted
from rocm_perf.render.figures.parts import LINE, Part, bar_rows
from rocm_perf.units import format_count, format_share

_KERNELS, _ROWS = 3, 10
_HEADING = 26


@dataclass(frozen=True)
class _Panel:
    """One kernel: what a full bar is, and its rows."""

    heading: str
    rows: Sequence[Part]


def traced_figure(trace: ThreadTrace, width: float = WIDE) -> Drawn:
    """Cycles of thread-traced kernels by line of source, or by instruction where no source is known."""
    if trace.unavailable or not trace.kernels:
        return Missing(trace.unavailable or "no kernel was traced")
    return _drawn([_traced(kernel) for kernel in trace.kernels[:_KERNELS]], width)


def sampled_figure(samples: PcSamples, width: float = WIDE) -> Drawn:
    """PC samples of kernels by line of source, or by instruction where no source is known."""
    if samples.unavailable or not samples.kernels:
        return Missing(samples.unavailable or "no kernel was sampled")
    return _drawn([_sampled(kernel) for kernel in samples.kernels[:_KERNELS]], width)


def _traced(kernel: KernelInstructions) -> _Panel:
    rows = [_line_cost(row) for row in kernel.lines[:_ROWS]]
    instructions = [_instruction_cost(row) for row in kernel.hottest[:_ROWS]]
    return _Panel(f"{_named(kernel.kernel)}: share of {kernel.total_cycles:,} cycles", rows or instructions)


def _line_cost(row: LineCost) -> Part:
    about = f"{row.latency_cycles:,} cycles, of which {row.stall_cycles:,} stalled; {row.hits:,} hits"
    return Part(name=row.source, value=row.share, look="fill-1", said=format_share(row.share), about=about)


def _instruction_cost(row: InstructionCost) -> Part:
    stalled = f"{row.latency_cycles:,} cycles, of which {row.stall_cycles:,} stalled; {row.hits:,} hits"
    about = "\n".join(filter(None, (row.source, row.kind, stalled)))
    return Part(name=row.text, value=row.share, look="fill-1", said=format_share(row.share), about=about)


def _sampled(kernel: KernelSamples) -> _Panel:
    rows = [_sample_count(row) for row in (kernel.lines or kernel.instructions)[:_ROWS]]
    return _Panel(f"{_named(kernel.kernel)}: share of {format_count(kernel.samples, 'sample')}", rows)


def _sample_count(row: SampleCount) -> Part:
    issued = "" if row.issued is None else f", of which {row.issued:,} issued"
    about = "\n".join(filter(None, (row.source, f"{format_count(row.samples, 'sample')}{issued}")))
    return Part(name=row.name, value=row.share, look="fill-1", said=format_share(row.share), about=about)


def _named(kernel: str | None) -> str:
    return kernel or "a kernel whose name is not recorded"


def _drawn(panels: Sequence[_Panel], width: float) -> Figure:
    body: list[str] = []
    top = 0.0
    for panel in panels:
        body.append(svg.text((0, top + 15), fitted(panel.heading, width, 12), "strong"))
        body += bar_rows(panel.rows, width=width, top=top + _HEADING, whole=1.0)
        top += _HEADING + len(panel.rows) * LINE + 10
    return Figure(
        title=f"Instruction hot spots of {panels[0].heading}.", width=width, height=top, body=tuple(body)
    )

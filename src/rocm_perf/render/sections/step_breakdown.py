"""What the time of each step goes to."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio
from rocm_perf.model.results.step_breakdown import StepBreakdown, StepBreakdownRow, StepRoles
from rocm_perf.render.sections.phases import steps_text
from rocm_perf.render.sections.section import (
    Column,
    Columns,
    Section,
    explained,
    grids,
    share,
    span,
    text,
    time,
)
from rocm_perf.units import format_count

_ROLES = {
    "kernel_ns": "kernel",
    "copy_ns": "copy",
    "fill_ns": "fill",
    "communication_ns": "collective",
    "runtime_ns": "runtime",
    "data_loader_ns": "loader",
    "host_ns": "host",
    "other_ns": "other",
}
_MEANINGS = {
    "kernel_ns": "kernels that compute",
    "copy_ns": "copies (memcpy)",
    "fill_ns": "fills (memset)",
    "communication_ns": "collectives, on the GPU and on the host",
    "runtime_ns": "calls of the GPU's runtime",
    "data_loader_ns": "the next batch is awaited",
    "host_ns": "operators, Python functions and ranges",
    "other_ns": "nothing recorded is active",
}
_FORMULA = "step_breakdown.roles"


def step_breakdown_section(document: Document, top: int) -> Section:
    """The mean step by role, and every step."""
    breakdown = document.step_breakdown
    if breakdown.mean is None:
        return Section("Step breakdown", unavailable=breakdown.unavailable)
    return Section(
        "Step breakdown",
        lines=tuple(_lines(document, breakdown)),
        grids=(
            *grids("Mean", list(_ROLES), _mean_columns(breakdown.mean)),
            *grids(
                "Steps", breakdown.steps if len(breakdown.steps) > 1 else (), _step_columns(breakdown), top
            ),
        ),
        notes=(
            "a moment counts for the first of these that is active in it; a step lasts until its GPU work is done",
        ),
    )


def _lines(document: Document, breakdown: StepBreakdown) -> Iterator[str]:
    yield f"{format_count(len(breakdown.steps), 'step')} ({breakdown.found_by})."
    if document.phases.steps and document.phases.step_ns.known:
        yield f"In the steady state: {steps_text(document.phases)}. The mean is that of its steps."


def _mean_columns(mean: StepRoles) -> Columns[str]:
    return (
        explained("time", time, lambda role: getattr(mean, role), _FORMULA),
        explained("share", share, lambda role: _share(mean, role)),
        text("role", lambda role: _ROLES[role]),
        text("what it is", lambda role: _MEANINGS[role]),
    )


def _share(mean: StepRoles, role: str) -> Quantity:
    return ratio(getattr(mean, role), mean.total_ns, "time / length of the step", "time", "step")


def _step_columns(breakdown: StepBreakdown) -> Columns[StepBreakdownRow]:
    """A column for each role that occurs."""
    used = [role for role in _ROLES if any(getattr(step.roles, role) for step in breakdown.steps)]
    return (
        text("step", lambda row: row.name),
        explained("length", time, lambda row: span(row.start_ns, row.end_ns)),
        *(_role_column(role) for role in used),
    )


def _role_column(role: str) -> Column[StepBreakdownRow]:
    return explained(_ROLES[role], time, lambda row: getattr(row.roles, role), _FORMULA)

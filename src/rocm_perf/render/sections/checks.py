"""The section on limits that were set with `--fail-on`."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.model.finding import Severity
from rocm_perf.model.results.check import Check, Outcome
from rocm_perf.render.sections.section import Item, Section

_SEVERITY: dict[Outcome, Severity] = {"failed": "error", "undecided": "warning", "passed": "info"}


def checks_section(checks: Sequence[Check]) -> Section | None:
    """Every limit, those that are exceeded first; None where none was set."""
    ordered = sorted(checks, key=lambda check: tuple(_SEVERITY).index(check.outcome))
    return Section("Checks", items=tuple(map(_item, ordered))) if checks else None


def _item(check: Check) -> Item:
    shown = check.details[:1] if check.passed else check.details
    return Item(
        title=f"{check.outcome}: {check.expression}",
        details=shown,
        severity=_SEVERITY[check.outcome],
    )

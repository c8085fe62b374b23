"""The section on limits that were set with `--fail-on`."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.model.results.check import Check
from rocm_perf.render.sections.section import Item, Section


def checks_section(checks: Sequence[Check]) -> Section | None:
    """Every limit, those that are not kept first; None where none was set."""
    ordered = sorted(checks, key=lambda check: check.passed)
    return Section("Checks", items=tuple(map(_item, ordered))) if checks else None


def _item(check: Check) -> Item:
    shown = check.details[:1] if check.passed else check.details
    return Item(
        title=f"{check.outcome}: {check.expression}",
        details=shown,
        severity="info" if check.passed else "error",
    )

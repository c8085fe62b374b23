"""Findings that came and went."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.verdict.kernels.wording import kernel_finding
from rocm_perf.model.finding import Finding
from rocm_perf.model.results.comparison import Fate, FindingChange, KernelChange

_Findings = list[dict[str, Finding]]  # of each run, by id


def finding_changes(
    base: Sequence[JudgedRun], new: Sequence[JudgedRun], kernels: Sequence[KernelChange] = ()
) -> tuple[FindingChange, ...]:
    """Findings matched by id: new ones first, then those that went, then those that stayed. A side has a finding if
    more than half of its runs do; what neither side has by that measure is left out. A finding about a kernel stays
    where the kernel was matched under another name."""
    before, after = _by_id(base, _renamed(kernels)), _by_id(new, {})
    mine, theirs = _usual(before), _usual(after)
    fates: tuple[tuple[Fate, list[str]], ...] = (
        ("came", [name for name in theirs if name not in mine]),
        ("went", [name for name in mine if name not in theirs]),
        ("stayed", [name for name in theirs if name in mine]),
    )
    units = [run.units for run in base], [run.units for run in new]
    return tuple(
        FindingChange(
            id=name,
            fate=fate,
            title=_title(before if fate == "went" else after, name),
            base_at_stake_ns=_stake(before, name, units[0]),
            new_at_stake_ns=_stake(after, name, units[1]),
            base_runs=sum(name in run for run in before),
            new_runs=sum(name in run for run in after),
        )
        for fate, names in fates
        for name in names
    )


def _by_id(runs: Sequence[JudgedRun], renamed: Mapping[str, str]) -> _Findings:
    return [
        {renamed.get(finding.id, finding.id): finding for finding in reversed(run.findings)} for run in runs
    ]


def _renamed(kernels: Sequence[KernelChange]) -> dict[str, str]:
    """The ids of findings about kernels of base, and those that they have in new."""
    return {
        kernel_finding(change.kernel): kernel_finding(change.new_kernel)
        for change in kernels
        if change.kernel != change.new_kernel
    }


def _usual(runs: _Findings) -> list[str]:
    """Ids that more than half of the runs have, in the order of the first that has them."""
    ids = dict.fromkeys(name for run in runs for name in reversed(run))
    return [name for name in ids if 2 * sum(name in run for run in runs) > len(runs)]


def _title(runs: _Findings, name: str) -> str:
    return next(run[name].title for run in runs if name in run)


def _stake(runs: _Findings, name: str, units: Sequence[int]) -> float | None:
    """The time at stake in a step or run: the median over the runs that know it."""
    stakes = [
        stake / count
        for run, count in zip(runs, units, strict=True)
        if name in run and (stake := run[name].time_at_stake_ns) is not None
    ]
    return statistics.median(stakes) if stakes else None

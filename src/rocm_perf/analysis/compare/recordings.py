"""Two recordings beside each other: how the wall time changed, and which parts, kernels and findings account for it."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.compare.kernels import match_kernels
from rocm_perf.analysis.compare.wall import TIMED_TABLES, gpu_walls, pair
from rocm_perf.analysis.idle.gaps import gaps
from rocm_perf.analysis.time.busy import wall_ns
from rocm_perf.analysis.time.hotspots import hotspots
from rocm_perf.analysis.time.steps import steps
from rocm_perf.analysis.verdict.scorecard import kernel_count
from rocm_perf.model.finding import Finding
from rocm_perf.model.quantity import Quantity, unavailable
from rocm_perf.model.results.comparison import Comparison, Fate, FindingChange, KernelChange, Side, StepChange
from rocm_perf.model.results.kernels import Steps
from rocm_perf.model.results.scorecard import Score
from rocm_perf.model.results.times import Hotspots
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_count

RUNS_FOR_AN_INTERVAL = 5
_HOST = {"api_calls", "ops", "ranges"}
_SPEEDUP = "wall_ns of base / wall_ns of new"
_ONE_RUN = (
    "with one run per side, a difference may be noise. Record each side at least "
    f"{RUNS_FOR_AN_INTERVAL} times, alternating, to see how much runs of the same program vary"
)

Findings = Sequence[Finding]


def compare(
    base: Trace,
    new: Trace,
    labels: tuple[str, str] = ("base", "new"),
    findings: tuple[Findings, Findings] = ((), ()),
) -> Comparison:
    """What changed from `base` to `new`; `findings` are those of the two."""
    spots = hotspots(base), hotspots(new)
    walls = gpu_walls(base, gaps(base)), gpu_walls(new, gaps(new))
    sides = (
        _side(base, labels[0], spots[0], len(walls[0])),
        _side(new, labels[1], spots[1], len(walls[1])),
    )
    wall, gpus = pair(*walls)
    both = steps(base), steps(new)
    change = _step_change(both, sides)
    kernels = match_kernels(spots[0].rows, spots[1].rows)
    return Comparison(
        base=sides[0],
        new=sides[1],
        speedup=_speedup(*sides),
        interval=unavailable("x", "interval of the speedup over runs", _ONE_RUN),
        wall=wall,
        wall_unavailable=None if wall else _no_wall(*sides),
        gpus=gpus,
        steps=change,
        steps_unavailable=both[0].unavailable or both[1].unavailable,
        kernel_count=_kernel_count(change, *sides),
        kernels=kernels,
        findings=match_findings(*findings),
        notes=tuple(_notes(sides, kernels, change)),
    )


def _side(trace: Trace, label: str, spots: Hotspots, gpus: int) -> Side:
    return Side(
        label=label,
        tool=trace.run.tool,
        wall_ns=wall_ns(trace),
        gpus=gpus,
        kernels=spots.kernels,
        dispatches=spots.dispatches,
        kernel_ns=spots.total_ns,
        recorded=tuple(table for table in TIMED_TABLES if trace.has(table)),
    )


def _speedup(base: Side, new: Side) -> Quantity:
    for side in (base, new):
        if not side.wall_ns:
            return unavailable("x", _SPEEDUP, f"{side.label} has no times of single events")
    values = {"base": base.wall_ns or 0, "new": new.wall_ns or 0}
    return Quantity(value=values["base"] / values["new"], unit="x", formula=_SPEEDUP, inputs=values)


def _no_wall(base: Side, new: Side) -> str:
    silent = " and ".join(side.label for side in (base, new) if not side.gpus)
    return f"{silent}: no kernel and no copy with times"


def _step_change(both: tuple[Steps, Steps], sides: tuple[Side, Side]) -> StepChange | None:
    """Wall for each step. A range that marks a step ends on the host when its kernels may not even have begun."""
    base, new = both
    walls = [side.wall_ns for side in sides]
    kernels = base.kernels_per_step.value, new.kernels_per_step.value
    if not walls[0] or not walls[1] or kernels[0] is None or kernels[1] is None:
        return None
    return StepChange(
        base_steps=len(base.steps),
        new_steps=len(new.steps),
        base_found=base.found_by,
        new_found=new.found_by,
        base_ns=walls[0] / len(base.steps),
        new_ns=walls[1] / len(new.steps),
        base_kernels=kernels[0],
        new_kernels=kernels[1],
    )


def _kernel_count(change: StepChange | None, base: Side, new: Side) -> Score:
    if change:
        return kernel_count(change.base_kernels, change.new_kernels, "of a step")
    return kernel_count(base.dispatches, new.dispatches, "in all")


def match_findings(base: Findings, new: Findings) -> tuple[FindingChange, ...]:
    """Findings matched by id: new ones first, then those that went, then those that stayed."""
    mine, other = ({finding.id: finding for finding in reversed(side)} for side in (base, new))
    fates: dict[Fate, list[str]] = {
        "came": [name for name in _ids(new) if name not in mine],
        "went": [name for name in _ids(base) if name not in other],
        "stayed": [name for name in _ids(new) if name in mine],
    }
    return tuple(
        FindingChange(
            id=name,
            fate=fate,
            title=(other.get(name) or mine[name]).title,
            base_at_stake_ns=_stake(mine, name),
            new_at_stake_ns=_stake(other, name),
        )
        for fate, names in fates.items()
        for name in names
    )


def _ids(findings: Findings) -> list[str]:
    return list(dict.fromkeys(finding.id for finding in findings))


def _stake(findings: dict[str, Finding], name: str) -> int | None:
    finding = findings.get(name)
    return finding.time_at_stake_ns if finding else None


def _notes(sides: tuple[Side, Side], kernels: Sequence[KernelChange], change: StepChange | None) -> list[str]:
    base, new = sides
    notes = []
    if change and change.base_steps != change.new_steps:
        notes.append(
            f"the sides ran {change.base_steps:,} and {change.new_steps:,} steps: take the difference of a step, "
            "not that of the wall"
        )
    for one, other in ((base, new), (new, base)):
        if _HOST & set(one.recorded) and other.recorded and not _HOST & set(other.recorded):
            notes.append(
                f"the walls span different things: {one.label} holds host activity, {other.label} only GPU work "
                f"({', '.join(other.recorded)})"
            )
    if base.gpus and new.gpus and base.gpus != new.gpus:
        notes.append(
            f"{format_count(base.gpus, 'GPU')} and {format_count(new.gpus, 'GPU')} did work: the parts are those "
            "of the busiest GPU on each side"
        )
    loose = sum(1 for change in kernels if change.match == "short name")
    if loose:
        notes.append(f"{format_count(loose, 'kernel')} matched by short name, because the whole names differ")
    return notes

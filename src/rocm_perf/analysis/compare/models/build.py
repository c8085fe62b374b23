"""What became of the work of a model: both sides aligned, folded and summed up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import get_args

from rocm_perf.analysis.compare.models.alignment import Aligned, align_calls
from rocm_perf.analysis.compare.models.calls import gpu_ns
from rocm_perf.analysis.compare.models.views import (
    by_family,
    by_module,
    by_operator,
    kernels_of,
    module_of,
    names_of,
)
from rocm_perf.analysis.compare.models.work import LONGEST, StepWork, step_work
from rocm_perf.analysis.compare.runs import JudgedRun
from rocm_perf.analysis.compare.wall import GpuWall, leader
from rocm_perf.analysis.compare.waterfall import middle_runs
from rocm_perf.model.results.alignment import AlignedSteps, AlignedWork, Alignment, WorkFate
from rocm_perf.model.results.wall_change import WallChange, WallPart
from rocm_perf.units import format_count

_TITLES: dict[WorkFate, str] = {
    "same": "GPU: same operators and kernels",
    "other kernels": "GPU: operators by other kernels",
    "other shapes": "GPU: operators on other shapes",
    "other operators": "GPU: other operators",
    "fused": "GPU: fused operators",
    "split": "GPU: operators no longer fused",
    "came": "GPU: operators that came",
    "went": "GPU: operators that went",
}
_BUSY = ("kernels", "copies")  # parts of the wall in which the GPU works
_MANY = (
    0.5  # of the operators on other shapes: it is another input; of the time on one side alone: another model
)


def alignment(base: Sequence[JudgedRun], new: Sequence[JudgedRun], wall: WallChange) -> Alignment:
    """The calls of a step of the middle runs, as the GPUs of `wall` ran them."""
    sides = _step_work(base, wall.base_gpu), _step_work(new, wall.new_gpu)
    rows = align_calls(sides[0].calls, sides[1].calls)
    base_ns, new_ns = (gpu_ns(side.calls) for side in sides)
    return Alignment(
        base_steps=AlignedSteps(sides[0].alike, sides[0].steps),
        new_steps=AlignedSteps(sides[1].alike, sides[1].steps),
        base_ns=base_ns,
        new_ns=new_ns,
        difference_ns=new_ns - base_ns,
        work=folded(rows),
        modules=by_module(rows),
        operators=by_operator(rows),
        families=by_family(rows),
        waterfall=_waterfall(wall, rows, sides),
        notes=tuple(_notes(rows, sides)),
    )


def _step_work(side: Sequence[JudgedRun], gpu: str) -> StepWork:
    runs = middle_runs(side)
    return step_work(runs, [_gpu(run, gpu) for run in runs])


def _gpu(run: JudgedRun, name: str) -> GpuWall:
    return next((gpu for gpu in run.gpus if gpu.name == name), run.gpus[leader(run.gpus)])


def folded(rows: Sequence[Aligned]) -> tuple[AlignedWork, ...]:
    """Rows of the same operators and kernels together: what each layer does, once."""
    alike: defaultdict[object, list[Aligned]] = defaultdict(list)
    for row in rows:
        alike[
            row.fate, names_of(row.base), names_of(row.new), kernels_of(row.base), kernels_of(row.new)
        ].append(row)
    work = [_folded(group) for group in alike.values()]
    return tuple(sorted(work, key=lambda one: (-abs(one.difference_ns), -one.base_ns, one.base_operators)))


def _folded(rows: Sequence[Aligned]) -> AlignedWork:
    first = rows[0]
    base_ns, new_ns = sum(row.base_ns for row in rows), sum(row.new_ns for row in rows)
    return AlignedWork(
        fate=first.fate,
        base_operators=names_of(first.base),
        new_operators=names_of(first.new),
        base_kernels=kernels_of(first.base),
        new_kernels=kernels_of(first.new),
        modules=tuple(dict.fromkeys(map(module_of, rows))),
        places=len(rows),
        moved=sum(row.moved for row in rows),
        base_ns=base_ns,
        new_ns=new_ns,
        difference_ns=new_ns - base_ns,
    )


def _waterfall(wall: WallChange, rows: Sequence[Aligned], sides: tuple[StepWork, StepWork]) -> WallChange:
    """The wall, with the time in which the GPU works by what became of its work."""
    parts = [
        *_work_parts(rows),
        *_rest_parts(wall, sides),
        *(part for part in wall.parts if part.id not in _BUSY),
    ]
    shown = [part for part in parts if part.base_ns or part.new_ns]
    return WallChange(
        base_gpu=wall.base_gpu,
        new_gpu=wall.new_gpu,
        base_ns=wall.base_ns,
        new_ns=wall.new_ns,
        difference_ns=wall.difference_ns,
        parts=tuple(sorted(shown, key=lambda part: (-abs(part.difference_ns), -part.base_ns))),
    )


def _work_parts(rows: Sequence[Aligned]) -> Iterator[WallPart]:
    for fate in get_args(WorkFate):
        of_fate = [row for row in rows if row.fate == fate]
        base_ns, new_ns = sum(row.base_ns for row in of_fate), sum(row.new_ns for row in of_fate)
        yield _part(f"work_{fate.replace(' ', '_')}", _TITLES[fate], (base_ns, new_ns))


def _rest_parts(wall: WallChange, sides: tuple[StepWork, StepWork]) -> Iterator[WallPart]:
    """GPU work that is not aligned, and what runs at the same time and so counts twice."""
    carried = [round(side.carried_ns) for side in sides]
    other = [_other_ns(side) for side in sides]
    busy_parts = [part for part in wall.parts if part.id in _BUSY]
    busy = [sum(part.base_ns for part in busy_parts), sum(part.new_ns for part in busy_parts)]
    work = [gpu_ns(side.calls) for side in sides]
    twice = [busy[at] - work[at] - carried[at] - other[at] for at in (0, 1)]
    yield _part("work_carried", "GPU: launched before recording", (carried[0], carried[1]))
    yield _part("work_other_steps", "GPU: steps unlike the others", (other[0], other[1]))
    yield _part("work_at_once", "GPU: less what ran at once", (twice[0], twice[1]))


def _other_ns(side: StepWork) -> int:
    """What steps do beyond the calls that most of them make; means that were rounded do not count."""
    rest = round(side.total_ns - side.carried_ns) - gpu_ns(side.calls)
    return rest if abs(rest) > sum(len(call.work) for call in side.calls) else 0


def _part(name: str, title: str, times: tuple[int, int]) -> WallPart:
    return WallPart(
        id=name, title=title, base_ns=times[0], new_ns=times[1], difference_ns=times[1] - times[0]
    )


def _notes(rows: Sequence[Aligned], sides: tuple[StepWork, StepWork]) -> Iterator[str]:
    fates = [row.fate for row in rows if len(row.base) == len(row.new) == 1]
    resized = fates.count("other shapes")
    if resized > _MANY * len(fates):
        yield (
            f"{resized:,} of the {len(fates):,} aligned operators run on other shapes (another batch size or input): "
            "they are matched by name and order, and do not do the same work"
        )
    alone_ns = sum(row.base_ns + row.new_ns for row in rows if not (row.base and row.new))
    if alone_ns > _MANY * sum(row.base_ns + row.new_ns for row in rows):
        yield "most of the GPU work is on one side alone: make sure that both recordings are of the same model"
    moved = sum(row.moved for row in rows)
    if moved:
        yield f"{format_count(moved, 'operator')} run in another order"
    if max(len(side.calls) for side in sides) == LONGEST:
        yield f"the first {LONGEST:,} calls are aligned; the rest counts as other steps"

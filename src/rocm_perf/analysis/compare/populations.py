"""Two populations of runs: how the wall time changed, and which parts, kernels, operators and findings account
for it."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.analysis.basis.recorded import recorded_spans
from rocm_perf.analysis.compare.estimates import count_change, time_change
from rocm_perf.analysis.compare.findings import finding_changes
from rocm_perf.analysis.compare.kernels import kernel_changes
from rocm_perf.analysis.compare.models.build import alignment
from rocm_perf.analysis.compare.modules import module_changes, why_no_modules
from rocm_perf.analysis.compare.notes import notes_on, wall_doubt
from rocm_perf.analysis.compare.operators import has_operators, operator_changes, why_no_operators
from rocm_perf.analysis.compare.runs import JudgedRun, Recording, judged_runs
from rocm_perf.analysis.compare.scorecard import peak_memory, score_changes
from rocm_perf.analysis.compare.setting import setting_change
from rocm_perf.analysis.compare.step_kinds import step_changes
from rocm_perf.analysis.compare.waterfall import waterfall
from rocm_perf.analysis.verdict.scorecard import kernel_count
from rocm_perf.model.results.comparison import Change, Comparison, Side
from rocm_perf.model.results.scorecard import Accuracy


def compare(
    base: Sequence[Recording],
    new: Sequence[Recording],
    labels: tuple[str, str] = ("before", "after"),
    *,
    whole: bool = False,
    accuracy: Accuracy | None = None,
) -> Comparison:
    """What changed from the runs of `base` to those of `new`: in a step of their steady states, or, if the `whole` is
    wanted or some have no steps, in a run. `accuracy` is what `ab` says of the outputs."""
    runs = judged_runs(base, new, whole=whole)
    sides = _side(labels[0], runs.base), _side(labels[1], runs.new)
    wall = _wall(runs.base, runs.new)
    parts, gpus = waterfall(runs.base, runs.new)
    kernels = kernel_changes(runs.base, runs.new)
    launches = count_change([run.launches for run in runs.base], [run.launches for run in runs.new])
    unknown, doubt = _no_times(*sides), _window_doubt((*base, *new), runs.per) or wall_doubt(*sides)
    peak, no_peak, _ = peak_memory(runs)
    return Comparison(
        base=sides[0],
        new=sides[1],
        per=runs.per,
        basis=runs.basis,
        wall=wall,
        wall_unavailable=unknown,
        wall_doubt=doubt,
        waterfall=parts,
        gpus=gpus,
        alignment=alignment(runs.base, runs.new, parts) if parts and has_operators(runs) else None,
        kinds=step_changes(runs.base, runs.new),
        launches=launches,
        kernel_count=kernel_count(launches.base, launches.new, f"of a {runs.per}"),
        kernels=kernels,
        operators=operator_changes(runs.base, runs.new),
        operators_unavailable=why_no_operators(runs.base, runs.new),
        modules=module_changes(runs.base, runs.new),
        modules_unavailable=why_no_modules(runs.base, runs.new),
        findings=finding_changes(runs.base, runs.new, kernels),
        notes=tuple(notes_on(sides, kernels, runs)),
        setting=setting_change(*sides),
        memory=peak,
        memory_unavailable=no_peak,
        scorecard=score_changes(
            runs,
            wall=wall,
            wall_doubt=unknown or doubt,
            launches=launches,
            accuracy=accuracy,
        ),
    )


def _side(label: str, runs: Sequence[JudgedRun]) -> Side:
    return Side(label=label, runs=tuple(run.described for run in runs))


def _wall(base: Sequence[JudgedRun], new: Sequence[JudgedRun]) -> Change:
    return time_change([run.wall_ns for run in base], [run.wall_ns for run in new])


def _window_doubt(recordings: Sequence[Recording], per: str) -> str | None:
    """Why the wall of windows means nothing, unless it is that of a step in them."""
    if per == "step" or not any(recorded_spans(recording.trace) for recording in recordings):
        return None
    return "windows of a run are as long as was asked for, whatever the program does: compare its kernels"


def _no_times(base: Side, new: Side) -> str | None:
    """Why the wall is not known on both sides."""
    silent = [run.label for side in (base, new) for run in side.runs if not run.wall_ns]
    return f"{', '.join(silent)}: no event with a time" if silent else None

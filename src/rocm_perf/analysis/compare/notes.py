"""What a reader must know before trusting a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rocm_perf.analysis.compare.runs import Judged
from rocm_perf.model.results.comparison import KernelChange, Side
from rocm_perf.units import format_count, format_list

_HOST = {"api_calls", "ops", "ranges"}
_BY_NAME = ("name", "appeared", "vanished")


def wall_doubt(base: Side, new: Side) -> str | None:
    """Why the walls of the two sides do not mean the same, if so."""
    for one, other in ((base, new), (new, base)):
        if all(_HOST & set(run.recorded) for run in one.runs):
            alone = next((run for run in other.runs if run.recorded and not _HOST & set(run.recorded)), None)
            if alone:
                return (
                    f"the walls span different things: {one.label} holds host activity, {alone.label} only GPU work "
                    f"({', '.join(alone.recorded)})"
                )
    return None


def notes_on(sides: tuple[Side, Side], kernels: Sequence[KernelChange], runs: Judged) -> Iterator[str]:
    """Everything that limits what the numbers say."""
    doubt = wall_doubt(*sides)
    if doubt:
        yield doubt
    if runs.per == "step" and "; " in runs.basis:
        yield f"steps are shown in more than one way ({runs.basis}): make sure that they are the same steps"
    yield from _gpus(*sides)
    yield from _matches(kernels)


def _gpus(base: Side, new: Side) -> Iterator[str]:
    counts = [sorted({run.gpus for run in side.runs}) for side in (base, new)]
    if counts[0] != counts[1] and all(map(all, counts)):
        before, after = (" or ".join(map(str, side)) for side in counts)
        yield (f"{before} and {after} GPUs did work: the parts are those of the busiest GPU on each side")


def _matches(kernels: Sequence[KernelChange]) -> Iterator[str]:
    ways = Counter(change.match for change in kernels if change.match not in _BY_NAME)
    if ways:
        listed = format_list([f"{count:,} by {way}" for way, count in ways.items()], most=len(ways))
        yield f"{format_count(sum(ways.values()), 'kernel')} matched although the whole names differ: {listed}"

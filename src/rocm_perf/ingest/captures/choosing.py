"""Which captured graph each replay is of. Layers of a model are often captured one by one and alike, so content alone
leaves several; replays follow one another as the captures did."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.ingest.captures.fitting import Places, of_size, places
from rocm_perf.ingest.captures.sequences import CapturedGraph, Replay
from rocm_perf.model.trace import Trace


class Candidates:
    """The graphs that a replay may be of, worked out once for each content, batch size and rank."""

    def __init__(self, graphs: Sequence[CapturedGraph], execution: Trace) -> None:
        self._graphs = graphs
        self._execution = execution
        self._alike: dict[object, dict[CapturedGraph, Places]] = {}
        self._best: dict[object, tuple[CapturedGraph, ...]] = {}

    def alike(self, replay: Replay) -> dict[CapturedGraph, Places]:
        """The graphs with the kernels of the replay, each with where it has them."""
        key = (replay.kernels, replay.streams)
        if key not in self._alike:
            aligned = ((graph, places(replay, graph)) for graph in self._graphs)
            self._alike[key] = {graph: where for graph, where in aligned if where is not None}
        return self._alike[key]

    def best(self, replay: Replay) -> tuple[CapturedGraph, ...]:
        """Those of them that are of its batch size and, if there are any, of its rank, and that differ least."""
        key = (replay.kernels, replay.streams, replay.step.size, replay.rank)
        if key not in self._best:
            alike = self.alike(replay)
            sized = of_size(replay, list(alike), self._execution)
            ranked = [graph for graph in sized if graph.rank == replay.rank] or sized
            differences = [_difference(graph, alike[graph]) for graph in ranked]
            least = min(differences, default=0)
            self._best[key] = tuple(
                graph for graph, amount in zip(ranked, differences, strict=True) if amount == least
            )
        return self._best[key]


def _difference(graph: CapturedGraph, where: Places) -> int:
    """How many kernels only one of both has."""
    shared = len(where) - sum(place is None for place in where)
    return len(where) + len(graph.kernels) - 2 * shared


def chosen_graphs(
    replays: Sequence[Replay], graphs: Sequence[CapturedGraph], candidates: Candidates
) -> list[CapturedGraph | None]:
    """For each replay of one process its graph; None where no graph fits. Those that only one graph fits are settled;
    the others follow or precede them as in the capture."""
    offered = [candidates.best(replay) for replay in replays]
    chosen = [fitting[0] if len(fitting) == 1 else None for fitting in offered]
    following, preceding = _neighbours(graphs, 1), _neighbours(graphs, -1)
    chosen = _continued(chosen, offered, following)
    chosen = _continued(chosen[::-1], offered[::-1], preceding)[::-1]
    return _continued(chosen, offered, following, otherwise_first=True)


def _neighbours(graphs: Sequence[CapturedGraph], step: int) -> dict[CapturedGraph, CapturedGraph]:
    """For each graph the one captured after it (or before it) in its recording and for its batch size; after the last
    comes the first."""
    families: dict[object, list[CapturedGraph]] = {}
    for graph in graphs:
        families.setdefault((graph.capture, graph.rank, graph.capture_range), []).append(graph)
    return {
        graph: members[(index + step) % len(members)]
        for members in families.values()
        for index, graph in enumerate(members)
    }


def _continued(
    chosen: Sequence[CapturedGraph | None],
    offered: Sequence[tuple[CapturedGraph, ...]],
    neighbour: dict[CapturedGraph, CapturedGraph],
    *,
    otherwise_first: bool = False,
) -> list[CapturedGraph | None]:
    """The choice, and where none was made yet the neighbour of the one before, if it is offered; else the first one
    offered, where that is asked."""
    result: list[CapturedGraph | None] = []
    last: CapturedGraph | None = None
    for settled, fitting in zip(chosen, offered, strict=True):
        choice = settled
        if choice is None and last is not None and neighbour[last] in fitting:
            choice = neighbour[last]
        elif choice is None and fitting and otherwise_first:
            choice = fitting[0]
        last = choice if fitting else last
        result.append(choice)
    return result

"""What was matched, and why the rest was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rocm_perf.ingest.captures.captured_tables import source_of
from rocm_perf.ingest.captures.choosing import Candidates
from rocm_perf.ingest.captures.fitting import Places, common_kernels
from rocm_perf.ingest.captures.sequences import CapturedGraph, Replay, Sequences
from rocm_perf.model.adoption import Adoption, CaptureUse, Unmatched
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_share

_NAMES = 8  # of the ranges around captures, of one file
_UNNAMED = "its launches do not say which kernels they launch (of torch.profiler, the roctracer backend records that)"
_BEYOND = "behind the last launch of a capture that is cut off"
_OTHER = "not in the captured sequence at that place"

Chosen = Sequence[CapturedGraph | None]


def account(
    compared: Sequences, chosen: Chosen, candidates: Candidates, captures: Sequence[Trace]
) -> Adoption:
    """The account of an adoption: how many replays and kernels were matched, by which captures, and why others were
    not."""
    kernels = sum(len(replay.kernels) for replay in compared.replays)
    unmatched = _unmatched(compared, chosen, candidates)
    return Adoption(
        compared=compared.compared,
        replays=len(compared.replays),
        matched_replays=sum(graph is not None for graph in chosen),
        kernels=kernels,
        matched_kernels=kernels - unmatched.total(),
        captures=tuple(
            _use(compared, chosen, candidates, place, trace) for place, trace in enumerate(captures)
        ),
        unmatched=tuple(Unmatched(reason, count) for reason, count in unmatched.most_common()),
    )


def _unmatched(compared: Sequences, chosen: Chosen, candidates: Candidates) -> Counter[str]:
    """The kernels without a captured launch, by reason."""
    reasons: Counter[str] = Counter()
    why_none: dict[object, str] = {}
    for replay, graph in zip(compared.replays, chosen, strict=True):
        if graph is not None:
            where = candidates.alike(replay)[graph]
            if None in where:
                reasons.update(_kernel_reasons(where, graph))
            continue
        key = (replay.kernels, replay.step.size)
        if key not in why_none:
            why_none[key] = why_not(replay, compared.graphs, candidates)
        reasons[f"replays that no capture fits: {why_none[key]}"] += len(replay.kernels)
    return reasons


def _kernel_reasons(where: Places, graph: CapturedGraph) -> Counter[str]:
    """Why kernels of a replay whose graph is known have no launch in it."""
    last = max((place for place, launch in enumerate(where) if launch is not None), default=-1)
    missing = [place for place, launch in enumerate(where) if launch is None]
    beyond = 0 if graph.whole else sum(place > last for place in missing)
    return +Counter({_BEYOND: beyond, _OTHER: len(missing) - beyond})


def _use(
    compared: Sequences, chosen: Chosen, candidates: Candidates, place: int, capture: Trace
) -> CaptureUse:
    own = [graph for graph in compared.graphs if graph.capture == place]
    replays = sum(graph is not None and graph.capture == place for graph in chosen)
    names = dict.fromkeys(graph.capture_range.name for graph in own if graph.capture_range.name)
    return CaptureUse(
        source=source_of(capture),
        graphs=len(own),
        names=tuple(names)[:_NAMES],
        replays=replays,
        refused=None if replays else _why_refused(compared.replays, own, candidates),
    )


def _why_refused(replays: Sequence[Replay], graphs: Sequence[CapturedGraph], candidates: Candidates) -> str:
    """Why none of the replays is of a capture: said of the longest one."""
    if not graphs:
        return "no graph was captured in it"
    return why_not(max(replays, key=lambda replay: len(replay.kernels)), graphs, candidates)


def why_not(replay: Replay, graphs: Sequence[CapturedGraph], candidates: Candidates) -> str:
    """What differs between a replay and the captured graph that is nearest to it."""
    named = [graph for graph in graphs if graph.named]
    if not named:
        return _UNNAMED
    nearest = max(named, key=lambda graph: _agreement(replay, graph))
    sizes = sorted({graph.size for graph in named if graph.size is not None})
    differences = []
    if replay.step.size is not None and sizes and replay.step.size not in sizes:
        differences.append(f"batch size {_listed(sizes)} was captured and {replay.step.size} is replayed")
    if nearest not in candidates.alike(replay):
        differences.append(
            f"{format_share(_agreement(replay, nearest))} of the {len(replay.kernels):,} kernels of a replay agree "
            f"with the {len(nearest.kernels):,} of the nearest captured graph"
        )
    if not differences and nearest.size in (None, replay.step.size):
        return "another capture with the same kernels was taken"
    return "; ".join(differences) or f"batch size {replay.step.size} was not captured with these kernels"


def _agreement(replay: Replay, graph: CapturedGraph) -> float:
    return common_kernels(replay, graph) / max(len(replay.kernels), len(graph.kernels), 1)


def _listed(sizes: Sequence[int]) -> str:
    shown = ", ".join(str(size) for size in sizes[:4])
    return shown + (", ..." if len(sizes) > 4 else "")

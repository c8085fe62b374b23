"""Which files belong to one run: processes that ran together, and passes that follow one another and count different
things."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.ingest.jobs import jobs_of
from rocm_perf.ingest.processes import Group

# These tools keep one workload per folder, in files from many runs of the application.
_FOLDER_TOOLS = frozenset({"rocprof-compute"})


def split_runs(groups: list[Group]) -> list[list[Group]]:
    """The runs in a folder, first recorded first. A recording of rocm-perf says which run it belongs to."""
    own: dict[str, list[Group]] = {}
    others: list[Group] = []
    for group in groups:
        (others if group.place.run is None else own.setdefault(group.place.run, [])).append(group)
    runs = [*own.values(), *_inferred_runs(others)]
    return sorted(runs, key=lambda run: min(group.start for group in run)) if own else runs


def _inferred_runs(groups: list[Group]) -> list[list[Group]]:
    if any(piece.part.tool in _FOLDER_TOOLS for group in groups for piece in group.pieces):
        return _workloads(groups)
    timed = [group for group in groups if group.span]
    rest = [group for group in groups if not group.span]
    if not timed:
        return [rest] if rest else []
    clusters = jobs_of(timed)
    runs = [clusters[0]]
    for cluster in clusters[1:]:
        if _is_another_pass(runs[-1], cluster):
            runs[-1] = runs[-1] + cluster
        else:
            runs.append(cluster)
    for group in rest:
        _home(runs, group).append(group)
    return runs


def _workloads(groups: list[Group]) -> list[list[Group]]:
    """One run per folder. A folder of tables alone, which the tool made afterwards, belongs to the one above it."""
    folders: dict[Path, list[Group]] = {}
    for group in groups:
        folders.setdefault(Path(group.place.set_key[0]), []).append(group)
    for folder in sorted(folders, key=lambda path: -len(path.parts)):
        above = next((parent for parent in folder.parents if parent in folders), None)
        if above is not None and not _kernel_names(folders[folder]):
            folders[above] += folders.pop(folder)
    return list(folders.values())


def _is_another_pass(run: list[Group], cluster: list[Group]) -> bool:
    """Whether the cluster is a pass of the run: its folder says so, or it counts something that the run has not
    counted yet."""
    roots = {group.place.root for group in run}
    if all(group.place.pass_id is not None and group.place.root in roots for group in cluster):
        return True
    counted = frozenset(name for group in run for name in group.counters)
    new = frozenset(name for group in cluster for name in group.counters)
    return (
        bool(new)
        and all(group.only_counters for group in cluster)
        and not (new & counted)
        and _same_kernels(run, cluster)
    )


def _same_kernels(run: list[Group], cluster: list[Group]) -> bool:
    before, now = _kernel_names(run), _kernel_names(cluster)
    return not before or bool(before & now)


def _kernel_names(groups: list[Group]) -> frozenset[str]:
    frames = [
        p.part.tables["dispatches"] for group in groups for p in group.pieces if "dispatches" in p.part.tables
    ]
    return frozenset(name for frame in frames for name in frame["kernel"].unique())


def _home(runs: list[list[Group]], group: Group) -> list[Group]:
    """The run that files without times (agents, statistics) belong to: the nearest one."""

    def distance(run: list[Group]) -> int:
        shared = max(_shared_prefix(group, other) for other in run)
        return -shared

    return min(runs, key=distance)


def _shared_prefix(one: Group, other: Group) -> int:
    left, right = (f"{g.place.set_key[0]}/{g.place.set_key[1]}" for g in (one, other))
    return next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )

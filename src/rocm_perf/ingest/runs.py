"""Which files belong to one run: processes that ran together, and passes that follow one another and count different
things. What another tool, machine or program recorded is a run of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rocm_perf.ingest.jobs import common_kernels, jobs_of, kernels_of, may_be_one, share_kernels
from rocm_perf.ingest.processes import ANOTHER_RUN_NS, Group, apart_ns

# These tools keep one workload per folder, in files from many runs of the application.
_FOLDER_TOOLS = frozenset({"rocprof-compute"})
_WORKLOAD_FILE = re.compile(
    r"(pmc_perf(_\d+)?|SQ_\w+|timestamps|sysinfo|roofline|pmc_dispatch_info|pmc_kernel_top|profiling_config(\.yaml)?"
    r"|\d+\.\d+_.*)$"
)
_OF_MACHINES = frozenset(
    {"nodes", "agents", "links", "counter_info", "ceilings"}
)  # tables that describe no run
_BETWEEN = ("_", "-", ".")  # what separates words in the name of a file


def split_runs(groups: list[Group]) -> list[list[Group]]:
    """The runs in a folder, first recorded first. A recording of rocm-perf says which run it belongs to."""
    own: dict[str, list[Group]] = {}
    others: list[Group] = []
    for group in groups:
        (others if group.place.run is None else own.setdefault(group.place.run, [])).append(group)
    if not own:
        return _inferred_runs(others)
    counted = [group for group in others if group.only_counters and not group.span]
    runs = [*own.values(), *_inferred_runs([group for group in others if group not in counted])]
    for group in counted:
        _add_untimed(runs, group)
    return sorted(runs, key=lambda run: min(group.start for group in run))


def _inferred_runs(groups: list[Group]) -> list[list[Group]]:
    folders = {group.place.set_key[0] for group in groups if group.tools & _FOLDER_TOOLS}
    of_folders = [group for group in groups if group.place.set_key[0] in folders and _is_of_workload(group)]
    workloads = _workloads(of_folders)
    others: list[Group] = []
    taken = set(map(id, of_folders))
    for group in (group for group in groups if id(group) not in taken):
        home = next((run for run in workloads if _lies_in_workload(group, run)), others)
        home.append(group)
    runs: list[list[Group]] = []
    for cluster in jobs_of([group for group in others if group.span]):
        if runs and _is_another_pass(runs[-1], cluster):
            runs[-1] = runs[-1] + cluster
        else:
            runs.append(cluster)
    for group in others:
        if not group.span:
            _add_untimed(runs, group)
    return workloads + runs


def _is_of_workload(group: Group) -> bool:
    """Whether rocprof-compute wrote the files, by themselves or, as its older versions did, through another tool."""
    return bool(group.tools & _FOLDER_TOOLS) or _WORKLOAD_FILE.search(group.place.set_key[1]) is not None


def _workloads(groups: list[Group]) -> list[list[Group]]:
    """One run per folder. A folder of tables alone, which the tool made afterwards, belongs to the one above it.
    Where several workloads were put into one folder, the beginnings of the names tell them apart."""
    folders: dict[Path, list[Group]] = {}
    for group in groups:
        folders.setdefault(Path(group.place.set_key[0]), []).append(group)
    for folder in sorted(folders, key=lambda path: -len(path.parts)):
        above = next((parent for parent in folder.parents if parent in folders), None)
        if above is not None and not kernels_of(folders[folder]):
            folders[above] += folders.pop(folder)
    return [run for members in folders.values() for run in _by_name(members)]


def _by_name(groups: list[Group]) -> list[list[Group]]:
    """The workloads in one folder: one for each beginning of a name under which kernels are listed."""
    named: dict[str, list[Group]] = {}
    for group in groups:
        named.setdefault(_WORKLOAD_FILE.sub("", group.place.set_key[1]), []).append(group)
    runs: dict[str, list[Group]] = {}
    for name in sorted((name for name in named if kernels_of(named[name])), key=len):
        related = (seed for seed in runs if name.startswith(seed) and share_kernels(runs[seed], named[name]))
        runs.setdefault(next(related, name), []).extend(named[name])
    for name in (name for name in named if not kernels_of(named[name])):
        nearest = [seed for seed in runs if seed.startswith(name) or name.startswith(seed)] or list(runs)
        possible = [seed for seed in nearest if may_be_one(runs[seed], named[name])]
        runs.setdefault(possible[0] if possible and (len(possible) == 1 or not name) else name, []).extend(
            named[name]
        )
    return list(runs.values())


def _lies_in_workload(group: Group, run: list[Group]) -> bool:
    """Whether what another tool wrote belongs to a workload: it lies in its folder, and nothing speaks against it."""
    folder = Path(group.place.set_key[0])
    if not {Path(member.place.set_key[0]) for member in run} & {folder, *folder.parents}:
        return False
    if not may_be_one([group], run):
        return False
    on_its_clock = [other for other in run if other.span and other.clock == group.clock]
    return not group.span or any(apart_ns(group, other) <= ANOTHER_RUN_NS for other in on_its_clock)


def _is_another_pass(run: list[Group], cluster: list[Group]) -> bool:
    """Whether the cluster is a pass of the run: its folder says so, or it counts something that the run has not
    counted yet, for the same kernels."""
    roots = {group.place.root for group in run}
    if all(group.place.pass_id is not None and group.place.root in roots for group in cluster):
        return True
    counted = frozenset(name for group in run for name in group.counters)
    new = frozenset(name for group in cluster for name in group.counters)
    if not new or new & counted or not all(group.only_counters for group in cluster):
        return False
    if not may_be_one(run, cluster):
        return False
    if kernels_of(run):
        return share_kernels(run, cluster)
    soon = min(apart_ns(group, other) for group in run for other in cluster) <= ANOTHER_RUN_NS
    return soon and any(group.place.root in roots for group in cluster)


def _add_untimed(runs: list[list[Group]], group: Group) -> None:
    """Add files without times (agents, statistics) to the run that they are about: one whose files begin like theirs,
    else the nearest. Statistics that fit none, or several equally, are a run of their own."""
    possible = [run for run in runs if may_be_one([group], run) and _fits(group, run)]
    relatives = [run for run in possible if any(_is_relative(group, other) for other in run)]
    ranked = sorted(relatives or possible, key=lambda run: _nearness(group, run), reverse=True)
    ambiguous = len(ranked) > 1 and _nearness(group, ranked[0])[0] == _nearness(group, ranked[1])[0]
    if not ranked or (ambiguous and not relatives and _is_recording(group)):
        runs.append([group])
    else:
        ranked[0].append(group)


def _fits(group: Group, run: list[Group]) -> bool:
    """Whether the kernels of the group, if it lists any, may be those of the run."""
    if not group.kernels or not kernels_of(run) or common_kernels([group], run):
        return True
    return any(_is_relative(group, other) for other in run)


def _is_recording(group: Group) -> bool:
    """Whether the group is of a run, rather than of a machine."""
    return any(set(piece.part.tables) - _OF_MACHINES for piece in group.pieces)


def _is_relative(one: Group, other: Group) -> bool:
    """Whether the files of both begin alike, up to an end of a word: `basic_results` and `basic`."""
    (folder, name), (other_folder, other_name) = one.place.set_key, other.place.set_key
    short, long = sorted((name, other_name), key=len)
    if folder != other_folder or not short or not long.startswith(short):
        return False
    return short == long or short.endswith(_BETWEEN) or long[len(short) :].startswith(_BETWEEN)


def _nearness(group: Group, run: list[Group]) -> tuple[int, int]:
    """How much of its folder a group shares with a run, and of its name."""
    folder, name = Path(group.place.set_key[0]).parts, group.place.set_key[1]
    keys = [other.place.set_key for other in run]
    return max((_shared(folder, Path(its).parts), _shared(name, its_name)) for its, its_name in keys)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many folders, or letters, both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (mine, its) in pairs if mine != its), min(len(one), len(other)))

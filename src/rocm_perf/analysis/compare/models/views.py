"""The same difference by module, by operator and by family: each view sums to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import takewhile

from rocm_perf.analysis.compare.models.alignment import Aligned
from rocm_perf.analysis.compare.models.calls import GpuCall
from rocm_perf.analysis.compare.models.fusions import names_its_operators
from rocm_perf.analysis.compare.models.places import BACKWARD
from rocm_perf.model.results.alignment import Share

NO_MODULE, NO_OPERATOR = "(no module)", "(no operator)"
_REPLACED = ("other operators", "fused", "split")
_Times = tuple[str, int, int]  # of a name: in base, in new


def by_module(rows: Iterable[Aligned]) -> tuple[Share, ...]:
    """By the innermost nn.Module that holds all calls of a row; a compiled side takes the modules of the other."""
    return _shares((module_of(row), row.base_ns, row.new_ns) for row in rows)


def by_operator(rows: Iterable[Aligned]) -> tuple[Share, ...]:
    """By operator, or by the operators that one kernel took in; by those of both sides where others do the work."""
    return _shares((_operators_of(row), row.base_ns, row.new_ns) for row in rows)


def by_family(rows: Iterable[Aligned]) -> tuple[Share, ...]:
    """By what the kernels of each side do."""
    return _shares(time for row in rows for time in _families_of(row))


def module_of(row: Aligned) -> str:
    """The path of modules, without numbers, that all calls of the row share, as far as any is recorded."""
    paths = [call.plain_module for call in row.calls if call.plain_module]
    if not paths:
        return NO_MODULE
    distinct = dict.fromkeys(paths)
    if len(distinct) == 1:
        return paths[0]
    levels = zip(*(path.removesuffix(BACKWARD).split("/") for path in distinct), strict=False)
    shared = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    backward = BACKWARD if all(path.endswith(BACKWARD) for path in paths) else ""
    return "/".join(shared) + backward if shared else NO_MODULE


def names_of(calls: Iterable[GpuCall]) -> tuple[str, ...]:
    """The operators of the calls, each once, or their kernels where no operator owns them."""
    return tuple(dict.fromkeys(call.plain_operator or call.name for call in calls))


def kernels_of(calls: Iterable[GpuCall]) -> tuple[str, ...]:
    """The kernels, copies and fills of the calls, in order."""
    return tuple(name for call in calls for name in call.kernels)


def _operators_of(row: Aligned) -> str:
    if not any(call.operator for call in row.calls):
        return NO_OPERATOR
    if row.fate in _REPLACED and not any(map(names_its_operators, row.calls)):
        return " -> ".join(" + ".join(names_of(side)) for side in (row.base, row.new))
    owned = [side for side in (row.base, row.new) if any(call.operator for call in side)]
    longest = max(owned, key=len)
    return " + ".join(names_of(longest))


def _families_of(row: Aligned) -> Iterator[_Times]:
    yield from ((work.family, work.gpu_ns, 0) for call in row.base for work in call.work)
    yield from ((work.family, 0, work.gpu_ns) for call in row.new for work in call.work)


def _shares(times: Iterable[_Times]) -> tuple[Share, ...]:
    """One row for each name, the largest difference first."""
    sums: defaultdict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for name, base_ns, new_ns in times:
        sums[name] = sums[name][0] + base_ns, sums[name][1] + new_ns
    shares = [
        Share(name=name, base_ns=base_ns, new_ns=new_ns, difference_ns=new_ns - base_ns)
        for name, (base_ns, new_ns) in sums.items()
    ]
    return tuple(sorted(shares, key=lambda share: (-abs(share.difference_ns), -share.base_ns, share.name)))

"""Finds what makes a workload impossible to run although each step is well formed: ranges, events and collectives
that do not fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rocm_perf.sim.steps import Step, Thread, Workload, written


@dataclass(frozen=True)
class Fault:
    """What is wrong, and in which line of the file."""

    line: int
    what: str


MOST_STEPS = 20_000_000  # about two minutes and several gigabytes


def faults(workload: Workload) -> Iterator[Fault]:
    """Every fault that can be seen before the workload runs."""
    yield from _length(workload)
    for thread in workload.threads:
        yield from _ranges(thread.steps, thread.name)
    for rank in workload.ranks:
        threads = [thread for thread in workload.threads if thread.rank == rank]
        missing = list(_events(threads))
        yield from missing
        if not missing:
            yield from _cycles(threads)
    yield from _collectives(workload)


def _length(workload: Workload) -> Iterator[Fault]:
    """More steps than anyone would wait for."""
    count = sum(_unrolled(thread.steps, workload) for thread in workload.threads)
    if count > MOST_STEPS:
        line = min(thread.steps[0].line for thread in workload.threads)
        yield Fault(
            line, f"with its loops unrolled it has {count:,} steps; at most {MOST_STEPS:,} are simulated"
        )


def _unrolled(steps: tuple[Step, ...], workload: Workload) -> int:
    """How many steps run, those of graphs among them."""
    count = 0
    for step in steps:
        if step.verb == "repeat":
            count += step.times * _unrolled(step.steps, workload)
        else:
            count += len(workload.graphs[step.what]) if step.verb == "graph" else 1
    return count


def _ranges(steps: tuple[Step, ...], where: str) -> Iterator[Fault]:
    """Ranges that do not open and close in the same list of steps: a loop must not leave one open."""
    open_ranges: list[Step] = []
    for step in steps:
        if step.verb == "repeat":
            yield from _ranges(step.steps, where)
        elif step.verb == "push":
            open_ranges.append(step)
        elif step.verb == "pop" and not open_ranges:
            yield Fault(
                step.line, f"thread {where!r} pops a range that was not pushed in the same list of steps"
            )
        elif step.verb == "pop":
            open_ranges.pop()
    for step in open_ranges:
        yield Fault(step.line, f"range {step.what!r} is pushed but not popped in the same list of steps")


def _events(threads: list[Thread]) -> Iterator[Fault]:
    """Waits for events that are recorded neither before the wait nor by another thread of the process."""
    recorded = [{step.what for step in written(thread.steps) if step.verb == "record"} for thread in threads]
    for number, thread in enumerate(threads):
        seen: set[str] = set()
        elsewhere: set[str] = set().union(*recorded[:number], *recorded[number + 1 :])
        for step in written(thread.steps):
            event = step.event
            if step.verb == "record":
                seen.add(step.what)
            elif event is None or event in seen or event in elsewhere:
                continue
            elif event in recorded[number]:
                yield Fault(step.line, f"event {event!r} is waited for before it is recorded")
            else:
                yield Fault(
                    step.line, f"event {event!r} is waited for but never recorded on rank {thread.rank}"
                )


def _cycles(threads: list[Thread]) -> Iterator[Fault]:
    """Events that can only be reached through one another."""
    needs: dict[str, dict[str, int]] = {}
    for thread in threads:
        for event, awaited in _first_needs(thread).items():
            needs.setdefault(event, {}).update(awaited)
    for event in needs:
        path = _path_back(event, needs)
        if path:
            line = needs[path[0]][path[1]]
            yield Fault(line, f"events wait for one another in a circle: {' needs '.join(map(repr, path))}")
            return


def _first_needs(thread: Thread) -> dict[str, dict[str, int]]:
    """For each event, those that must be reached before this thread can first record it."""
    host: dict[str, int] = {}
    streams: dict[str, dict[str, int]] = {}
    needs: dict[str, dict[str, int]] = {}
    own: set[str] = set()
    for step in written(thread.steps):
        event = step.event
        if step.verb == "record" and step.what not in own:
            own.add(step.what)
            needs[step.what] = {**host, **streams.get(step.stream, {})}
        elif event is not None and event not in own:
            waits = host if step.verb == "sync" else streams.setdefault(step.stream, {})
            waits.setdefault(event, step.line)
    return needs


def _path_back(event: str, needs: dict[str, dict[str, int]]) -> list[str]:
    """A way from an event back to itself, or nothing."""
    paths, seen = [[event]], {event}
    while paths:
        path = paths.pop()
        for further in needs.get(path[-1], {}):
            if further == event:
                return [*path, event]
            if further not in seen:
                seen.add(further)
                paths.append([*path, further])
    return []


def _collectives(workload: Workload) -> Iterator[Fault]:
    """Collectives that are not called equally often on every rank."""
    counts: dict[int, Counter[str]] = {rank: Counter() for rank in workload.ranks}
    lines: dict[str, int] = {}
    for thread in workload.threads:
        _count(thread.steps, 1, counts[thread.rank], lines)
    for name, line in lines.items():
        called = {rank: count[name] for rank, count in counts.items()}
        if len(set(called.values())) > 1:
            often, seldom = (
                max(called, key=lambda rank: called[rank]),
                min(called, key=lambda rank: called[rank]),
            )
            what = f"{called[often]} times on rank {often}, and {called[seldom]} times on rank {seldom}"
            yield Fault(line, f"a deadlock: the collective {name!r} is called {what}")


def _count(steps: tuple[Step, ...], times: int, counts: Counter[str], lines: dict[str, int]) -> None:
    for step in steps:
        if step.verb == "repeat":
            _count(step.steps, times * step.times, counts, lines)
        elif step.verb == "collective":
            counts[step.what] += times
            lines.setdefault(step.what, step.line)

"""Ranks spread over the workers of a cluster. Contributions are brought here and added up as they are made, so that
what is here stays if the workers go. Where they are made faster than that, workers add some of them up first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING
from uuid import uuid4

from rocm_perf.analysis.reduction.contribution import failure
from rocm_perf.analysis.reduction.tables import Tables, added, nothing
from rocm_perf.analysis.reduction.tree import AT_ONCE, Tree
from rocm_perf.fleet.cluster.ranks import RankFiles
from rocm_perf.fleet.cluster.work import UnfitWorkerError, add, contribute
from rocm_perf.fleet.cluster.workers import Ended, Workers
from rocm_perf.version import __version__

if TYPE_CHECKING:
    from distributed import Future

Progress = Callable[[int, int], None]  # ranks that are done, of how many
_MOST_TRIES = 3  # on other workers, of a rank that met one that is not fit
_TURN_S = 0.02  # between two looks at what is done
_LOOK_S = 1.0  # between two looks at whether workers are left
_SCHEDULER_GONE = Ended(
    "the Dask scheduler has ended, or is not reached any more",
    "Start it and its workers, and run this again.",
)
_SOON = 1  # priority of additions: ranks have 0, and would all come first


@dataclass(frozen=True)
class Gathered:
    """What ranks contribute together; `ended` is why some were not analysed, which are `missed`."""

    tables: Tables
    ended: Ended | None = None
    missed: tuple[RankFiles, ...] = ()


def added_up(
    workers: Workers, ranks: Sequence[RankFiles], memory_bytes: int | None, progress: Progress
) -> Gathered:
    """What all ranks contribute together. A rank whose worker ends is tried again elsewhere; one that ends every worker
    is a failure with its reason, and so are those that are left when no worker will work again."""
    gathering = _Gathering(workers, ranks, memory_bytes)
    looked, ended = time.monotonic(), None
    while gathering.goes_on and not ended:
        if gathering.advance():
            progress(gathering.analysed, len(ranks))
            continue
        time.sleep(_TURN_S)
        if time.monotonic() - looked >= _LOOK_S:
            ended = _SCHEDULER_GONE if gathering.has_lost_scheduler else workers.ended()
            looked = time.monotonic()
    missed = gathering.give_up(ended.what) if ended else ()
    return Gathered(gathering.total(), ended, missed)


class _Gathering:
    """What is under way on the workers, and what has come from them."""

    def __init__(self, workers: Workers, ranks: Sequence[RankFiles], memory_bytes: int | None) -> None:
        from distributed import as_completed

        self._workers = workers
        self._memory_bytes = memory_bytes
        self._tasks: dict[Future, RankFiles] = {self._begun(rank): rank for rank in ranks}
        self._tries: Counter[RankFiles] = Counter()
        self._analysed = as_completed(list(self._tasks))
        self._coming: dict[Future, list[RankFiles]] = {}  # contributions, or sums of some
        self._brought = as_completed([], loop=workers.client.loop, with_results=True, raise_errors=False)
        self._here: Tree[Tables] = Tree(added)
        self._here.add(nothing())
        self._ranks = len(ranks)

    @property
    def goes_on(self) -> bool:
        """Whether anything is still to come."""
        return bool(self._tasks or self._coming)

    @property
    def has_lost_scheduler(self) -> bool:
        """Whether what is under way was cancelled, which only a client does that has lost its scheduler."""
        return any(task.cancelled() for task in (*self._tasks, *self._coming))

    @property
    def analysed(self) -> int:
        """How many ranks are done, well or not."""
        return self._ranks - len(self._tasks)

    def advance(self) -> bool:
        """Take what has been done since the last time; False if that is nothing."""
        brought, analysed = self._brought.next_batch(block=False), self._analysed.next_batch(block=False)
        for coming, tables in brought:
            self._keep(coming, tables)
        self._bring(list(filter(self._is_good, analysed)))
        return bool(brought or analysed)

    def give_up(self, reason: str) -> tuple[RankFiles, ...]:
        """Count all ranks whose contribution is not here as failures, and return them."""
        coming = (rank for ranks in self._coming.values() for rank in ranks)
        missed = sorted((*self._tasks.values(), *coming), key=attrgetter("place"))
        self._fail(missed, f"it was not analysed: {reason}")
        return tuple(missed)

    def total(self) -> Tables:
        """What is here, as one."""
        return self._here.total()

    def _begun(self, rank: RankFiles, fit: list[str] | None = None) -> Future:
        """The analysis of a rank, on any worker or on one of those that are fit."""
        return self._workers.client.submit(
            contribute,
            rank,
            self._memory_bytes,
            __version__,
            key=f"rank-{rank.place}-{uuid4()}",
            workers=fit,
            pure=False,
        )

    def _is_good(self, task: Future) -> bool:
        if task.cancelled():
            return False
        if task.status != "error":
            return True
        rank = self._tasks.pop(task)
        if _is_workers_fault(task) and self._tries[rank] < _MOST_TRIES and (fit := self._workers.fit()):
            self._tries[rank] += 1
            again = self._begun(rank, fit)
            self._tasks[again] = rank
            self._analysed.add(again)
        else:
            self._fail([rank], _reason(task))
        return False

    def _bring(self, analysed: list[Future]) -> None:
        """Have contributions brought here, as sums where that many are ready at once."""
        whole = len(analysed) // AT_ONCE * AT_ONCE
        for start in range(0, whole, AT_ONCE):
            some = analysed[start : start + AT_ONCE]
            self._await(self._workers.client.submit(add, some, pure=False, priority=_SOON), some)
        for task in analysed[whole:]:
            self._await(task, [task])

    def _await(self, coming: Future, tasks: list[Future]) -> None:
        self._coming[coming] = [self._tasks.pop(task) for task in tasks]
        self._brought.add(coming)

    def _keep(self, coming: Future, tables: object) -> None:
        if coming.cancelled():
            return
        ranks = self._coming.pop(coming)
        if isinstance(tables, dict):
            self._here.add(tables)
        else:
            self._fail(ranks, _reason(coming))

    def _fail(self, ranks: Iterable[RankFiles], reason: str) -> None:
        for rank in ranks:
            self._here.add(failure(rank.place, rank.label, reason))


def _is_workers_fault(task: Future) -> bool:
    """Whether the worker was not fit for the task: it had not been asked yet, or has changed since."""
    error = task.exception()
    lacks_package = isinstance(error, ModuleNotFoundError) and "rocm_perf" in str(error)
    return lacks_package or isinstance(error, UnfitWorkerError)


def _reason(task: Future) -> str:
    """Why a task could not be done, in one line."""
    from distributed import KilledWorker

    error = task.exception()
    if isinstance(error, KilledWorker):
        return (
            "every worker that read it ended, most likely for lack of memory. "
            "Give each worker more with --worker-memory."
        )
    if isinstance(error, UnfitWorkerError):
        return str(error)
    first = str(error).splitlines()
    return f"{type(error).__name__}: {first[0] if first else 'no reason was given'}"

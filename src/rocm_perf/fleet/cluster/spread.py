"""Ranks spread over the workers of a cluster, and their contributions added up there: as soon as some are done they are
one, so that neither a worker nor this process ever holds those of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rocm_perf.analysis.reduction.contribution import failure
from rocm_perf.analysis.reduction.tables import Tables
from rocm_perf.analysis.reduction.tree import Tree
from rocm_perf.fleet.cluster.ranks import RankFiles
from rocm_perf.fleet.cluster.work import add, contribute

if TYPE_CHECKING:
    from distributed import Client, Future

Progress = Callable[[int, int], None]  # ranks that are done, of how many


def added_up(
    client: Client, ranks: Sequence[RankFiles], memory_bytes: int | None, progress: Progress
) -> Tables:
    """What all ranks contribute together. A rank whose worker ends is tried again elsewhere; one that ends every worker
    is a failure with its reason."""
    from distributed import as_completed

    tasks = {
        client.submit(contribute, rank, memory_bytes, key=f"rank-{rank.place}-{id(ranks)}", pure=False): rank
        for rank in ranks
    }
    done: Tree[Future] = Tree(lambda parts: client.submit(add, parts, pure=False))
    for count, task in enumerate(as_completed(list(tasks)), start=1):
        rank = tasks.pop(task)
        if task.status == "finished":
            done.add(task)
        else:
            done.add(client.submit(failure, rank.place, rank.label, _reason(task)))
        progress(count, len(ranks))
    total: Tables = done.total().result()
    return total


def _reason(task: Future) -> str:
    """Why a task could not be done, in one line."""
    from distributed import KilledWorker

    error = task.exception()
    if isinstance(error, KilledWorker):
        return (
            "every worker that read it ended, most likely for lack of memory. "
            "Give each worker more with --worker-memory."
        )
    first = str(error).splitlines()
    return f"{type(error).__name__}: {first[0] if first else 'no reason was given'}"

"""From the folder of a job to one document, on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rocm_perf.analysis.parts.combine import asking_again
from rocm_perf.analysis.reduction.document import led_to_one_rank, reduced
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.errors import InputError, NotSupportedError, RocmPerfError
from rocm_perf.fleet.cluster.clocks import on_one_clock
from rocm_perf.fleet.cluster.connection import connected, worker_limit
from rocm_perf.fleet.cluster.ranks import RankFiles, ranks_at
from rocm_perf.fleet.cluster.request import ClusterRequest
from rocm_perf.fleet.cluster.spread import Gathered, Progress, added_up
from rocm_perf.fleet.launcher import Say
from rocm_perf.model.document import Document
from rocm_perf.units import format_count, format_list

_MOST_NAMED = 16  # ranks in one line; the document names all that are missing


def _silent(*_: object) -> None:
    """Show nothing."""


def analyse_on_cluster(
    folder: Path,
    request: ClusterRequest,
    *,
    grouping: Grouping = "full",
    progress: Progress = _silent,
    say: Say = _silent,
) -> tuple[Document, RocmPerfError | None]:
    """What all ranks below the folder say together; and why it is not all of them, where the workers ended before they
    were done. Raises where no rank could be read."""
    ranks = ranks_at(folder)
    with (
        _saying_what_was_done(len(ranks), progress, say) as count,
        connected(request, folder, say) as workers,
    ):
        gathered = added_up(workers, ranks, worker_limit(workers.client), count)
    tables = gathered.tables
    cut_short = _cut_short(gathered, ranks, folder)
    if not tables["runs"].height:
        raise cut_short or _nothing_read(folder, tables["failures"]["reason"].to_list())
    document = reduced(tables, str(folder), grouping, aligned=on_one_clock)
    first = min(tables["runs"]["place"])
    return led_to_one_rank(asking_again(document, request.options), ranks[first].argument), cut_short


@contextmanager
def _saying_what_was_done(ranks: int, progress: Progress, say: Say) -> Iterator[Progress]:
    """How far it was is said at an interruption."""
    done = 0

    def count(analysed: int, total: int) -> None:
        nonlocal done
        done = analysed
        progress(analysed, total)

    try:
        yield count
    except KeyboardInterrupt:
        say(
            f"{done:,} of {format_count(ranks, 'rank')} were analysed; no report is made. Run it again for one."
        )
        raise


def _cut_short(gathered: Gathered, ranks: Sequence[RankFiles], folder: Path) -> RocmPerfError | None:
    if gathered.ended is None:
        return None
    missed = set(gathered.missed)
    done = [rank for rank in ranks if rank not in missed]
    why = (
        f"{len(done):,} of {format_count(len(ranks), 'rank')} were analysed, and the report is about these "
        f"({_names(done, folder)}); not {_names(gathered.missed, folder)}"
        if done
        else f"no rank was analysed before ({_names(ranks, folder)})"
    )
    return NotSupportedError(gathered.ended.what, why, gathered.ended.next_step)


def _names(ranks: Sequence[RankFiles], folder: Path) -> str:
    """The first of the ranks, as they are called in the folder."""
    return format_list([os.path.relpath(rank.label, folder.resolve()) for rank in ranks], _MOST_NAMED)


def _nothing_read(folder: Path, reasons: list[str]) -> InputError:
    return InputError(
        f"no recording below {folder} could be read",
        f"{format_count(len(reasons), 'rank')} tried, for example: {reasons[0]}",
    )

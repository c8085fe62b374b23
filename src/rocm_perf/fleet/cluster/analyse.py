"""From the folder of a job to one document, on a cluster."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.analysis.parts.combine import asking_again
from rocm_perf.analysis.reduction.document import led_to_one_rank, reduced
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.errors import InputError, NotSupportedError, RocmPerfError
from rocm_perf.fleet.cluster.clocks import on_one_clock
from rocm_perf.fleet.cluster.connection import connected, worker_limit
from rocm_perf.fleet.cluster.ranks import ranks_at
from rocm_perf.fleet.cluster.request import ClusterRequest
from rocm_perf.fleet.cluster.spread import Gathered, Progress, added_up
from rocm_perf.fleet.launcher import Say
from rocm_perf.model.document import Document
from rocm_perf.units import format_count


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
    with connected(request, say) as workers:
        gathered = added_up(workers, ranks, worker_limit(workers.client), progress)
    tables = gathered.tables
    cut_short = _cut_short(gathered, len(ranks))
    if not tables["runs"].height:
        raise cut_short or _nothing_read(folder, tables["failures"]["reason"].to_list())
    document = reduced(tables, str(folder), grouping, aligned=on_one_clock)
    first = min(tables["runs"]["place"])
    return led_to_one_rank(asking_again(document, request.options), ranks[first].argument), cut_short


def _cut_short(gathered: Gathered, ranks: int) -> RocmPerfError | None:
    if gathered.ended is None:
        return None
    done = ranks - gathered.missed
    report = f"{done:,} of {format_count(ranks, 'rank')} were analysed, and the report is about these"
    return NotSupportedError(
        gathered.ended.what, report if done else "no rank was analysed before", gathered.ended.next_step
    )


def _nothing_read(folder: Path, reasons: list[str]) -> InputError:
    return InputError(
        f"no recording below {folder} could be read",
        f"{format_count(len(reasons), 'rank')} tried, for example: {reasons[0]}",
    )

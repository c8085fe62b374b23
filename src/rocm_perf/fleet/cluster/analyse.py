"""From the folder of a job to one document, on a cluster."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.analysis.parts.combine import asking_again
from rocm_perf.analysis.reduction.document import led_to_one_rank, reduced
from rocm_perf.analysis.time.hotspots import Grouping
from rocm_perf.errors import InputError
from rocm_perf.fleet.cluster.clocks import on_one_clock
from rocm_perf.fleet.cluster.connection import connected, worker_limit
from rocm_perf.fleet.cluster.ranks import ranks_at
from rocm_perf.fleet.cluster.request import ClusterRequest
from rocm_perf.fleet.cluster.spread import Progress, added_up
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
) -> Document:
    """What all ranks below the folder say together; raises where none could be read."""
    ranks = ranks_at(folder)
    with connected(request, say) as client:
        tables = added_up(client, ranks, worker_limit(client), progress)
    if not tables["runs"].height:
        raise _nothing_read(folder, tables["failures"]["reason"].to_list())
    document = reduced(tables, str(folder), grouping, aligned=on_one_clock)
    first = min(tables["runs"]["place"])
    return led_to_one_rank(asking_again(document, request.options), ranks[first].argument)


def _nothing_read(folder: Path, reasons: list[str]) -> InputError:
    return InputError(
        f"no recording below {folder} could be read",
        f"{format_count(len(reasons), 'rank')} tried, for example: {reasons[0]}",
    )

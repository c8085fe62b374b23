"""The rank that the others wait for is named from the collectives of all ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.analysis.ranks.build import ranks
from rocm_perf.analysis.reduction.contribution import contribution
from rocm_perf.analysis.reduction.document import reduced
from rocm_perf.analysis.reduction.tables import added
from rocm_perf.fleet.cluster.clocks import on_one_clock
from rocm_perf.ingest.load import load
from rocm_perf.model import bundle
from rocm_perf.sim.jobs import simulate_job


@pytest.mark.whole
def test_a_late_rank_is_named_and_classes_are_those_of_one_process(tmp_path: Path) -> None:
    job = simulate_job(4, 12, seed=3, cause="data_loader", ranks_per_node=4)
    for number, rank in enumerate(job.recordings):
        bundle.write(rank, tmp_path / f"rank{number}")
    parts = [contribution(rank, place, f"rank {place}") for place, rank in enumerate(job.recordings)]
    document = reduced(added(parts), "job", aligned=on_one_clock)
    whole = ranks(load(tmp_path))
    assert document.ranks.collectives == whole.collectives
    assert document.ranks.stragglers[0].ranks == whole.stragglers[0].ranks == (f"rank {job.planted.rank}",)
    assert f"rank {job.planted.rank}" in document.findings[0].title

"""Workers of a scheduler that others started: none of them, some that go, some that come. All of it runs in this
process, over TCP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.cluster import remote_workers, spread
from rocm_perf.fleet.cluster.analyse import analyse_on_cluster
from rocm_perf.fleet.cluster.remote_workers import Absence
from rocm_perf.fleet.cluster.request import SCHEDULER_OPTIONS, ClusterRequest
from tests.unit.fleet.cluster.small_job import RANKS, contribute_or_hang, released

if TYPE_CHECKING:
    from distributed import LocalCluster

pytest.importorskip("distributed")
pytestmark = pytest.mark.whole


@pytest.fixture
def cluster(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    """A scheduler with as many workers as the test says, or none."""
    from distributed import LocalCluster

    monkeypatch.setattr(spread, "_LOOK_S", 0.05)
    monkeypatch.setattr(remote_workers, "_LOOK_S", 0.05)
    released.clear()
    with LocalCluster(
        n_workers=getattr(request, "param", 0),
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        scheduler_kwargs=SCHEDULER_OPTIONS,
        protocol="tcp://",
    ) as cluster:
        yield cluster
        released.set()


def _without_workers(cluster: LocalCluster) -> None:
    for worker in list(cluster.workers.values()):
        cluster.sync(worker.close, timeout=0, executor_wait=False, nanny=False)


def test_a_scheduler_without_a_worker_is_said_and_given_up(folder: Path, cluster: LocalCluster) -> None:
    said: list[str] = []
    address = cluster.scheduler_address
    with pytest.raises(NotSupportedError) as gone:
        analyse_on_cluster(folder, ClusterRequest(address, wait_s=0.2), say=said.append)
    command = f"POLARS_MAX_THREADS=1 OMP_NUM_THREADS=1 dask worker {address} --nthreads 1"
    assert said == [
        f"the scheduler at {address} has no worker. Start one where the recordings are seen: {command} "
        "(given up after 0.2 s, see --wait)"
    ]
    assert str(gone.value) == (
        f"the scheduler at {address} has had no worker for 0.2 s (--wait): no rank was analysed. "
        f"Start one where the recordings are seen: {command}, and run this again."
    )


def test_a_worker_that_comes_while_it_is_waited_for_does_the_work(
    folder: Path, cluster: LocalCluster
) -> None:
    said: list[str] = []

    def start_worker(line: str) -> None:
        said.append(line)
        Thread(target=cluster.scale, args=(1,)).start()

    document, cut_short = analyse_on_cluster(
        folder, ClusterRequest(cluster.scheduler_address, wait_s=60), say=start_worker
    )
    assert (len(document.devices), cut_short, len(said)) == (RANKS, None, 1)


@pytest.mark.parametrize("cluster", [2], indirect=True)
def test_workers_that_all_go_leave_a_report_of_what_they_did(
    folder: Path, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "contribute", contribute_or_hang)
    said: list[str] = []
    document, cut_short = analyse_on_cluster(
        folder,
        ClusterRequest(cluster.scheduler_address, wait_s=0.5),
        progress=lambda done, _: _without_workers(cluster) if done == RANKS - 1 else None,
        say=said.append,
    )
    assert said  # more than once where a worker that is closing registers once more
    assert all("has no worker" in line for line in said)
    done = len(document.devices)  # all but the one that hangs, and what was not here when its worker went
    assert 0 < done < RANKS
    assert cut_short is not None
    assert f"{done} of 4 ranks were analysed, and the report is about these (rank0" in str(cut_short)
    assert str(cut_short).partition("; not ")[2].partition(". Start one")[0].endswith("rank3")
    assert document.run.losses[-1].source.endswith("rank3")
    assert cut_short.exit_code == 4


def test_a_worker_in_time_starts_the_wait_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("rocm_perf.fleet.cluster.remote_workers.time.monotonic", lambda: now_s)
    said: list[str] = []
    absence = Absence("tcp://h:8786", 300, said.append)
    for at_s in (0.0, 50.0, 70.0, 290.0):
        now_s = at_s
        assert absence.noticed(has_worker=False) is None
    assert len(said) == 3  # at once, then once a minute
    assert absence.noticed(has_worker=True) is None
    now_s = 310.0
    assert absence.noticed(has_worker=False) is None
    now_s = 610.0
    ended = absence.noticed(has_worker=False)
    assert ended is not None
    assert "has had no worker for 300 s (--wait)" in ended.what

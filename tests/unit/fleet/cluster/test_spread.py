"""Ranks on workers that go away: what they have done is kept. The workers are threads of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocm_perf.analysis.reduction import tree
from rocm_perf.analysis.reduction.tables import Tables, added
from rocm_perf.errors import NotSupportedError
from rocm_perf.fleet.cluster import analyse, spread
from rocm_perf.fleet.cluster.ranks import RankFiles, ranks_at
from rocm_perf.fleet.cluster.request import SCHEDULER_OPTIONS, ClusterRequest
from rocm_perf.fleet.cluster.spread import added_up
from rocm_perf.fleet.cluster.work import contribute
from rocm_perf.fleet.cluster.workers import Ended, Workers
from tests.unit.fleet.cluster.small_job import RANKS, contribute_or_hang, released

pytestmark = pytest.mark.whole

if TYPE_CHECKING:
    from distributed import Client

pytest.importorskip("distributed")
GONE = Ended("job 41 ran out of time, and its workers are gone", "Run it again with more time.")


@pytest.fixture
def client() -> Iterator[Client]:
    """A client with two workers."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            scheduler_kwargs=SCHEDULER_OPTIONS,
            protocol="inproc://",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
        released.set()


@pytest.fixture
def hanging(client: Client, monkeypatch: pytest.MonkeyPatch) -> Workers:
    """Workers that do not end with the last rank, and are gone when the others are here."""
    released.clear()
    here = 0

    def added_here(parts: Sequence[Tables]) -> Tables:
        nonlocal here
        here += len(parts)
        return added(parts)

    monkeypatch.setattr(spread, "contribute", contribute_or_hang)
    monkeypatch.setattr(spread, "added", added_here)
    monkeypatch.setattr(tree, "AT_ONCE", RANKS)  # three ranks, after nothing
    monkeypatch.setattr(spread, "_LOOK_S", 0.05)
    return Workers(client, lambda: GONE if here >= RANKS else None)


def test_all_ranks_are_added_up(folder: Path, client: Client) -> None:
    told: list[tuple[int, int]] = []
    gathered = added_up(Workers(client), ranks_at(folder), None, lambda *count: told.append(count))
    assert gathered.tables["runs"].height == RANKS
    assert (gathered.ended, gathered.missed) == (None, ())
    assert told[-1] == (RANKS, RANKS)


def test_ranks_that_are_done_at_once_are_added_up_by_workers(
    folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "AT_ONCE", 1)
    gathered = added_up(Workers(client), ranks_at(folder), None, lambda *_: None)
    assert gathered.tables["runs"]["place"].sort().to_list() == list(range(RANKS))


def test_a_sum_that_fails_loses_no_others(
    folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "AT_ONCE", 1)
    monkeypatch.setattr(spread, "add", _add_but_one)
    gathered = added_up(Workers(client), ranks_at(folder), None, lambda *_: None)
    assert gathered.tables["runs"].height == RANKS - 1
    assert gathered.tables["failures"]["reason"].to_list() == ["MemoryError: too much"]


def _add_but_one(parts: Sequence[Tables]) -> Tables:
    if 0 in parts[0]["runs"]["place"]:
        raise MemoryError("too much")
    return added(parts)


def test_what_was_added_up_before_the_workers_went_is_kept(folder: Path, hanging: Workers) -> None:
    gathered = added_up(hanging, ranks_at(folder), None, lambda *_: None)
    assert gathered.tables["runs"]["place"].sort().to_list() == [0, 1, 2]
    (reason,) = gathered.tables["failures"]["reason"]
    assert reason == "it was not analysed: job 41 ran out of time, and its workers are gone"
    assert (gathered.ended, [rank.place for rank in gathered.missed]) == (GONE, [3])


def test_the_report_is_about_what_was_analysed_and_says_so(
    folder: Path, hanging: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyse, "connected", lambda *_: _opened(hanging))
    document, cut_short = analyse.analyse_on_cluster(folder, ClusterRequest("slurm"))
    assert len(document.devices) == RANKS - 1
    assert isinstance(cut_short, NotSupportedError)
    assert str(cut_short) == (
        "job 41 ran out of time, and its workers are gone: 3 of 4 ranks were analysed, and the report is about these "
        "(rank0, rank1, rank2); not rank3. Run it again with more time."
    )


def test_without_any_rank_there_is_no_report(
    folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    released.clear()
    monkeypatch.setattr(spread, "contribute", _hang)
    monkeypatch.setattr(spread, "_LOOK_S", 0.05)
    monkeypatch.setattr(analyse, "connected", lambda *_: _opened(Workers(client, lambda: GONE)))
    with pytest.raises(NotSupportedError, match="its workers are gone: no rank was analysed before"):
        analyse.analyse_on_cluster(folder, ClusterRequest("slurm"))


def _hang(rank: RankFiles, memory_bytes: int | None, version: str) -> Tables:
    released.wait(60)
    return contribute(rank, memory_bytes, version)


@contextmanager
def _opened(workers: Workers) -> Iterator[Workers]:
    yield workers

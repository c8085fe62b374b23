"""What ranks say together is what an analysis of all of them at once says, number by number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bench.make_ranks import simulated_rank, write_job

from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.reduction.contribution import contribution, failure
from rocm_perf.analysis.reduction.document import NOT_REDUCED, reduced
from rocm_perf.analysis.reduction.tables import Tables, added
from rocm_perf.fleet.cluster.clocks import on_one_clock
from rocm_perf.ingest.load import load
from rocm_perf.model.document import Document

RANKS = 3
# What the reduced document says; in it, what takes all dispatches at once is left open.
STATED = (
    "wall_ns",
    "devices",
    "queues",
    "hotspots",
    "families",
    "domains",
    "copies",
    "sync",
    "gaps",
    "communication",
)
LEFT_OPEN = (
    "median_ns",
    "durations",
    "p90_ns",
    "p99_ns",
    "ranges",
    "share",
    "lost_share",
    "threads",
    "straggler",
    "exposed_ns",  # of one collective
)
OF_SHARES = (".sync.share", ".sync.lost_share")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    write_job(folder, RANKS, steps=3, pairs=4)
    return folder


@pytest.fixture(scope="module")
def parts(folder: Path) -> list[Tables]:
    files = sorted(folder.iterdir())
    return [contribution(load(file), place, file.name) for place, file in enumerate(files)]


@pytest.mark.whole
def test_every_number_is_that_of_one_process(folder: Path, parts: list[Tables]) -> None:
    whole = overview(load(folder), "job")
    together = _reduced(added(parts))
    for name in STATED:
        ours, theirs = (msgspec.to_builtins(getattr(one, name)) for one in (together, whole))
        assert list(_differences(ours, theirs, f".{name}")) == []
    assert set(together.agents) == set(whole.agents)
    for count in ("launched", "dispatched", "paired", "missing", "replayed"):
        assert getattr(together.coverage, count) == getattr(whole.coverage, count)
    assert {name: whole.tables[name] for name in together.tables} == together.tables


def test_what_sums_cannot_tell_is_left_open_with_the_reason(parts: list[Tables]) -> None:
    document = _reduced(added(parts))
    assert document.roofline.unavailable == document.steps.unavailable == NOT_REDUCED
    assert document.path.missing == (NOT_REDUCED,)
    assert document.hotspots.rows[0].median_ns is None
    assert "critical path across ranks" in document.run.notices[0]


def test_the_order_of_additions_does_not_matter(parts: list[Tables]) -> None:
    first, second, third = parts
    one_by_one = added([added([first, second]), third])
    assert _answers(_reduced(one_by_one)) == _answers(_reduced(added([third, added([second, first])])))


def test_a_rank_that_could_not_be_read_is_named_and_the_others_count(parts: list[Tables]) -> None:
    document = _reduced(added([*parts[:2], failure(2, "rank2_results.db", "it is cut off")]))
    (hole,) = (hole for hole in document.coverage.holes if hole.id == "lost-records")
    assert "rank2_results.db: it is cut off" in hole.evidence[0]
    assert len(document.devices) == 2


def test_gpus_that_several_ranks_call_by_one_number_stay_apart(folder: Path) -> None:
    """As on a machine where each rank sees one GPU alone, its first."""
    trace = load(folder / "rank0_results.db")
    document = _reduced(added([contribution(trace, place, f"rank {place}") for place in range(2)]))
    assert len(document.devices) == 2
    assert "1 GPU number of a host in several ranks" in document.run.notices[-1]


def test_a_contribution_stays_small_however_many_dispatches(parts: list[Tables]) -> None:
    """10,000 of them fit into memory: docs/scale.md."""
    rank = simulated_rank(steps=30, pairs=40)
    large = added([contribution(rank, 0, "rank 0")])
    size, larger = (
        sum(table.estimated_size() for table in one.values()) for one in (added(parts[:1]), large)
    )
    assert larger < 1.2 * size < 20_000


def _reduced(tables: Tables) -> Document:
    return reduced(tables, "job", aligned=on_one_clock)


def _answers(document: Document) -> Any:
    return msgspec.to_builtins(document)


def _differences(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    """Where two answers differ, apart from what is left open."""
    leaf = path.rsplit(".", 1)[-1]
    if path in OF_SHARES or (leaf in LEFT_OPEN and leaf != "share" and not ours):
        return
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in ours.keys() | theirs.keys():
            yield from _differences(ours.get(name), theirs.get(name), f"{path}.{name}")
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: {ours!r}, in one process {theirs!r}"

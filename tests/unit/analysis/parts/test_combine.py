"""Parts of a recording as one document: sums are those of the whole, and what is of one part says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.make_rocpd import make as make_rocpd

from rocm_perf import api
from rocm_perf.analysis.parts.adding import added, pooled
from rocm_perf.errors import EmptyCaptureError
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import ratio, unavailable
from rocm_perf.model.results.times import DomainTotal
from rocm_perf.model.time_window import TimeWindow

pytestmark = pytest.mark.whole
ROWS = 20_000  # one every 5 us: 100 ms in all
WINDOWS = [
    TimeWindow(0, 30 * 10**6),
    TimeWindow(30 * 10**6, 40 * 10**6),
    TimeWindow(40 * 10**6, 10**9),
    TimeWindow(10**9, None),
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, Document]:
    """The whole at once, and in parts; nothing starts in the last of them."""
    file = tmp_path_factory.mktemp("parts") / "results.db"
    make_rocpd(file, ROWS, ROWS)
    return api.analyze(file, whole=True), api.analyze_in_parts(file, WINDOWS)


def test_counts_and_sums_are_those_of_the_whole(documents: tuple[Document, Document]) -> None:
    whole, parts = documents
    assert parts.tables == whole.tables
    assert parts.hotspots.dispatches == ROWS
    assert parts.hotspots.total_ns == whole.hotspots.total_ns

    def kernels(document: Document) -> dict[str, tuple[object, ...]]:
        rows = document.hotspots.rows
        return {row.kernel: (row.calls, row.total_ns, row.min_ns, row.max_ns, row.share) for row in rows}

    assert kernels(parts) == kernels(whole)
    assert [(row.domain, row.calls, row.total_ns, row.union_ns) for row in parts.domains] == [
        (row.domain, row.calls, row.total_ns, row.union_ns) for row in whole.domains
    ]
    assert {row.agent_id: row.busy_ns for row in parts.devices} == {
        row.agent_id: row.busy_ns for row in whole.devices
    }
    assert [(row.family, row.total_ns, row.share) for row in parts.families.rows] == [
        (row.family, row.total_ns, row.share) for row in whole.families.rows
    ]
    assert parts.coverage.dispatched == whole.coverage.dispatched


def test_idle_time_and_path_are_near_those_of_the_whole(documents: tuple[Document, Document]) -> None:
    """What lies between two parts belongs to neither."""
    whole, parts = documents
    assert parts.wall_ns == pytest.approx(whole.wall_ns, rel=0.01)
    assert parts.gaps.idle_ns == pytest.approx(whole.gaps.idle_ns, rel=0.01)
    assert sum(row.total_ns for row in parts.gaps.causes) == parts.gaps.idle_ns
    assert sum(row.share for row in parts.gaps.causes) == pytest.approx(1)
    assert parts.path.total_ns == parts.path.wall_ns == sum(parts.path.by_kind.values())
    assert parts.path.total_ns == pytest.approx(whole.path.total_ns, rel=0.01)


def test_findings_are_those_of_the_whole(documents: tuple[Document, Document]) -> None:
    whole, parts = documents
    assert [finding.id for finding in parts.findings] == [finding.id for finding in whole.findings]
    for ours, theirs in zip(parts.findings, whole.findings, strict=True):
        assert (ours.time_at_stake_ns or 0) == pytest.approx(theirs.time_at_stake_ns or 0, rel=0.05)
        assert ours.evidence[0].startswith("in the window 0.04s..1s alone, ")
        assert ours.next_command.endswith(("--window 0.04s..1s", "-- ./made --up"))


def test_projections_are_those_of_the_whole(documents: tuple[Document, Document]) -> None:
    whole, parts = documents
    assert parts.projections
    for ours, theirs in zip(parts.projections, whole.projections, strict=True):
        assert ours.speedup.value == pytest.approx(theirs.speedup.value, rel=0.05)
        assert ours.wall_ns + ours.saved_ns == parts.wall_ns


def test_what_is_of_one_part_says_so(documents: tuple[Document, Document]) -> None:
    _, parts = documents
    first, second = parts.run.notices[:2]
    assert first == "analysed in 3 parts and added up; medians are those of one part"
    assert second.startswith("of the window 0.04s..1s alone: steps,")


def test_windows_in_which_nothing_starts(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    make_rocpd(file, 10, 10)
    with pytest.raises(EmptyCaptureError, match=r"nothing in .* starts in the window"):
        api.analyze_in_parts(file, [TimeWindow(10**12, None)])


def test_rows_are_added_by_their_key() -> None:
    def total(domain: str, union: int, busiest: str) -> DomainTotal:
        return DomainTotal(
            domain=domain, calls=1, total_ns=union, union_ns=union, busiest=busiest, busiest_ns=union
        )

    rows = added(
        [[total("hip", 5, "a")], [total("hsa", 6, "b"), total("hip", 7, "c")]], ("domain",), ("union_ns",)
    )
    assert [(row.domain, row.union_ns, row.busiest) for row in rows] == [("hip", 12, "c"), ("hsa", 6, "b")]


def test_a_share_of_all_parts_weighs_each_by_its_size() -> None:
    shares = [ratio(1, 10, "part / whole", "part", "whole"), ratio(90, 90, "part / whole", "part", "whole")]
    unknown = unavailable("", "part / whole", "not recorded")
    assert pooled([unknown, *shares]).value == 0.91
    assert pooled([unknown, unknown]) == unknown

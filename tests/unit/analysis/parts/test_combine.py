"""Parts of a recording as one document: sums are those of the whole, and what is of one part says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.make_rocpd import make as make_rocpd
from msgspec.structs import replace

from rocm_perf import api
from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.parts.adding import added, pooled
from rocm_perf.analysis.parts.combine import combined
from rocm_perf.errors import EmptyCaptureError
from rocm_perf.model.document import Document
from rocm_perf.model.quantity import Quantity, ratio, unavailable
from rocm_perf.model.results.clocks import Clocks, RankClock
from rocm_perf.model.results.phases import Phase, Phases
from rocm_perf.model.results.times import DomainTotal
from rocm_perf.model.time_window import TimeWindow
from rocm_perf.sim.workload import read_workload
from rocm_perf.units import NS_PER_MS as MS
from tests.sim.recorded import recorded

pytestmark = pytest.mark.whole
WORKLOADS = Path(__file__).parents[4] / "examples" / "workloads"
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


@pytest.mark.parametrize("name", ["copy_in_loop", "straggler", "softmax", "sync_in_loop"])
def test_the_phases_are_those_of_the_whole(name: str) -> None:
    trace = recorded(read_workload(WORKLOADS / f"{name}.toml"))
    whole = overview(trace, name).phases
    third = whole.rows[-1].end_ns // 3
    windows = [TimeWindow(0, third), TimeWindow(third, 2 * third), TimeWindow(2 * third, None)]
    parts = combined([(window, overview(trace.part(window), name)) for window in windows]).phases
    assert [row.name for row in parts.rows] == [row.name for row in whole.rows]
    for ours, theirs in zip(parts.rows, whole.rows, strict=True):
        assert abs(ours.start_ns - theirs.start_ns) <= 5_000
        assert abs(ours.end_ns - theirs.end_ns) <= 5_000
    assert whole.steps - 2 * len(windows) <= parts.steps <= whole.steps
    assert parts.step_ns.value == pytest.approx(whole.step_ns.value, rel=0.01)
    counted = parts.judged.duration_ns - parts.uncounted_ns if parts.judged else 0
    assert counted / parts.steps == pytest.approx(whole.step_ns.value, rel=0.05)


def test_parts_whose_steps_take_other_times_are_not_one_steady_state() -> None:
    """Three parts of 100 ms: two of training, one of something slower."""

    def part(number: int, step_ns: int) -> Phases:
        return Phases(
            rows=(
                Phase("start-up", 0, 10 * MS),
                Phase("steady", 10 * MS, 90 * MS),
                Phase("end", 90 * MS, 100 * MS),
            ),
            origin_ns=number * 100 * MS,
            found_by="ranges",
            steps=80 * MS // step_ns,
            step_ns=Quantity(step_ns, "ns", "median", {}),
            kernels_per_step=Quantity(3, "kernels", "median", {}),
            carried_over=0,
            pauses=(),
        )

    base = overview(recorded(read_workload(WORKLOADS / "softmax.toml")), "x")
    given = [
        replace(base, phases=part(0, MS)),
        replace(base, phases=part(1, MS)),
        replace(base, phases=part(2, 8 * MS)),
    ]
    phases = combined([(TimeWindow(index, None), document) for index, document in enumerate(given)]).phases
    assert [(row.name, row.start_ns // MS, row.end_ns // MS) for row in phases.rows] == [
        ("start-up", 0, 10),
        ("steady", 10, 190),
        ("end", 190, 300),
    ]
    assert (phases.steps, phases.other_steps, phases.uncounted_ns) == (160, 10, 20 * MS)
    assert phases.found_by == "in 2 of 3 parts, each by itself, ranges"


def test_the_clocks_are_as_certain_as_in_the_worst_part() -> None:
    base = overview(recorded(read_workload(WORKLOADS / "softmax.toml")), "x")

    def clocks(error: float, reason: str | None = None) -> Clocks:
        row = RankClock(1, "node 0", 7, 0, 5.0, 0.0, error, 10, "collectives", reason)
        return Clocks((row,), error, int(reason is not None))

    given = [clocks(3.0), clocks(9.0), clocks(4.0)]
    together = combined(
        [(TimeWindow(i, None), replace(base, clocks=one)) for i, one in enumerate(given)]
    ).clocks
    assert (together.error_ns, together.rows[0].collectives, together.apart) == (9.0, 30, 0)
    failed = [(TimeWindow(0, 5), replace(base, clocks=clocks(3.0, "too few"))), (TimeWindow(5, 9), base)]
    assert combined(failed).clocks.rows[0].reason == "too few"

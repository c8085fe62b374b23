"""The first line: how much the GPU works in the part that is judged, which pauses do not belong to."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf import api
from rocm_perf.analysis.overview import examine, overview
from rocm_perf.cli.demo import workload_file
from rocm_perf.model.finding import Finding, Kind
from rocm_perf.render.sections.headline import limit_line, worth
from rocm_perf.units import NS_PER_MS, NS_PER_US
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import kernel, trace

MS, US = NS_PER_MS, NS_PER_US


def test_pauses_are_told_apart() -> None:
    """Kernels of a millisecond every two, in three blocks that lie 100 and 200 ms apart."""
    starts = [block + 2 * MS * number for block in (0, 140 * MS, 380 * MS) for number in range(20)]
    rows = [kernel(f"k{number}", at, at + MS - number) for number, at in enumerate(starts)]
    told = overview(trace(dispatches=rows), "run")
    (line,) = limit_line(told)
    assert line.startswith("Apart from 2 pauses of 302 ms in all, the GPU works 60.0 ms of 117 ms (51.3 %)")
    idle = next(finding for finding in told.findings if finding.id == "host-not-recorded")
    assert worth(idle, told).startswith("57.0 ms of 117 ms")


@pytest.mark.parametrize("saved_ns", [0, MS // 4, 2 * MS])
def test_a_worth_of_next_to_nothing_is_not_told(saved_ns: int) -> None:
    told = overview(
        trace(dispatches=[kernel("k", 2 * MS * n, 2 * MS * n + MS - n) for n in range(50)]), "run"
    )
    finding = Finding("x", "info", "t", time_at_stake_ns=saved_ns)
    assert bool(worth(finding, told)) == (saved_ns > MS)


@pytest.mark.parametrize("gap", [0, 300 * MS])
def test_one_pause_or_none(gap: int) -> None:
    starts = [2 * MS * number + (gap if number >= 20 else 0) for number in range(40)]
    rows = [kernel(f"k{number}", at, at + MS - number * US) for number, at in enumerate(starts)]
    (line,) = limit_line(overview(trace(dispatches=rows), "run"))
    assert line.startswith("Apart from a pause of 301 ms, the GPU works" if gap else "The GPU works")


@pytest.mark.parametrize(
    ("late", "step"), [(0, "In a step the GPU"), (MS, "In a step, up to the end of its last work, the GPU")]
)
def test_a_step_that_lasts_longer_than_its_phase_says_so(late: int, step: str) -> None:
    examined = examine(api.simulate(workload_file("sync_in_loop")), "run")
    (phase,) = [row for row in examined.phases.rows if row.name == "steady"]
    phases = replace(examined.phases, rows=(replace(phase, end_ns=phase.end_ns - late),))
    (line,) = limit_line(replace(examined, phases=phases))
    assert line.startswith(step)


def test_collectives_that_run_alone_are_told_apart() -> None:
    """A GPU that waits inside of a collective looks as busy as one that computes."""
    rows = [
        {**kernel(name, at, end), "agent_id": agent}
        for agent, early in enumerate((800 * US, 200 * US))
        for step in range(20)
        for name, at, end in (
            ("gemm", step * MS, step * MS + early - step),
            ("ncclDevKernel_AllReduce", step * MS + early, step * MS + 900 * US),
        )
    ]
    told = overview(trace(dispatches=rows), "run")
    (line,) = limit_line(told)
    assert line.startswith("The 2 GPUs work on average 18.0 ms of 19.9 ms (90.5 %), 8.00 ms of it in collec")


def limit(finding_id: str, kind: Kind, busy_ns: int) -> str:
    """What is said to be the limit above such a first finding, of a GPU that works so long in each millisecond."""
    rows = [kernel("k", MS * number, MS * number + busy_ns - number) for number in range(40)]
    finding = Finding(id=finding_id, severity="info", title="...", kind=kind)
    (line,) = limit_line(document(trace(dispatches=rows), findings=(finding,)))
    return line.rpartition(": ")[2]


def test_kernels_are_not_the_limit_of_a_gpu_that_is_mostly_idle() -> None:
    assert limit("kernel-k", "kernel-memory", 900 * US) == "its kernels are the limit."
    assert limit("kernel-k", "kernel-memory", 300 * US) == "its kernels have the most to gain."


def test_kernels_are_not_the_limit_above_gaps_that_are_known_to_be_worth_more() -> None:
    """Kernels of 0.6 ms in each millisecond, about which nothing is known, and gaps worth 1.73 times as fast."""
    rows = [kernel("k", MS * number, MS * number + 600 * US - number) for number in range(40)]
    unknown = Finding(id="kernel-k", severity="info", title="...", kind="kernel")
    gaps = Finding(
        id="gap-queue-gap", severity="warning", title="...", kind="host-bound", time_at_stake_ns=16_700_000
    )

    def said(*findings: Finding) -> str:
        (line,) = limit_line(document(trace(dispatches=rows), findings=findings))
        return line.rpartition(": ")[2]

    assert said(unknown, gaps) == (
        "its kernels are one limit, the gaps between them another, worth 1.73 times as fast."
    )
    assert said(unknown, replace(gaps, time_at_stake_ns=MS)) == "its kernels are the limit."
    assert said(replace(unknown, time_at_stake_ns=20 * MS), gaps) == "its kernels are the limit."


def test_a_late_rank_is_not_said_to_be_communication() -> None:
    assert limit("late-rank", "communication", 300 * US) == "one rank holds the others up."
    assert limit("exposed-communication", "communication", 300 * US) == "communication is the limit."


def test_without_kernels_copies_are_what_takes_time() -> None:
    copies = [{"kind": "H2D", "start_ns": MS * at, "end_ns": MS * at + US} for at in range(9)]
    (line,) = limit_line(overview(trace(copies=copies), "run"))
    assert line.startswith("Copies take 9.00 us in all; no kernel is in the recording")

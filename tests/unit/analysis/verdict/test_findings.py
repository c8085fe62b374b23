"""What to do next, over all analyses: the simulator knows what the remedies bring."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from rocm_perf.analysis.overview import overview
from rocm_perf.analysis.verdict.findings import MOST
from rocm_perf.model.document import Document
from rocm_perf.model.finding import Finding
from rocm_perf.sim import changes as sim
from rocm_perf.sim.workload import read_workload
from rocm_perf.units import format_ns
from tests.sim.recorded import recorded
from tests.unit.analysis.traces import call, kernel, marked, trace, with_launch_cost
from tests.unit.sim.runs import MI300X

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "workloads"


@cache
def example(name: str) -> Document:
    return overview(recorded(replace(read_workload(EXAMPLES / f"{name}.toml"), noise=0.0)), f"{name} run")


def found(document: Document, name: str) -> Finding:
    return next(finding for finding in document.findings if finding.id == name)


def test_a_loop_that_synchronises_gets_the_gain_of_the_fixed_one() -> None:
    workload = replace(read_workload(EXAMPLES / "sync_in_loop.toml"), noise=0.0)
    document = example("sync_in_loop")
    first = document.findings[0]
    assert first.id == "synchronisation"
    assert first.projected_speedup is not None
    true = sim.wall_if(workload, MI300X) / sim.wall_if(workload, MI300X, sim.SyncsHoisted())
    assert first.projected_speedup.value == pytest.approx(true, rel=0.02)
    assert first.time_at_stake_ns == document.projections[0].saved_ns


@pytest.mark.whole
def test_the_next_command_names_the_recording_and_sections_that_exist() -> None:
    from rocm_perf.render.sections.index import chosen

    for name in ("sync_in_loop", "copy_in_loop", "slivers", "straggler"):
        for finding in example(name).findings:
            assert finding.next_command, finding.id
            if "--show" in finding.next_command:
                head, _, sections = finding.next_command.partition(" --show ")
                assert head == f"rocm-perf analyze '{name} run'"  # quoted: it holds a blank
                assert chosen(sections.split(","))


@pytest.mark.parametrize("name", sorted(file.stem for file in EXAMPLES.glob("*.toml")))
def test_at_most_ten_and_none_above_the_wall(name: str) -> None:
    document = example(name)
    stakes = [finding.time_at_stake_ns or 0 for finding in document.findings]
    assert len(stakes) <= MOST
    assert all(stake <= document.path.wall_ns for stake in stakes)


def test_the_hoisted_loop_no_longer_has_the_finding() -> None:
    assert "synchronisation" not in {finding.id for finding in example("sync_hoisted").findings}


def test_a_kernel_that_nothing_was_counted_of_has_no_worth_but_says_what_a_tenth_saves() -> None:
    document = example("softmax")
    (finding, *_) = [finding for finding in document.findings if finding.id.startswith("kernel-")]
    assert finding.time_at_stake_ns is None
    impact = format_ns(document.path.by_kernel[0].impact_ns)
    assert f"each tenth that it gets faster saves {impact} of the wall (re-timed)" in finding.evidence
    assert finding.kind == "kernel-memory"  # a softmax


def test_idle_time_is_at_stake_where_no_change_can_be_projected() -> None:
    kernels = [kernel("k", 1000 * i + 900, 1000 * i + 950, correlation_id=i) for i in range(9)]
    calls = [call("hipLaunchKernel", 1000 * i + 100, 1000 * i + 890, i) for i in range(9)]
    document = overview(trace(dispatches=kernels, api_calls=calls), "t")
    (one,) = (finding for finding in document.findings if finding.kind == "host-bound")  # told as one
    assert one.time_at_stake_ns is not None
    assert one.time_at_stake_ns <= document.ledger.idle_ns
    assert one.projected_speedup is None


def test_time_that_loads_code_is_not_promised_a_second_time() -> None:
    """Forty launches, of which ten take 5 ms to load code; between the others the host takes 60 us, or 1.5 ms."""
    kernels, calls, clock = [], [], 1_000_000
    for number in range(1, 41):
        launched = clock + (5_000_000 if number % 4 == 1 else 5_000)
        ends = launched + 11_000 + 37 * number
        calls.append(call("hipLaunchKernel", clock, launched, number, pid=1, tid=1))
        kernels.append(kernel(f"k{number}", launched + 1_000, ends, correlation_id=number, pid=1))
        clock = launched + (1_500_000 if number % 5 == 0 else 60_000)
    document = overview(trace(dispatches=kernels, api_calls=calls), "loads")
    at_stake = {finding.id: finding.time_at_stake_ns or 0 for finding in document.findings}
    assert at_stake["first-uses"] == 10 * 5_000_000
    assert at_stake["host-elsewhere"] == pytest.approx(7 * 1_500_000, rel=0.05)
    assert at_stake.keys() == {"first-uses", "host-elsewhere"}


def test_what_is_said_in_the_same_words_is_said_once() -> None:
    """Long and short gaps in turn, the host in no call in either: one finding, which is about both."""
    starts = [
        millisecond * 100_000 for number in range(8) for millisecond in (10 + 48 * number, 50 + 48 * number)
    ]
    kernels = [kernel("k", at, at + 100_000, correlation_id=at, pid=1) for at in starts]
    calls = [call("hipLaunchKernel", at - 5_000, at - 1_000, at, pid=1, tid=1) for at in starts]
    findings = overview(trace(dispatches=kernels, api_calls=calls), "loop").findings
    waits = [finding for finding in findings if finding.title.startswith("The GPU waits while the host")]
    assert [finding.id for finding in waits] == ["host-elsewhere"]
    gaps_ns = 8 * 3_900_000 + 7 * 700_000
    assert waits[0].time_at_stake_ns == pytest.approx(gaps_ns, rel=0.02)


def test_a_host_bound_program_is_told_what_the_profiler_adds() -> None:
    workload = replace(read_workload(EXAMPLES / "slivers.toml"), noise=0.0)
    traced = with_launch_cost(recorded(workload), 2000.0)
    document = overview(traced, "run")
    added = format_ns(2000 * document.launches.calls)
    finding = found(document, "host-bound")
    assert any(line.startswith(f"{added} of the host's time is the profiler's") for line in finding.evidence)
    before = found(example("slivers"), "host-bound")
    assert finding.evidence[0] == before.evidence[0]
    assert document.ledger.total_ns("profiler") > 0


def loading_after_reading_back(steps: int) -> Document:
    """A step launches 2 ms of kernels, reads their result back, and loads the next input for 3 ms."""
    kernels, calls, copies, loading = [], [], [], []
    for step in range(steps):
        at, first = 5_060_000 * step, 10 * step
        calls += [
            call("hipLaunchKernel", at + 1_000 * one, at + 1_000 * one + 900, first + one) for one in range(4)
        ]
        kernels += [
            kernel(
                f"k{one}",
                at + 10_000 + 500_000 * one,
                at + 509_900 + 499_000 * one,
                correlation_id=first + one,
            )
            for one in range(4)
        ]
        calls.append(call("hipMemcpyWithStream", at + 5_000, at + 2_050_000, first + 5))
        copies.append(
            {"kind": "D2H", "size_bytes": 10**6, "start_ns": at + 2_011_000, "end_ns": at + 2_041_000, "agent_id": 0,
             "stream_id": 0, "correlation_id": first + 5}
        )  # fmt: skip
        loading.append(marked("enumerate(DataLoader)#next", at + 2_055_000, at + 5_055_000))
    return overview(trace(dispatches=kernels, api_calls=calls, copies=copies, ranges=loading), "x")


def test_what_the_host_does_after_reading_back_is_not_the_worth_of_the_copy() -> None:
    document = loading_after_reading_back(8)
    loader = document.findings[0]
    assert loader.title == "The GPU waits for the data loader"
    assert loader.time_at_stake_ns == pytest.approx(7 * 3_000_000, rel=0.02)
    assert "copies" not in {finding.id for finding in document.findings}

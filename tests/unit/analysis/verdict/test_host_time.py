"""What holds the time of a host where no GPU was recorded."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.verdict.host_only import host_only
from rocm_perf.analysis.verdict.host_time import largest_group, longest_functions
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from rocm_perf.units import NS_PER_MS
from tests.unit.analysis.traces import Row, call, kernel, trace

MS = NS_PER_MS


def span(name: str, start: int, end: int, tid: int = 1, source: str = "perfetto") -> Row:
    return {"name": name, "start_ns": start * MS, "end_ns": end * MS, "pid": 1, "tid": tid, "source": source}


def concluded(*ranges: Row, calls: tuple[Row, ...] = ()) -> Finding:
    found = host_only(trace(ranges=ranges, api_calls=calls) if calls else trace(ranges=ranges))
    assert found is not None
    return found


MAIN = span("main", 0, 100)


@pytest.mark.parametrize(
    ("inner", "kind", "title", "remedy"),
    [
        (
            span("MPI_Allreduce", 5, 90),
            "communication",
            "MPI holds 85.0 % of the host's time: MPI_Allreduce",
            "MPI_I",
        ),
        (
            span("MPI_Init_thread", 5, 90),
            "startup",
            "MPI_Init_thread and other calls that are made once",
            "--delay",
        ),
        (
            span("gloo:all_reduce", 5, 90),
            "communication",
            "Collectives on CPUs hold 85.0 %",
            "larger messages",
        ),
        (span("backend_compile", 5, 90), "startup", "Compiling holds 85.0 %", ""),
        (span("DataLoader.__next__", 5, 90), "host-bound", "Loading data holds 85.0 %", ""),
    ],
)
def test_what_holds_most_of_the_time_is_named(inner: Row, kind: str, title: str, remedy: str) -> None:
    found = concluded(MAIN, inner)
    assert (found.id, found.kind) == ("host-alone", kind)
    assert found.title.startswith(title)
    assert found.title.endswith("No GPU is in the recording")
    assert remedy in found.remedy
    assert found.time_at_stake_ns is None


def test_what_computes_is_named_and_nothing_is_concluded() -> None:
    found = concluded(MAIN, span("solve", 10, 90), span("MPI_Allreduce", 80, 90))
    assert (found.id, found.kind) == ("nothing-recorded", "cannot-tell")
    assert (
        found.evidence[1]
        == "the host's time: solve 70.0 ms in 1 call, main 20.0 ms in 1 call, MPI_Allreduce 10.0 ms in 1 call"
    )


def test_mpi_beside_calls_that_only_ask_for_devices() -> None:
    asks = (call("hipGetDeviceCount", 0, 5),)
    assert concluded(MAIN, span("MPI_Waitall", 1, 99), calls=asks).id == "host-alone"
    launches = (call("hipLaunchKernel", 0, 5),)
    assert concluded(MAIN, span("MPI_Waitall", 1, 99), calls=launches).id == "gpu-not-recorded"


def test_a_thread_that_sleeps_holds_no_time() -> None:
    asleep = {
        "name": "threading.py(355): wait",
        "category": "python",
        "start_ns": 0,
        "end_ns": 900 * MS,
        "tid": 2,
    }
    recording = trace(ranges=[MAIN, span("MPI_Allreduce", 5, 90)], ops=[asleep])
    found = largest_group(recording)
    assert found is not None
    assert (found.group, found.ns, found.total_ns) == ("mpi", 85 * MS, 100 * MS)


def test_the_profilers_own_ranges_are_not_the_program() -> None:
    recording = trace(ranges=[MAIN, span("MPI_Allreduce", 5, 90, source="profiler")])
    assert longest_functions(recording) == ("main 100 ms in 1 call",)


def test_with_a_gpu_in_the_recording_nothing_is_said_of_the_host_alone() -> None:
    recording: Trace = trace(ranges=[MAIN, span("MPI_Allreduce", 5, 90)], dispatches=[kernel("k", 0, 9)])
    assert host_only(recording) is None


def clocks(*mhz: float) -> list[Row]:
    rows = [{"metric": "clock_mhz", "agent_id": gpu, "value": value} for gpu, value in enumerate(mhz)]
    return [{"time_ns": at * MS, **row} for at in range(3) for row in rows]


def test_a_gpu_with_a_high_clock_worked_on_something() -> None:
    found = host_only(trace(samples=clocks(132.0, 132.0, 1970.0, 140.0)))
    assert found is not None
    assert (
        "GPU 2 at 1,970 MHz, 3 others from 132 MHz on: something ran there that was not recorded"
        in found.evidence
    )
    alike = host_only(trace(samples=clocks(132.0, 140.0)))
    assert alike is not None
    assert not [line for line in alike.evidence if "MHz" in line]

"""Recording end to end against the fake tools: each profiler, release and fault, to the record and the exit code."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rocm_perf.collect.run.layout import read_record
from rocm_perf.collect.run.session import Recorded
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import PassRecord
from tests.unit.collect.sessions import V1, V2, V3, Sessions, sessions

pytestmark = pytest.mark.launches

__all__ = ["sessions"]
COUNTERS = ("SQ_WAVES", "GRBM_GUI_ACTIVE")


def _passes(recorded: Recorded) -> list[tuple[str, str, str]]:
    return [(run.profiler, run.purpose, run.outcome) for run in recorded.record.passes]


def _kernels(recorded: Recorded) -> int:
    assert recorded.trace is not None
    return recorded.trace.rows("dispatches")


@pytest.mark.parametrize(
    ("tool", "rocm"),
    [
        (V3, "6.2"),
        (V3, "6.4"),
        (V3, "7.0"),
        (V3, "7.2"),
        (V3, "10.0"),
        (V2, "5.7"),
        (V1, "5.7"),
        (V1, "6.4"),
        (V1, "7.2"),
    ],
)
def test_each_profiler_records(sessions: Sessions, tool: str, rocm: str) -> None:
    recorded = sessions("true", tools=(tool,), rocm=rocm)
    assert (recorded.exit_code, recorded.record.profiler, recorded.record.state) == (0, tool, "done")
    assert _kernels(recorded) == 6
    assert recorded.trace is not None
    assert recorded.trace.run.collection == recorded.record
    assert recorded.trace.run.command == "true"
    assert read_record(recorded.folder) == recorded.record


@pytest.mark.parametrize("tool", [V3, V2, V1])
@pytest.mark.parametrize(
    ("script", "code"), [("exit 7", 7), ("exit 137", 137), ("kill -9 $$", 137), ("kill -11 $$", 139)]
)
def test_the_applications_end_is_ours_and_it_runs_once(
    sessions: Sessions, tool: str, script: str, code: int
) -> None:
    rocm = "5.7" if tool == V2 else "7.2"
    log = sessions.tmp_path / "log"
    recorded = sessions("sh", "-c", f"echo ran >> {log}; {script}", tools=(tool,), rocm=rocm)
    assert recorded.exit_code == code
    assert recorded.record.state == "failed"
    assert log.read_text() == "ran\n"


def test_a_failing_application_is_not_run_for_its_counters(sessions: Sessions) -> None:
    log = sessions.tmp_path / "log"
    recorded = sessions("sh", "-c", f"echo ran >> {log}; exit 3", counters=COUNTERS)
    assert recorded.exit_code == 3
    assert log.read_text() == "ran\n"
    assert recorded.record.could_not == (
        "counters: not started, because the application failed with exit code 3",
    )
    assert _kernels(recorded) == 6


@pytest.mark.parametrize("tool", [V3, V2, V1])
def test_words_arrive_unchanged(sessions: Sessions, tool: str) -> None:
    words = ["--", "--weird", "a b", "", "*", "$HOME", "it's"]
    out = sessions.tmp_path / "out"
    script = f'printf "%s\\n" "$@" > {out}'
    recorded = sessions("sh", "-c", script, "sh", *words, tools=(tool,), rocm="5.7" if tool == V2 else "7.2")
    assert recorded.exit_code == 0
    assert out.read_text() == "".join(f"{word}\n" for word in words)


def test_trace_and_counters_are_one_run(sessions: Sessions) -> None:
    recorded = sessions("true", counters=COUNTERS)
    assert _passes(recorded) == [(V3, "trace", "recorded"), (V3, "counters", "recorded")]
    assert recorded.trace is not None
    dispatches, counters = recorded.trace.table("dispatches"), recorded.trace.table("counters")
    assert dispatches["pass_id"].value_counts().sort("pass_id").rows() == [(1, 6), (2, 6)]
    assert counters["pass_id"].unique().to_list() == [2]
    joined = counters.join(dispatches, on=["node", "pid", "pass_id", "dispatch_id"])
    assert joined.height == counters.height == 12
    assert sessions.said[-1] == "run 2: counters (SQ_WAVES, GRBM_GUI_ACTIVE) with rocprofv3"


def test_no_counter_library_keeps_the_trace(sessions: Sessions) -> None:
    recorded = sessions("true", fault="aqlprofile", counter_passes=(("SQ_WAVES",), ("GRBM_GUI_ACTIVE",)))
    assert recorded.exit_code == 4
    assert _passes(recorded) == [(V3, "trace", "recorded"), (V3, "counters", "failed")]
    assert _kernels(recorded) == 6
    (told,) = recorded.record.could_not
    assert told.startswith("counters: hardware counters cannot be read")
    assert "timing" in told


def test_counters_alone_without_their_library_end_in_a_trace_or_in_timing(sessions: Sessions) -> None:
    traced = sessions("true", fault="aqlprofile", domains=("kernel",), counters=COUNTERS)
    assert (traced.exit_code, traced.record.profiler, _kernels(traced)) == (4, V3, 6)
    assert _passes(traced) == [(V3, "counters", "failed"), (V3, "trace", "recorded")]
    timed = sessions("true", fault="aqlprofile", domains=(), counters=COUNTERS)
    assert (timed.exit_code, timed.record.profiler) == (4, "timing")
    assert "Running the application again without a profiler" in sessions.said[-1]


def test_nobody_may_open_the_gpu(sessions: Sessions) -> None:
    recorded = sessions("true", fault="permission")
    assert (recorded.exit_code, recorded.record.profiler) == (4, "timing")
    assert _passes(recorded) == [(V3, "trace", "failed"), ("timing", "wall time", "recorded")]
    assert "usermod -a -G render,video" in recorded.record.passes[0].explanation


def test_an_empty_capture_tries_every_profiler_and_is_no_success(sessions: Sessions) -> None:
    recorded = sessions("true", fault="empty", rocm="6.4")
    assert recorded.exit_code == 5
    assert _passes(recorded) == [
        *((tool, "trace", "empty") for tool in (V3, V2, V1)),
        ("timing", "wall time", "recorded"),
    ]
    assert [line.split(".")[0] for line in sessions.said] == [
        f"{tool} wrote nothing" for tool in (V3, V2, V1)
    ]


@pytest.mark.parametrize("fault", ["empty:hip", "empty:kernels_only"])
def test_kernels_without_calls_try_the_next_and_keep_the_best(sessions: Sessions, fault: str) -> None:
    recorded = sessions("true", fault=fault, rocm="6.4", counters=COUNTERS)
    assert (recorded.exit_code, recorded.record.profiler) == (4, V3)
    assert "rocprofv3 recorded kernels but no HIP call" in recorded.record.could_not
    outcomes = _passes(recorded)
    assert (V3, "trace", "partly") in outcomes
    assert (V3, "counters", "recorded") in outcomes
    assert ((V2, "trace", "failed") in outcomes) == (fault == "empty:kernels_only")
    assert recorded.trace is not None
    assert sorted(recorded.trace.table("dispatches")["pass_id"].unique()) == [1, 2]


def test_a_program_that_calls_hsa_directly_is_recorded_again_with_hsa(sessions: Sessions) -> None:
    """As AMDGPU.jl does: rocprofv3 sees its kernels, and no HIP call."""
    recorded = sessions("true", fault="empty:hip", rocm="6.2")
    assert sessions.said == [
        "rocprofv3 recorded kernels but no HIP call. Running the application again with rocprofv3, and recording the "
        "calls of HSA below it."
    ]
    assert _passes(recorded) == [(V3, "trace", "failed"), (V3, "trace", "partly")]
    assert "--hsa-trace" in recorded.record.passes[1].argv
    assert recorded.trace is not None
    assert recorded.trace.table("api_calls")["domain"].unique().to_list() == ["hsa"]
    assert recorded.trace.rows("dispatches") > 0


def test_the_next_profiler_may_do_better(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    """rocprofv2 of 6.4 records kernels alone; rocprof records the calls too."""
    recorded = sessions("true", tools=(V2, V1), rocm="6.4")
    assert (recorded.record.profiler, recorded.exit_code) == (V1, 4)
    assert _passes(recorded) == [(V2, "trace", "failed"), (V1, "trace", "recorded")]
    assert recorded.trace is not None
    assert recorded.trace.rows("api_calls") > 0
    assert recorded.trace.rows("dispatches") == 6
    assert sessions.said == [
        "rocprofv2 recorded kernels but no HIP call. Running the application again with rocprof."
    ]


def test_records_without_rows_are_empty(sessions: Sessions) -> None:
    recorded = sessions("true", fault="empty:records", tools=(V3,))
    assert recorded.exit_code == 5
    assert _passes(recorded)[0] == (V3, "trace", "empty")


def test_cut_off_files_are_told(sessions: Sessions) -> None:
    recorded = sessions("true", fault="truncated", tools=(V3,), rocm="6.4")
    assert recorded.record.passes[0].outcome == "partly"
    assert "breaks off" in recorded.record.passes[0].explanation
    assert recorded.trace is not None
    assert recorded.trace.run.losses
    unreadable = sessions("true", fault="truncated", tools=(V3,), rocm="7.2")
    assert unreadable.record.profiler == "timing"
    assert unreadable.exit_code == 4
    assert "what rocprofv3 wrote cannot be read" in unreadable.record.passes[0].explanation


def test_a_profiler_that_crashes_is_not_the_application(sessions: Sessions) -> None:
    recorded = sessions("true", fault="crash")
    assert (recorded.exit_code, recorded.record.profiler) == (4, "timing")
    assert "SIGSEGV below rocprofv3" in recorded.record.passes[0].explanation
    assert (
        "rocprof failed with 139, although the application did not" in recorded.record.passes[2].explanation
    )


def test_a_hanging_profiler_ends_with_the_timeout(sessions: Sessions) -> None:
    recorded = sessions("true", fault="hang", timeout_s=3.0)
    assert (recorded.exit_code, recorded.record.state) == (130, "timed out")
    assert len(recorded.record.passes) == 1
    assert recorded.record.could_not == ("the application was stopped by the timeout",)


def test_a_slow_profiler_is_just_slow(sessions: Sessions) -> None:
    recorded = sessions("true", fault="slow")
    assert recorded.exit_code == 0
    assert (recorded.record.passes[0].wall_ns or 0) > 10**9


def test_a_forced_profiler_is_not_replaced(sessions: Sessions) -> None:
    recorded = sessions("true", fault="empty", profiler=V3)
    assert (recorded.exit_code, _passes(recorded)) == (5, [(V3, "trace", "empty")])
    assert recorded.trace is not None


def test_overhead_is_measured_and_kept_out_of_the_tables(sessions: Sessions) -> None:
    recorded = sessions(
        "sleep", "0.2", fault="slow", overhead_runs=2
    )  # by a second: more than a busy machine
    assert [run.purpose for run in recorded.record.passes] == ["unprofiled", "trace", "unprofiled"]
    overhead = recorded.record.overhead
    assert overhead is not None
    assert (len(overhead.unprofiled_ns), len(overhead.profiled_ns)) == (2, 1)
    assert min(overhead.unprofiled_ns) < overhead.profiled_ns[0]
    assert _kernels(recorded) == 6


def test_a_run_that_fails_without_a_profiler_ends_it(sessions: Sessions) -> None:
    log = sessions.tmp_path / "log"
    recorded = sessions("sh", "-c", f"echo >> {log}; test $(wc -l < {log}) != 2", overhead_runs=2)
    assert recorded.exit_code == 1
    assert [run.purpose for run in recorded.record.passes] == ["unprofiled", "trace"]
    assert log.read_text() == "\n\n"


def test_a_full_disk_ends_it(sessions: Sessions) -> None:
    recorded = sessions("sh", "-c", "echo no space left on device >&2", fault="empty")
    assert recorded.record.passes[0].explanation.startswith("the disk is full")
    assert (len(recorded.record.passes), recorded.exit_code) == (1, 6)


def test_a_record_that_cannot_be_written_is_told_at_the_end(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    real, count = os.fsync, [0]

    def full(number: int) -> None:
        count[0] += 1
        if count[0] > 1:
            raise OSError(28, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", full)
    recorded = sessions("true")
    assert recorded.exit_code == 6
    assert any("the record of this run is lost" in line and "No space left" in line for line in sessions.said)
    kept = read_record(recorded.folder)
    assert kept is not None
    assert kept.state == "running"


def test_runs_lie_side_by_side(sessions: Sessions) -> None:
    first, second = sessions("true"), sessions("true")
    assert first.folder != second.folder
    assert load(first.folder).rows("dispatches") == 6
    from rocm_perf.ingest.load import load_path

    both = load_path(sessions.tmp_path / "runs")
    assert [run.trace.rows("dispatches") for run in both if run.trace] == [6, 6]


def test_ranks_of_one_run_are_one_trace(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("ROCM_PERF_RUN_ID", "job")
        folders.append(sessions("true", counters=COUNTERS).folder)
    assert [folder.name.split("-")[0] for folder in folders] == ["rank0", "rank1"]
    trace = load(sessions.tmp_path / "runs" / "job")
    counted = trace.table("dispatches").group_by("rank", "pass_id").len().sort("rank", "pass_id").rows()
    assert counted == [(0, 1, 6), (0, 2, 6), (1, 1, 6), (1, 2, 6)]
    assert trace.run.collection is not None
    assert trace.run.collection.rank == 0
    assert load(folders[1]).table("dispatches")["rank"].unique().to_list() == [1]


def test_a_pass_says_how_it_was_run(sessions: Sessions) -> None:
    recorded = sessions("true", environment={"X": "1"})
    (run,) = recorded.record.passes
    assert isinstance(run, PassRecord)
    assert run.argv[-2:] == ("--", "true")
    assert run.environment == {"X": "1"}
    assert run.started_ns is not None
    assert recorded.trace is not None
    starts = recorded.trace.table("dispatches").select(pl.col("start_ns").min()).item()
    assert 0 <= starts - run.started_ns < 60 * 10**9
    assert Path(recorded.folder, run.folder).is_dir()

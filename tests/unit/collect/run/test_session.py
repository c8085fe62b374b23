"""From plans to a record, with scripts in place of profilers."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from rocm_perf.backends import profilers
from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import Machine
from rocm_perf.collect.plan.planned import Plan, PlannedRun
from rocm_perf.collect.request.request import Request
from rocm_perf.collect.run import attempt as attempts
from rocm_perf.collect.run import layout
from rocm_perf.collect.run import outcome as outcomes
from rocm_perf.collect.run.session import Recorded, record
from rocm_perf.collect.run.verdict import Attempt
from rocm_perf.environment import RANKS
from rocm_perf.errors import NotSupportedError, OutputError, ToolAbsentError, UsageError
from rocm_perf.ingest.load import load

MACHINE = Machine(host="h", rocm="7.2", driver="6.1")
HEADER = "Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Dispatch_Id,Correlation_Id\n"
KERNEL = f'printf "{HEADER[:-1]}\\nKERNEL_DISPATCH,4,1,k,10,20,1,1\\n" > FOLDER/1_kernel_trace.csv'

COUNTS = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,"
    "LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
)
COUNTER = f'printf "{COUNTS}\\n1,1,4,1,1,1,64,1,k,64,0,0,8,16,C,5,10,20\\n" > FOLDER/1_counter_collection.csv'


def _plan(profiler: str, *scripts: str, **facts: object) -> Callable[[Request, Machine, Path], Plan]:
    """A plan whose runs are shell scripts; FOLDER is that of the pass, APP the application."""

    def plan(request: Request, _: Machine, folder: Path) -> Plan:
        runs = []
        for number, script in enumerate(scripts, 1):
            own = folder / f"pass_{number}"
            text = script.replace("FOLDER", str(own)).replace("APP", shlex.join(request.command))
            runs.append(
                PlannedRun(
                    number=number,
                    purpose="trace" if number == 1 else "counters",
                    profiler=profiler,
                    profiled=profiler != "timing",
                    folder=f"pass_{number}",
                    command=Command(argv=("sh", "-c", text)),
                    domains=("kernel",),
                )
            )
        return Plan(profiler=profiler, why="a test", runs=tuple(runs), **facts)  # type: ignore[arg-type]

    return plan


TIMING = _plan("timing", "APP")


class Record:
    """Records into a folder, and keeps what was said."""

    def __init__(self, tmp_path: Path) -> None:
        self.output = tmp_path / "runs"
        self.said: list[str] = []

    def __call__(
        self, command: str, *ways: Callable[[Request, Machine, Path], Plan], **asked: object
    ) -> Recorded:
        request = Request(command=("sh", "-c", command), output=str(self.output), **asked)  # type: ignore[arg-type]
        return record(
            request,
            MACHINE,
            self.said.append,
            plans=lambda asked, here, at: [way(asked, here, at) for way in ways],
        )


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    for name in (*RANKS, layout.RUN_ID_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    return Record(tmp_path)


def test_the_record_tells_what_was_asked_and_done(recording: Record) -> None:
    done = recording(
        "exit 0",
        _plan("one", f"APP; {KERNEL}", notices=("a notice",)),
        run_id="mine",
        preset="lightweight",
        wish=Wish(domains=("kernel", "hip"), att=True),
        counters=("A",),
        environment={"X": "1"},
    )
    told = done.record
    assert (done.exit_code, told.state, told.exit_code, told.run_id) == (0, "done", 0, "mine")
    assert done.folder == recording.output / "mine" / "h" / f"rank-{os.getpid()}"
    assert told.asked == ("kernel", "hip", "counters", "thread trace")
    assert (told.preset, told.profiler, told.why, told.notices) == (
        "lightweight",
        "one",
        "a test",
        ("a notice",),
    )
    assert told.machine == {"rocm": "7.2", "driver": "6.1"}
    assert told.command == ("sh", "-c", "exit 0")
    assert told.passes[0].environment == {"X": "1"}
    assert layout.read_record(done.folder) == told


def test_the_record_says_running_while_it_runs(recording: Record, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    recording("exit 0", _plan("one", f"cat FOLDER/../rocm-perf-run.json > {seen}; APP; {KERNEL}"))
    assert '"state": "running"' in seen.read_text()


def test_plans_that_refuse_make_nothing(recording: Record) -> None:
    def refuse(_: Request, __: Machine, ___: Path) -> Plan:
        raise UsageError("no such counter")

    with pytest.raises(UsageError):
        recording("exit 0", refuse)
    assert not recording.output.exists()


def test_an_output_that_cannot_be_written_starts_nothing(recording: Record, tmp_path: Path) -> None:
    recording.output = tmp_path / "file"
    recording.output.write_text("")
    with pytest.raises(OutputError):
        recording(f"touch {tmp_path}/started", TIMING)
    assert not (tmp_path / "started").exists()


def test_the_end_by_a_real_time_signal_is_counted(recording: Record) -> None:
    done = recording("kill -40 $$", _plan("timing", "exec APP"))
    assert (done.exit_code, done.record.state, done.record.exit_code) == (168, "failed", 168)
    assert [run.exit_status for run in done.record.passes] == [-40]


def test_a_run_folder_that_is_replaced_by_a_link_leads_nowhere(recording: Record, tmp_path: Path) -> None:
    elsewhere, host = tmp_path / "elsewhere", recording.output / "mine" / "h"
    elsewhere.mkdir()
    swap = f"mv {host} {host}.moved; ln -s {elsewhere} {host}"
    done = recording(swap, _plan("one", f"{KERNEL}; APP"), run_id="mine")
    assert not list(elsewhere.iterdir())
    assert done.folder == host.with_name("h.moved") / f"rank-{os.getpid()}"
    assert layout.read_record(done.folder) == done.record
    assert (done.exit_code, done.record.state) == (0, "done")
    assert "was replaced while the program ran" in done.record.notices[0]
    assert recording.said[-1] == done.record.notices[0]


@pytest.mark.parametrize("planted", ["rocm-perf-run.json", "pass_2", ".given_up"])
def test_a_link_within_the_run_folder_leads_nowhere(recording: Record, tmp_path: Path, planted: str) -> None:
    elsewhere, home = tmp_path / "elsewhere", recording.output / "mine" / "h" / f"rank-{os.getpid()}"
    elsewhere.mkdir()
    plant = f"ln -sf {elsewhere}{'/record/x' if planted.endswith('json') else ''} {home}/{planted}"
    ways = [_plan("one", "APP")] if planted == ".given_up" else []
    with suppress(OutputError):  # where the folder of a pass would be
        recording(plant, *ways, _plan("two", f"{KERNEL}; APP", f"{KERNEL}; APP"), run_id="mine")
    assert not list(elsewhere.iterdir())


def test_no_profiler_is_started_where_a_link_leads_it_elsewhere(recording: Record, tmp_path: Path) -> None:
    elsewhere, host = tmp_path / "elsewhere", recording.output / "mine" / "h"
    elsewhere.mkdir()
    swap = f"mv {host} {host}.moved; ln -s {elsewhere} {host}"
    with pytest.raises(OutputError, match="was replaced while the program ran"):
        recording(swap, _plan("one", f"{KERNEL}; APP", "mkdir -p FOLDER"), run_id="mine")
    assert not list(elsewhere.iterdir())


def test_a_recording_moves_from_the_scratch_to_its_place(recording: Record, tmp_path: Path) -> None:
    home = recording.output / "mine" / "h" / f"rank-{os.getpid()}"
    seen = tmp_path / "seen"
    script = f"cat {home}/rocm-perf-run.json > {seen}; APP; {KERNEL}; test -f FOLDER/1_kernel_trace.csv"
    done = recording("exit 0", _plan("one", script), run_id="mine", scratch=str(tmp_path / "fast"))
    assert (done.exit_code, done.folder) == (0, home)
    assert f"recorded in {tmp_path}/fast/mine/h" in seen.read_text()  # all that is there if it is killed
    assert done.trace is not None
    assert done.trace.rows("dispatches") == 1
    assert layout.read_record(home) == done.record
    assert not any((tmp_path / "fast").iterdir())


def test_a_recording_that_cannot_be_moved_stays(recording: Record, tmp_path: Path) -> None:
    home = recording.output / "mine" / "h" / f"rank-{os.getpid()}"
    blocked = f"touch {home}/pass_1"
    done = recording(
        "exit 0", _plan("one", f"{KERNEL}; {blocked}"), run_id="mine", scratch=str(tmp_path / "fast")
    )
    assert done.exit_code == OutputError.exit_code
    assert (done.folder / "pass_1" / "1_kernel_trace.csv").is_file()
    assert f"It is in {done.folder}." in recording.said[-1]


def test_a_rank_exits_as_the_application_did(recording: Record) -> None:
    nothing = recording("exit 0", _plan("one", "APP"), keep_exit_code=True)
    assert (nothing.exit_code, nothing.record.exit_code) == (0, 5)
    failed = recording("exit 3", _plan("one", f"{KERNEL}; APP"), keep_exit_code=True)
    assert (failed.exit_code, failed.record.exit_code) == (3, 3)


def test_one_rank_of_many_is_not_run_again(recording: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "8")
    done = recording("exit 0", _plan("one", "APP"), _plan("two", f"APP; {KERNEL}"))
    assert len(done.record.passes) == 1
    assert done.exit_code == 5
    assert "one of 8 ranks, which run together" in recording.said[-1]


COUNTED = _plan("one", f"APP; {KERNEL}", f"APP; {COUNTER}", f"APP; {COUNTER}")


def test_a_launcher_starts_each_run_of_many_ranks(recording: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv(layout.RUN_ID_VARIABLE, "job")
    left = [["more-1", "of-3"], ["more-1", "more-2", "of-3"], ["more-1", "more-2", "of-3"]]
    for number, markers in enumerate(left, 1):
        done = recording("exit 0", COUNTED, only_pass=number)
        assert [each.folder for each in done.record.passes] == [f"pass_{number}"]
        assert (done.exit_code, done.record.could_not) == (0, ())
        assert sorted(file.name for file in (recording.output / "job" / layout.PASSES).iterdir()) == markers
    trace = load(recording.output / "job", as_one=True)
    assert trace.table("counters")["pass_id"].to_list() == [2, 3]
    assert trace.table("dispatches")["pass_id"].unique().sort().to_list() == [1, 2, 3]
    assert trace.run.collection is not None
    assert [each.purpose for each in trace.run.collection.passes] == ["trace", "counters", "counters"]


def test_libraries_log_in_the_launch_whose_times_are_shown(recording: Record) -> None:
    first = recording("exit 0", COUNTED, only_pass=1, library_trace=True, run_id="job")
    assert "ROCBLAS_LAYER" in first.record.passes[0].environment
    second = recording("exit 0", COUNTED, only_pass=2, library_trace=True, run_id="job")
    assert second.record.passes[0].environment == {}


def test_a_rank_that_is_only_timed_runs_with_the_others(
    recording: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv(layout.RUN_ID_VARIABLE, "job")

    def way(request: Request, machine: Machine, folder: Path) -> Plan:
        return (COUNTED if request.preset else TIMING)(request, machine, folder)

    whole = Request(command=("true",), preset="compute")
    done = recording("exit 0", way, only_pass=3, of_job=whole)
    assert [(each.profiled, each.exit_status) for each in done.record.passes] == [(False, 0)]
    assert (done.exit_code, done.record.could_not) == (0, ())
    assert [file.name for file in (recording.output / "job" / layout.PASSES).iterdir()] == ["of-3"]


def test_what_ranks_that_run_together_need_other_launches_for_is_named(
    recording: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = recording("exit 0", COUNTED, run_id="mine")
    assert [each.folder for each in done.record.passes] == ["pass_1"]
    (lacking,) = done.record.could_not
    assert lacking.startswith("counters: one of 2 ranks, which run together, is not run again by itself")
    assert recording.said == [
        "run 1 of 3 is done; launch it again with --pass 2 --run-id mine (rocm-perf launch does so by itself)"
    ]
    assert done.exit_code == NotSupportedError.exit_code
    second = recording("exit 0", COUNTED, run_id="mine", only_pass=2)
    assert [each.folder for each in second.record.passes] == ["pass_2"]
    assert len(recording("exit 0", COUNTED, only_pass=0).record.passes) == 3


def test_what_a_given_up_plan_left_is_hidden_and_named(recording: Record) -> None:
    first = _plan("one", "APP; echo junk > FOLDER/junk.bin")
    done = recording("exit 0", first, _plan("two", f"APP; {KERNEL}"), TIMING)
    assert [(run.number, run.profiler, run.folder) for run in done.record.passes] == [
        (1, "one", ".given_up/1-one/pass_1"),
        (2, "two", "pass_1"),
    ]
    assert (done.folder / ".given_up/1-one/pass_1/junk.bin").exists()
    assert done.trace is not None
    assert done.trace.rows("dispatches") == 1
    assert done.exit_code == 4


def test_a_tool_that_hides_the_exit_code_is_seen_through(recording: Record) -> None:
    def hiding(request: Request, machine: Machine, folder: Path) -> Plan:
        plan = _plan("one", KERNEL)(request, machine, folder)
        (run,) = plan.runs
        argv = ("sh", "-c", f'{run.command.argv[2]}; "$@"; exit 0', "tool", *request.command)
        command = replace(run.command, argv=argv, separates_exit_code=False)
        return replace(plan, runs=(replace(run, command=command),))

    assert recording("exit 7", hiding).exit_code == 7
    assert recording("kill -9 $$", hiding).exit_code == 137
    assert recording("exit 0", hiding).exit_code == 0


def test_a_profiler_that_cannot_be_made_ready_is_passed_over(
    recording: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Unready:
        def prepare(self, machine: Machine) -> None:
            raise ToolAbsentError("no compiler")

    monkeypatch.setattr(profilers, "PROFILERS", {"one": Unready()})
    log = tmp_path / "log"
    done = recording(f"echo >> {log}", _plan("one", "APP"), TIMING)
    assert (done.exit_code, log.read_text()) == (4, "\n")
    assert recording.said == ["no compiler. Running the application without a profiler, for its wall time."]
    assert done.record.could_not == ("one: no compiler",)


def test_an_interrupt_between_runs_keeps_what_is_there(
    recording: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = attempts._run_profiled

    def interrupted(attempt: Attempt, run: PlannedRun, setting: attempts.Setting) -> None:
        if attempt.passes:
            raise KeyboardInterrupt
        real(attempt, run, setting)

    monkeypatch.setattr(attempts, "_run_profiled", interrupted)
    done = recording("exit 0", _plan("one", f"APP; {KERNEL}", "APP"))
    assert (done.exit_code, done.record.state, len(done.record.passes)) == (130, "interrupted", 1)
    assert done.trace is not None
    assert done.trace.rows("dispatches") == 1


def test_a_signal_that_comes_right_after_the_end_of_the_application_loses_nothing(
    recording: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when SLURM cancels a job: all of its processes are told at once, and the application may be quicker."""
    look = outcomes.look

    def late(folder: Path, run: PlannedRun) -> outcomes.Seen:
        os.kill(os.getpid(), signal.SIGINT)
        return look(folder, run)

    monkeypatch.setattr(outcomes, "look", late)
    done = recording("exit 0", _plan("one", f"APP; {KERNEL}"))
    assert done.record.state == "interrupted"
    assert [(each.outcome, each.exit_status) for each in done.record.passes] == [("recorded", 0)]
    assert layout.read_record(done.folder) == done.record


def test_a_later_run_that_fails_is_missed_alone(recording: Record) -> None:
    refused = "echo '[rocprofv3] Fatal error: no' >&2; exit 1"
    done = recording("exit 0", _plan("one", f"APP; {KERNEL}", refused, f"APP; {KERNEL}"))
    assert [run.outcome for run in done.record.passes] == ["recorded", "failed", "partly"]
    assert done.exit_code == 4
    assert [told.partition(":")[0] for told in done.record.could_not] == ["counters", "counters"]


@pytest.mark.whole
def test_input_that_is_used_up_is_not_run_again(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from tests.unit.collect.run.test_session import *\n"
        "from tests.unit.collect.run.test_session import _plan\n"
        "recording = Record(Path(sys.argv[1]))\n"
        "done = recording('cat', _plan('one', 'APP'), TIMING)\n"
        "print('\\n'.join(recording.said), done.exit_code, file=sys.stderr)"
    )
    root = str(Path(__file__).parents[4])
    argv = [sys.executable, "-c", script, str(tmp_path), root]
    used = subprocess.run(argv, input=b"data", capture_output=True, timeout=60, check=False)
    assert used.stdout == b"data"
    assert b"its input came through a pipe and is used up" in used.stderr
    again = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert b"Running the application again" in again.stderr


def test_outputs_go_to_stderr_when_ours_carries_json(
    recording: Record, capfd: pytest.CaptureFixture[str]
) -> None:
    recording("echo out", TIMING, stdout_to_stderr=True)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "out\n")

"""The CUPTI tracer: its planned command, and the real library fed by a stand-in for CUPTI (tests/native/cupti)."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import rocm_perf
from rocm_perf.backends.base import Command, Wish
from rocm_perf.backends.machine import FoundGpu, Machine, Tool
from rocm_perf.backends.nvidia.build import library
from rocm_perf.backends.nvidia.cupti import CuptiProfiler
from rocm_perf.errors import EmptyCaptureError, RocmPerfError
from rocm_perf.ingest.io.blocks import read_blocks
from rocm_perf.ingest.io.source import Source
from rocm_perf.model.trace import Trace
from tests.native import cupti as native

pytestmark = pytest.mark.native

TOOLS = {name: Tool(name=name, path=f"/x/{name}") for name in ("cupti", "cupti.h", "c++")}
MACHINE = Machine(host="h", gpus=(native.GPU,), tools=TOOLS)
TRACE = Wish(domains=("kernel", "hip", "copy", "marker", "allocation"))
APP = ("./app", "--", "--weird")
PATIENCE_S = 180  # with a busy machine


def test_the_application_runs_as_it_is() -> None:
    command = CuptiProfiler().command(TRACE, APP, Path("/runs/pass_1"), MACHINE)
    tracer = command.environment["CUDA_INJECTION64_PATH"]
    assert command.argv == APP
    assert command.environment == {
        "CUDA_INJECTION64_PATH": tracer,
        "NVTX_INJECTION64_PATH": tracer,
        "ROCM_PERF_CUPTI_OUTPUT": "/runs/pass_1/%hostname%/rank%env{RANK}%-%pid%.rptrace",
        "ROCM_PERF_CUPTI_DOMAINS": "kernel,hip,copy,allocation,marker",
    }
    assert command.expected == ("**/*.rptrace",)
    assert command.separates_exit_code


def test_an_output_name_of_the_user_is_kept() -> None:
    wish = Wish(domains=("kernel",), output_name="%rank%/x")
    command = CuptiProfiler().command(wish, APP, Path("/o"), MACHINE)
    assert command.environment["ROCM_PERF_CUPTI_OUTPUT"] == "/o/%rank%/x.rptrace"


@pytest.mark.parametrize(
    ("machine", "wish", "reason"),
    [
        (Machine(host="h", tools=TOOLS), TRACE, "NVIDIA"),
        (Machine(host="h", gpus=(native.GPU,)), TRACE, "headers"),
        (Machine(host="h", gpus=(native.GPU,), tools={"cupti.h": TOOLS["cupti.h"]}), TRACE, "library"),
        (
            Machine(host="h", gpus=(native.GPU,), tools={k: TOOLS[k] for k in ("cupti", "cupti.h")}),
            TRACE,
            "compiler",
        ),
        (MACHINE, Wish(domains=("kernel",), counters=("x",)), "ncu"),
        (MACHINE, Wish(domains=("kernel",), att=True), "threads"),
        (MACHINE, Wish(domains=("scratch",)), "nothing"),
        (
            Machine(host="h", gpus=(FoundGpu(index=0, vendor="AMD", gfx="gfx942"),), tools=TOOLS),
            TRACE,
            "NVIDIA",
        ),
    ],
)
def test_refusals(machine: Machine, wish: Wish, reason: str) -> None:
    assert reason in CuptiProfiler().refusal(wish, machine)
    assert CuptiProfiler().refusal(TRACE, MACHINE) == ""


def test_what_it_leaves_out_is_said() -> None:
    wish = Wish(
        domains=("kernel", "scratch"),
        kernel_include="x",
        collection_period=("1:1:1",),
        formats=("json", "pftrace"),
        tool_args=("--extra",),
    )
    dropped = CuptiProfiler().dropped(wish, MACHINE)
    words = ("every kernel", "from the first CUDA call", "pftrace", "--extra")
    assert len(dropped) == len(words)
    for word, said in zip(words, dropped, strict=True):
        assert word in said
    assert CuptiProfiler().dropped(TRACE, MACHINE) == ()


def test_what_cuda_does_not_have_is_no_loss(tmp_path: Path) -> None:
    command = CuptiProfiler().command(Wish(domains=("kernel", "scratch")), ("app",), tmp_path, MACHINE)
    assert command.notices == ("scratch memory: CUDA has no such events",)


@dataclass
class Stage:
    """The stand-in program with the real tracer."""

    program: Path
    machine: Machine
    folder: Path

    def command(self, scene: str, wish: Wish = TRACE) -> Command:
        return CuptiProfiler().command(wish, (str(self.program), scene), self.folder, self.machine)

    def environment(self, command: Command, **variables: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "RANK"}
        return {**inherited, "LD_LIBRARY_PATH": str(self.program.parent), **command.environment, **variables}

    def play(
        self, scene: str, wish: Wish = TRACE, before: Callable[[], None] | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        command = self.command(scene, wish)
        return subprocess.run(
            command.argv,
            env=self.environment(command, **variables),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            preexec_fn=before,  # no threads here
        )

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.rglob("*.rptrace"))

    def trace(self) -> Trace:
        return rocm_perf.load(self.folder)


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Stand-ins, and a cache of our own with the tracer."""
    temporary = tmp_path_factory.mktemp("native")
    shared = native.shared_standins(request.config, temporary)
    return shared, Path(shutil.copytree(shared / "cache", temporary / "cache"))


@pytest.fixture
def stage(built: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    standins, cache = built
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    machine = native.machine_with(standins / "libcupti.so", native.header(), native.compiler())
    return Stage(standins / "program", machine, tmp_path / "out")


def test_everything_that_was_recorded_is_read(stage: Stage) -> None:
    done = stage.play("everything")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    trace = stage.trace()
    kernels = trace.table("dispatches")
    assert kernels["kernel"].to_list() == [
        "add(float*, float*, int)",
        'quote " back \\ tab \t bell \a latin � snow ☃ end',
        "f",
    ]
    assert (kernels["end_ns"] - kernels["start_ns"]).to_list() == [2007, 2007, 1]
    assert kernels.select("agent_id", "stream_id", "correlation_id").rows() == [
        (0, 7, 1),
        (0, 7, 2),
        (1, 13, 4),
    ]
    assert kernels.row(0, named=True) | {
        "grid_x": 1280,
        "grid_y": 2,
        "workgroup_x": 128,
        "vgprs": 40,
        "lds_bytes": 1536,
    } == kernels.row(0, named=True)
    calls = trace.table("api_calls")
    assert calls["name"].to_list() == ["cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpy", "cuLaunchKernel"]
    assert set(kernels["start_ns"][:2] - calls["start_ns"][:2]) == {5003}
    assert trace.table("copies").select("kind", "size_bytes", "host_memory").rows() == [
        ("H2D", 1 << 30, "pinned"),
        ("P2P", 64, None),
        ("MEMSET", 4096, None),
    ]
    ranges = trace.table("ranges")
    assert ranges.select("name", "source", "depth").rows() == [
        ("ncclAllReduce", "nvtx", 1),
        ("step 1", "nvtx", 0),
        ("now", "nvtx", 0),
        ("never popped", "nvtx", 0),
    ]
    assert trace.table("allocations").select("operation", "level", "address", "size_bytes", "tid").rows() == [
        ("ALLOC", "REAL", 0x7F0000000000, 1 << 20, None),
        ("FREE", "REAL", 0x7F0000000000, 1 << 20, None),
    ]
    assert trace.table("links").select("kind", "cause_track", "effect_track").rows() == [("event", 7, 13)]


def test_the_process_its_gpus_and_its_clock_are_known(stage: Stage) -> None:
    before = native_clock()
    stage.play("everything", RANK="3")
    trace = stage.trace()
    pid = int(stage.files[0].name.split("-")[1].split(".")[0])
    assert stage.files[0].name == f"rank3-{pid}.rptrace"
    assert trace.run.tool == "rocm-perf cupti"
    assert trace.run.command == f"{stage.program} everything"
    assert trace.run.clock == "boot"
    assert set(trace.table("dispatches").select("pid", "rank").rows()) == {(pid, 3)}
    assert trace.table("api_calls")["tid"].unique().to_list() == [pid]
    first = trace.table("api_calls")["start_ns"].min()
    assert isinstance(first, int)
    assert before <= first <= native_clock()
    agents = (
        trace.table("agents").select("gfx", "name", "cu_count", "clock_mhz", "memory_bytes", "uuid").rows()
    )
    assert agents[0] == (
        *("sm_90", 'NVIDIA "Stand-in"', 132, 1980.0, 150109880320),
        "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0",
    )
    assert len({row[-1] for row in agents}) == 2


def native_clock() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def test_what_was_lost_is_told(stage: Stage) -> None:
    stage.play("everything")
    run = stage.trace().run
    assert {(loss.what, loss.records) for loss in run.losses} == {
        ("records that CUPTI dropped", 5),
        ("records of work that had not ended when the process did", 1),
    }
    assert any("1 range never ended" in notice for notice in run.notices)
    assert any("CUPTI's own overhead: STANDIN_REFUSAL" in notice for notice in run.notices)


def test_driver_calls_are_all_there_when_they_are_asked_for(stage: Stage) -> None:
    stage.play("everything", Wish(domains=("kernel", "hip", "hsa")))
    assert "cuMemAlloc_v2" in stage.trace().table("api_calls")["name"].to_list()


@pytest.mark.parametrize(
    ("scene", "settings"),
    [("everything", {}), ("windows", {"range": "step"}), ("windows", {"range": "@profiler"})],
)
def test_calls_that_nobody_needs_are_left_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, scene: str, settings: dict[str, object]
) -> None:
    monkeypatch.setenv("STANDIN_SAYS_CALLS", "1")
    said = play_window(stage, scene, **settings).stderr.split()
    assert "cudaLaunchKernel_v7000" in said
    assert not {"cudaGetLastError_v3020", "cuMemAlloc_v2"} & set(said)


def test_many_threads(stage: Stage) -> None:
    assert stage.play("many").returncode == 0
    trace = stage.trace()
    assert trace.rows("dispatches") == trace.rows("api_calls") == 100_000
    assert trace.table("dispatches")["correlation_id"].n_unique() == 100_000
    assert trace.table("api_calls")["tid"].n_unique() == 4
    assert trace.run.losses == ()


def test_a_killed_process_leaves_what_it_had_flushed(stage: Stage) -> None:
    process = start(stage, "waits")
    deadline = time.monotonic() + PATIENCE_S
    while written_kernels(stage) < 1000 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    trace = stage.trace()
    assert trace.rows("dispatches") == 1000
    assert any("breaks off" in loss.what for loss in trace.run.losses)


def written_kernels(stage: Stage) -> int:
    """How many are in the file by now."""
    try:
        return stage.trace().rows("dispatches")
    except RocmPerfError:  # there is no file yet, or nothing in it
        return 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_after_everything_is_written(stage: Stage, number: signal.Signals) -> None:
    process = start(stage, "waits")
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == -number
    trace = stage.trace()
    assert trace.rows("dispatches") == 1000
    assert trace.run.losses == ()
    assert f"signal {int(number)} ended the process" in trace.run.notices


def test_a_signal_that_the_application_ignores_stays_ignored(stage: Stage) -> None:
    process = start(stage, "waits", lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == -signal.SIGTERM


def start(stage: Stage, scene: str, before: Callable[[], object] | None = None) -> subprocess.Popen[bytes]:
    """The scene, when it has said that it is ready."""
    command = stage.command(scene)
    process = subprocess.Popen(
        command.argv,
        env=stage.environment(command),
        stdout=subprocess.PIPE,
        preexec_fn=before,  # noqa: PLW1509  # no threads here
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
    return process


@pytest.mark.parametrize(("variables", "code"), [({}, 5), ({"CHILD_KILLED": "1"}, signal.SIGTERM)])
def test_a_fork_adds_nothing_and_takes_nothing(stage: Stage, variables: dict[str, str], code: int) -> None:
    assert stage.play("fork", TRACE, None, **variables).returncode == code
    assert len(stage.files) == 1
    assert stage.trace().rows("dispatches") == 20
    assert stage.trace().run.losses == ()


@pytest.mark.parametrize(("scene", "code"), [("without", 3), ("unused", 4)])
def test_a_process_without_cuda_work_writes_nothing(stage: Stage, scene: str, code: int) -> None:
    done = stage.play(scene)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    assert stage.files == []


def test_beside_another_profiler_it_steps_back(stage: Stage) -> None:
    done = stage.play("quick", STANDIN_BUSY="1")
    assert (done.returncode, done.stdout) == (0, "ready\n")
    assert done.stderr.startswith("rocm-perf: the CUDA work of process ")
    assert done.stderr.count("\n") == 1
    assert stage.files == []


def test_nvtx_is_handed_to_cupti(stage: Stage) -> None:
    assert stage.play("nvtx").returncode == 42


def test_an_output_that_cannot_be_made_does_not_fail_the_application(stage: Stage) -> None:
    stage.folder.parent.mkdir(exist_ok=True)
    stage.folder.write_text("a file, no folder")
    done = stage.play("quick")
    assert done.returncode == 0
    assert "cannot be made" in done.stderr


def test_a_full_disk_does_not_fail_the_application(stage: Stage) -> None:
    limit = 1_000_000
    done = stage.play("many", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 0
    assert "cannot be written: File too large" in done.stderr
    assert stage.files[0].stat().st_size <= limit
    assert any("breaks off" in loss.what for loss in stage.trace().run.losses)


def test_an_earlier_file_is_never_overwritten(stage: Stage) -> None:
    wish = Wish(domains=("kernel", "hip"), output_name="%env{NOT_SET}%same%unknown%")
    for _ in range(2):
        stage.play("quick", wish)
    assert [file.name for file in stage.files] == ["same%unknown%-2.rptrace", "same%unknown%.rptrace"]
    assert {rocm_perf.load(file).rows("dispatches") for file in stage.files} == {1000}


def test_a_cut_file_reads_up_to_its_last_whole_block(stage: Stage) -> None:
    stage.play("many")
    data = stage.files[0].read_bytes()
    cut = stage.folder / "cut.rptrace"
    kept = []
    for share in (0.3, 0.6, 0.9):
        cut.write_bytes(data[: int(len(data) * share)])
        trace = rocm_perf.load(cut)
        kept.append(trace.rows("dispatches"))
        assert trace.table("dispatches").filter(pl.col("end_ns") - pl.col("start_ns") != 2007).is_empty()
        assert any("breaks off" in loss.what for loss in trace.run.losses)
    assert kept == sorted(kept)
    assert kept[0] < 100_000
    assert kept[-1] > 0


def test_a_kernel_and_its_launch_take_less_than_40_bytes(stage: Stage) -> None:
    stage.play("many")
    assert stage.files[0].stat().st_size < 40 * 100_000


def play_window(stage: Stage, scene: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """The scene, with a window that the tracer is asked for."""
    variables = {f"ROCM_PERF_WINDOW_{name.upper()}": str(value) for name, value in settings.items()}
    return stage.play(scene, TRACE, None, **variables)


def said_when_detached(stage: Stage, scene: str, **settings: object) -> list[str]:
    """What the stand-in says each time that CUPTI is detached."""
    variables = {f"ROCM_PERF_WINDOW_{name.upper()}": str(value) for name, value in settings.items()}
    return stage.play(scene, TRACE, None, STANDIN_SAYS_FINALIZED="detached", **variables).stderr.splitlines()


def kernel_streams(trace: Trace) -> list[int]:
    """Programs with windows launch one kernel in each of their phases, on a stream of that number."""
    return trace.table("dispatches")["stream_id"].to_list()


@pytest.mark.parametrize(
    ("settings", "streams"),
    [
        ({}, list(range(8))),
        ({"range": "step"}, [1, 3, 5]),
        ({"range": "step", "steps": "2..3"}, [3, 5]),
        ({"range": "step", "steps": "3..9"}, [5]),
        ({"range": "@profiler"}, [7]),
        ({"range": "registered"}, [6]),
    ],
)
def test_only_what_was_launched_in_the_window_is_kept(
    stage: Stage, settings: dict[str, object], streams: list[int]
) -> None:
    assert play_window(stage, "windows", **settings).returncode == 0
    trace = stage.trace()
    assert sorted(kernel_streams(trace)) == streams
    assert trace.rows("api_calls") == len(streams)


@pytest.mark.parametrize(
    ("scene", "settings"),
    [
        ("delay", {"delay_s": 2}),
        ("duration", {"duration_s": 2}),
        ("delay and duration", {"delay_s": 2, "duration_s": 2}),
    ],
)
def test_a_window_by_the_clock_keeps_what_was_launched_in_it(
    stage: Stage, scene: str, settings: dict[str, object]
) -> None:
    assert play_window(stage, scene, **settings).returncode == 0
    trace = stage.trace()
    assert kernel_streams(trace) == [1]
    assert trace.rows("api_calls") == 1


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"delay_s": 60}, "the program ended before the delay was over"),
        ({"range": "nowhere"}, "the range never opened"),
        ({"range": "step", "steps": "7..9"}, "the range opened 3 times"),
    ],
)
def test_a_window_that_never_opens_says_why(stage: Stage, settings: dict[str, object], reason: str) -> None:
    assert play_window(stage, "windows", **settings).returncode == 0
    with pytest.raises(EmptyCaptureError, match=reason):
        rocm_perf.load(stage.files[0])


@pytest.mark.parametrize(
    ("settings", "before"),
    [
        ({"delay_s": 1}, "not yet"),
        ({"delay_s": 1, "open_s": 1, "period_s": 60}, "not yet"),
        ({"open_s": 1, "period_s": 60}, "attached"),
    ],
)
def test_cupti_is_attached_when_the_first_window_opens(
    stage: Stage, settings: dict[str, object], before: str
) -> None:
    done = play_window(stage, "until attached", **settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, before + "\n", "")
    assert stage.trace().rows("dispatches") > 0


def test_another_profiler_may_have_come_before_the_window(stage: Stage) -> None:
    done = stage.play("steady", STANDIN_BUSY="1", ROCM_PERF_WINDOW_DELAY_S="0.5")
    assert done.returncode == 0
    assert re.fullmatch(r"rocm-perf: .* is not recorded: CUPTI could not be attached .*\n", done.stderr)
    with pytest.raises(EmptyCaptureError, match="CUPTI could not be attached"):
        rocm_perf.load(stage.files[0])


def test_a_program_that_only_asks_for_gpus_leaves_no_file_before_its_window(stage: Stage) -> None:
    assert play_window(stage, "unused", delay_s=60).returncode == 4
    assert stage.files == []


def test_a_range_that_never_ends_is_kept_to_the_end(stage: Stage) -> None:
    play_window(stage, "windows", range="endless")
    trace = stage.trace()
    assert kernel_streams(trace) == [7]
    assert any("still open at the end" in notice for notice in trace.run.notices)


def test_a_ring_keeps_the_last_seconds(stage: Stage) -> None:
    play_window(stage, "ring", last_s=2)
    numbers = [int(file.name.split(".")[1]) for file in stage.files]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] > 1  # the first ones are gone
    trace = stage.trace()
    span = trace.table("dispatches").select(pl.col("end_ns").max() - pl.col("start_ns").min()).item()
    assert 1.5e9 < span < 4.5e9  # of 5 s, however late the tracer begins the next file
    assert trace.rows("dispatches") == trace.rows("api_calls")
    assert trace.run.losses == ()
    assert trace.table("dispatches")["kernel"].unique().to_list() == ["add(float*, float*, int)"]


def test_a_ring_within_a_size(stage: Stage) -> None:
    play_window(stage, "ring", last_s=60, max_bytes=40_000)
    total = sum(file.stat().st_size for file in stage.files)
    assert 1_000 < total < 130_000  # of 190,000: what comes between two looks of the tracer is kept


def test_recording_stops_at_the_size_that_was_asked_for(stage: Stage) -> None:
    assert play_window(stage, "ring", max_bytes=20_000).returncode == 0
    trace = stage.trace()
    assert 20_000 < stage.files[0].stat().st_size < 130_000  # of 190,000
    assert any("reached the size" in notice for notice in trace.run.notices)
    assert trace.rows("dispatches") > 100  # and what was recorded until then is kept


def raw_kernels(stage: Stage) -> pl.DataFrame:
    """The kernels as the file has them, before the reader leaves out what lies outside of the windows."""
    return read_blocks(Source(stage.files[0]), {"k": ("start_ns", "duration_ns")}).tables["k"]


def test_windows_that_recur_are_recorded_and_nothing_between_them(stage: Stage) -> None:
    done = play_window(stage, "detached five times", delay_s=0.2, open_s=0.1, period_s=0.5)
    assert done.returncode == 0
    launched = int(done.stdout)
    trace = stage.trace()
    windows = trace.table("windows")
    assert windows["window"].to_list() == list(range(1, windows.height + 1))
    assert windows.height >= 5
    lengths = windows["end_ns"] - windows["start_ns"]
    assert 0.02e9 < lengths.median() < 0.5e9  # a busy machine opens and closes them late, but before the next
    late_ns = (windows["start_ns"] - windows["start_ns"][0] + 250_000_000) % 500_000_000 - 250_000_000
    assert late_ns.abs().max() < 0.11e9  # or it is not opened at all
    inside = pl.any_horizontal(
        pl.col("start_ns").is_between(first, last + 10**7)
        for first, last in windows.select("start_ns", "end_ns").iter_rows()
    )
    assert trace.table("dispatches").select(inside.all()).item()
    assert 50 < trace.rows("dispatches") <= raw_kernels(stage).height
    assert raw_kernels(stage).height < 0.9 * launched  # CUPTI was switched off outside


def test_cupti_is_detached_between_windows(stage: Stage) -> None:
    said = said_when_detached(stage, "detached five times", delay_s=0.2, open_s=0.1, period_s=0.5)
    assert said == ["detached"] * 5
    trace = stage.trace()
    assert trace.rows("windows") >= 2  # a program that stands still until the next one is not detached
    numbers = trace.table("dispatches").select("correlation_id").to_series()
    assert numbers.is_unique().all()
    assert (numbers // 2**32).n_unique() >= 2  # CUPTI counts anew each time, and we beyond that


def test_cupti_is_attached_before_a_window_that_is_shorter_than_that_takes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_ATTACHES_SLOWLY", "1")
    said_when_detached(stage, "detached five times", delay_s=0.2, open_s=0.1, period_s=0.6)
    assert stage.trace().rows("windows") >= 1  # none that is this short would be recorded otherwise


def test_cupti_is_detached_when_the_window_is_over(stage: Stage) -> None:
    assert said_when_detached(stage, "detached once", duration_s=0.3) == ["detached"]
    assert stage.trace().rows("dispatches") > 0


def test_cupti_is_not_detached_in_a_call_that_began_before_all_were_heard(stage: Stage) -> None:
    assert said_when_detached(stage, "in a call", duration_s=0.3) == ["detached"]


def test_everything_is_read_before_cupti_is_detached(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_READS_SLOWLY", "1")
    assert said_when_detached(stage, "detached once", duration_s=0.3) == ["detached"]
    assert stage.trace().rows("dispatches") > 0


@pytest.mark.parametrize(
    ("scene", "why"),
    [
        ("with graphs", "attached again safely beside CUDA graphs"),
        ("in threads", "where several threads call CUDA"),
    ],
)
def test_cupti_stays_between_windows_where_its_going_kills(stage: Stage, scene: str, why: str) -> None:
    said = said_when_detached(stage, scene, open_s=0.1, period_s=0.5)
    assert set(said) <= {"detached"}  # before the first graph, or the second thread, called beside it
    trace = stage.trace()
    assert trace.rows("windows") >= 2  # a busy machine may miss one
    assert any(why in notice for notice in trace.run.notices)


@pytest.mark.parametrize(
    "scene", ["with graphs, without waits", "with graphs on two GPUs", "with graphs, beside a capture"]
)
def test_beside_graphs_cupti_stays_where_the_gpu_is_never_known_to_be_idle(stage: Stage, scene: str) -> None:
    assert said_when_detached(stage, scene, duration_s=0.3) == []
    assert any("only where the one GPU is waited for" in notice for notice in stage.trace().run.notices)


def test_beside_graphs_cupti_is_detached_for_good_when_the_gpu_is_idle(stage: Stage) -> None:
    assert said_when_detached(stage, "with graphs", duration_s=0.3) == ["detached"]
    assert not any("stayed" in notice for notice in stage.trace().run.notices)


def test_windows_that_recur_end_with_the_duration(stage: Stage) -> None:
    assert play_window(stage, "steady", open_s=0.1, period_s=0.5, duration_s=0.6).returncode == 0
    assert stage.trace().table("windows")["window"].to_list()[-1] <= 2


def test_a_window_that_would_cost_too_much_closes_early(stage: Stage) -> None:
    assert play_window(stage, "until closed", open_s=20, period_s=40).returncode == 0
    trace = stage.trace()
    assert trace.rows("dispatches") > 1_000
    assert any("closed early 1 times" in notice for notice in trace.run.notices)
    (window,) = trace.table("windows").iter_rows(named=True)
    assert window["end_ns"] - window["start_ns"] < 19e9


def test_a_window_closes_early_by_the_calls_that_were_heard_after_the_one_before(stage: Stage) -> None:
    assert play_window(stage, "calling", delay_s=0.1, open_s=0.5, period_s=1).returncode == 0
    trace = stage.trace()
    lengths = trace.table("windows").select(pl.col("end_ns") - pl.col("start_ns")).to_series()
    early = [notice for notice in trace.run.notices if "closed early" in notice]
    assert len(early) == 1  # the scene goes on until a window after the first has closed early
    times = int(early[0].split("closed early ")[1].split()[0])
    assert 1 <= times < lengths.len()  # never the first, before which no calls were heard
    assert min(lengths.to_list()) < 0.4e9


def test_a_window_that_is_open_at_the_end_ends_there(stage: Stage) -> None:
    assert play_window(stage, "until opened", delay_s=0.5, open_s=30, period_s=60).returncode == 0
    (window,) = stage.trace().table("windows").iter_rows(named=True)
    assert 0.2e9 < window["end_ns"] - window["start_ns"] < 29e9


def test_what_a_launch_costs_is_measured_once_and_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = library(stage.machine).with_name("launch_cost.json")
    kept.unlink(missing_ok=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stage.program.parent))
    CuptiProfiler().prepare(stage.machine)
    measured = json.loads(kept.read_text())
    assert measured["alone_ns"] > 0
    assert measured["traced_ns"] > 0
    added_ns = max(measured["traced_ns"] - measured["alone_ns"], 0)  # a busy machine may even turn them round
    cost = CuptiProfiler().launch_cost(stage.machine)
    assert cost is not None
    assert cost.added_ns == pytest.approx(added_ns)
    assert min(measured["graph_alone_ns"], measured["graph_traced_ns"]) > 0
    graph_added_ns = max(measured["graph_traced_ns"] - measured["graph_alone_ns"], 0)
    assert cost.graph_added_ns == pytest.approx(graph_added_ns)
    written = kept.stat().st_mtime_ns
    CuptiProfiler().prepare(stage.machine)
    assert kept.stat().st_mtime_ns == written


def test_where_it_cannot_be_measured_nothing_is_claimed(stage: Stage) -> None:
    library(stage.machine).with_name("launch_cost.json").unlink(missing_ok=True)
    CuptiProfiler().prepare(stage.machine)  # there is no libcuda.so.1 to be found
    assert CuptiProfiler().launch_cost(stage.machine) is None


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_sanitizers_find_nothing(tmp_path: Path, sanitizer: str) -> None:
    flags = (f"-fsanitize={sanitizer}", "-g1", "-O0")  # compiled in a third of the time
    program = native.build_standins(tmp_path, *flags)
    variables = {
        "CUDA_INJECTION64_PATH": str(native.build_tracer(tmp_path, *flags)),
        "LD_LIBRARY_PATH": str(tmp_path),
        "ROCM_PERF_CUPTI_OUTPUT": str(tmp_path / "out" / "%pid%.rptrace"),
        "ROCM_PERF_CUPTI_DOMAINS": "kernel,hip,copy,marker,allocation",
        "ASAN_OPTIONS": "detect_leaks=0",  # the tracer lives until the very end
    }
    for scene, code, more in (
        ("many", 0, {}),
        ("everything", 7, {}),
        ("windows", 0, {"ROCM_PERF_WINDOW_RANGE": "step"}),
        ("ring", 0, {"ROCM_PERF_WINDOW_LAST_S": "1"}),
        ("in threads", 0, {"ROCM_PERF_WINDOW_OPEN_S": "0.05", "ROCM_PERF_WINDOW_PERIOD_S": "0.2"}),
    ):
        done = subprocess.run(
            [program, scene],
            env={**os.environ, **variables, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, ""), scene

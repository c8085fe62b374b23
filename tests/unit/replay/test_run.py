"""The runner: each of its ends becomes its own error, and none outlasts the time limit."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rocm_perf.errors import InputError, OutputError, RocmPerfError, ToolAbsentError
from rocm_perf.replay import timing
from rocm_perf.replay.errors import (
    KernelFailedError,
    OtherGpuError,
    RelocatedError,
    ReplayTimeoutError,
    ReservationError,
    TooLargeError,
)
from rocm_perf.replay.plan import Code, Options, Poison
from rocm_perf.replay.replayer import ready, text_of
from rocm_perf.replay.run import failure, run_plan
from rocm_perf.replay.runner import write_plan
from tests.unit.replay.toys import BASE, BLOCK, Toy, code_text, make_snapshot


def replayed(folder: Path, toy: Toy | None = None, timeout_s: float = 120) -> None:
    with ready(make_snapshot(folder, toy), timeout_s) as replayer:
        timing.time_replay(replayer, Options(iterations=2))


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        ("no-device", ToolAbsentError, 3),
        ("refuse", ReservationError, 1),
        ("relocate", RelocatedError, 2),
        ("out-of-memory", TooLargeError, 22),
        ("unreadable", InputError, 6),
        ("silent", KernelFailedError, 24),
    ],
)
@pytest.mark.usefixtures("runner")
def test_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, kind: type[RocmPerfError], code: int
) -> None:
    monkeypatch.setenv("FAKE_RUNNER", fault)
    with pytest.raises(kind) as caught:
        replayed(tmp_path)
    assert caught.value.exit_code == code
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(
    ("toy", "kind", "words"),
    [
        (Toy(gfx="sm_80"), OtherGpuError, "another GPU: the snapshot is of sm_80"),
        (Toy(program=("fail",)), KernelFailedError, "the kernel failed"),
        (Toy(program=("crash",)), KernelFailedError, "SIGSEGV"),
        (Toy(program=("add 0x10 4 1",)), KernelFailedError, "illegal address 0x10"),
        (Toy(program=("time 0",)), KernelFailedError, "not positive"),
    ],
)
def test_kernels_and_snapshots_that_fail(
    tmp_path: Path, toy: Toy, kind: type[RocmPerfError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        replayed(tmp_path, toy)


@pytest.mark.usefixtures("runner")
def test_a_runner_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_RUNNER", "silent")
    with ready(make_snapshot(tmp_path)) as replayer, pytest.raises(KernelFailedError, match="gave no answer"):
        replayer.run(Options())


@pytest.mark.usefixtures("runner")
def test_code_without_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "new.ptx").write_text(code_text(kernel="other"))
    with ready(make_snapshot(tmp_path)) as replayer, pytest.raises(InputError, match="no kernel _Z5scalePf"):
        replayer.run(Options(codes=(Code("A", tmp_path / "new.ptx"),)))


@pytest.mark.usefixtures("runner")
def test_a_kernel_that_hangs_is_ended(tmp_path: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(ReplayTimeoutError, match=r"within 1\.5 s.*--timeout"):
        replayed(tmp_path, Toy(program=("hang",)), timeout_s=1.5)
    assert time.monotonic() - begun < 120  # not the 600 s that it sleeps


def test_its_children_are_ended_too(tmp_path: Path) -> None:
    """And nothing waits for what they hold open."""
    pid = tmp_path / "pid"
    runner = tmp_path / "runner"
    runner.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n")
    runner.chmod(0o755)
    with pytest.raises(ReplayTimeoutError):
        run_plan(runner, tmp_path / "plan", 5)
    child = int(pid.read_text())
    deadline = time.monotonic() + 60
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_no_tool_is_loaded_into_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HSA_TOOLS_LIB", "/x.so")
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/x.so")
    runner = tmp_path / "runner"
    runner.write_text(
        '#!/bin/sh\necho "{\\"state\\": \\"done\\", \\"error\\": \\"[$HSA_TOOLS_LIB$CUDA_INJECTION64_PATH]\\"}"\n'
    )
    runner.chmod(0o755)
    assert run_plan(runner, tmp_path / "plan", 10).answer.error == "[]"
    assert os.environ["HSA_TOOLS_LIB"] == "/x.so"


def test_a_runner_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ToolAbsentError, match="cannot start"):
        run_plan(tmp_path / "none", tmp_path / "plan", 1)


@pytest.mark.usefixtures("runner")
def test_times(tmp_path: Path) -> None:
    with ready(make_snapshot(tmp_path, Toy(program=("time 5000", f"add 0x{BASE:x} 64 1")))) as replayer:
        found = timing.time_replay(replayer, Options(iterations=50, warmup=5))
        few = timing.time_replay(replayer, Options(iterations=3, recopy=False, cold_cache=True))
    assert found.timing.samples_ns == tuple(5000 + turn * 7 % 5 for turn in range(5, 55))
    assert (found.timing.min_ns, found.timing.max_ns, found.timing.median_ns) == (5000, 5004, 5002)
    assert found.timing.interval_ns is not None
    assert found.restored_bytes == BLOCK
    assert found.wall_ns == 1_000_000
    assert few.timing.interval_ns is None
    assert few.timing.interval_unavailable == "fewer than 10 iterations"
    assert few.restored_bytes == 0
    assert few.mode == "memory restored once, caches emptied before each"
    assert found.clock is not None
    assert (found.clock.min_mhz, found.clock.median_mhz, found.clock.max_mhz) == (1690, 1700, 1710)
    assert found.cache_bytes == 50 << 20


@pytest.mark.parametrize(
    ("restored", "options", "noted"),
    [
        (48 << 20, Options(), True),
        (25 << 20, Options(), True),
        (200 << 20, Options(), True),
        (24 << 20, Options(), False),  # in the cache anyhow
        (256 << 20, Options(), False),  # most of it is not
        (48 << 20, Options(recopy=False), False),
        (48 << 20, Options(cold_cache=True), False),
    ],
)
def test_restoring_fills_the_cache(restored: int, options: Options, noted: bool) -> None:
    assert bool(timing.cache_note(restored, 50 << 20, options)) == noted
    assert not timing.cache_note(restored, 0, options)  # of unknown size


@pytest.mark.usefixtures("runner")
def test_nothing_is_left_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    replayed(tmp_path)
    with pytest.raises(KernelFailedError):
        replayed(tmp_path / "second", Toy(program=("fail",)))
    assert not list((tmp_path / "tmp").iterdir())


def test_a_path_that_is_not_utf_8(tmp_path: Path) -> None:
    path = os.fsdecode(b"/snap\xff/kernarg.bin")
    assert (
        write_plan(tmp_path, f"kernarg - 8 {path}\n").read_bytes() == b"kernarg - 8 /snap\xff/kernarg.bin\n"
    )


@pytest.mark.parametrize("status", [1, 2])
def test_a_runner_that_dies_is_not_taken_for_an_answer(tmp_path: Path, status: int) -> None:
    """Whatever goes wrong in a program ends it with 1 or 2."""
    runner = tmp_path / "runner"
    runner.write_text(f"#!/bin/sh\necho 'symbol lookup error' >&2\nexit {status}\n")
    runner.chmod(0o755)
    found = failure(run_plan(runner, tmp_path / "plan", 10))
    assert isinstance(found, KernelFailedError)
    assert f"exit code {status} and gave no answer: symbol lookup error" in str(found)


@pytest.mark.usefixtures("runner")
def test_a_plan_that_cannot_be_written(tmp_path: Path) -> None:
    with ready(make_snapshot(tmp_path)) as replayer:
        (replayer.work / "plan.txt").mkdir()
        with pytest.raises(OutputError, match=r"runner's plan.*Is a directory.*TMPDIR"):
            replayer.run(Options())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(), "as captured"),
        (Options(codes=(Code("A", Path("x")),)), "new code"),
        (Options(poison=(Poison(0x10, 2048, 1),)), "as captured, 2.00 KiB filled before"),
        (Options(iterations=20, warmup=3), "23 launches"),
        (Options(launch=False), "kernel not launched"),
        (Options(launch=False, poison=(Poison(0x10, 8, 1),)), "outputs poisoned, kernel not launched"),
        (Options(grid=(1, 1, 1)), "half of the grid"),
    ],
)
def test_what_is_said_of_a_replay(options: Options, words: str) -> None:
    assert text_of(options) == words

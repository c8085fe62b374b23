"""Fresh processes: their order, their journals, and what becomes of one that fails."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf.bench.beside import Beside
from rocm_perf.bench.processes import Repeats, command_samples, function_samples, measured, turns
from rocm_perf.bench.run import run
from rocm_perf.bench.samples import Samples
from rocm_perf.bench.settings import Settings
from rocm_perf.bench.target import Target
from rocm_perf.errors import UsageError

SOURCE = """
import os, signal
calls = 0
def step():
    global calls
    calls += 1
    return calls
def raising():
    if step() == 11 + 57: raise ValueError("bad\\nshape")
def dying():
    if step() == 40: os.kill(os.getpid(), signal.SIGSEGV)
def hanging():
    while step() > 40: pass
def leaving(): os._exit(9)
def dying_by_40(): os.kill(os.getpid(), 40)
def ending(): raise SystemExit(3)
def without_gpu(): raise RuntimeError("No HIP GPUs are available")
"""
QUICK = Settings(iterations=100, precision=None)
NO_SENSORS = Beside(())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)


def samples_of(function: str, timeout_s: float = 60.0) -> Samples:
    return function_samples(Target(f"program.py:{function}"), QUICK, timeout_s, NO_SENSORS)


def test_two_sides_take_turns() -> None:
    assert list(turns(2, 4)) == [0, 1, 1, 0, 0, 1, 1, 0]
    assert list(turns(1, 3)) == [0, 0, 0]


def test_an_interruption_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Samples(times_ms=(1.0, 2.0), clock="wall clock")
    answers = [kept, kept]

    def one(*_: object, **__: object) -> Samples:
        if not answers:
            raise KeyboardInterrupt
        return answers.pop()

    monkeypatch.setattr("rocm_perf.bench.processes._one", one)
    ((first, second, last),) = measured([Target("program.py:step")], QUICK, Repeats(count=9))
    assert first == second == kept
    assert (last.times_ms, last.fault) == ((), "interrupted")
    with pytest.raises(KeyboardInterrupt):
        measured([Target("program.py:step")], QUICK, Repeats(count=9))


def test_a_function_is_measured_in_a_process_of_its_own() -> None:
    samples = samples_of("step")
    assert len(samples.times_ms) == 100
    assert (samples.clock, samples.error, samples.fault) == ("wall clock", "", "")
    assert samples.facts["machine"]["python"] == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize(
    ("function", "fault", "error", "kept"),
    [
        ("raising", "raised", "sample 57 raised ValueError: bad shape", 56),
        ("dying", "died", "SIGSEGV killed its process, after 20 samples", 20),
        ("dying_by_40", "died", "SIGRTMIN+6 killed its process, before the first call came back", 0),
        ("leaving", "died", "its process ended with 9, before the first call came back", 0),
        ("ending", "raised", "the target ended its process (SystemExit 3)", 0),
        ("without_gpu", "device", "the first call raised RuntimeError: No HIP GPUs are available", 0),
        ("absent", "target", "program.py has no 'absent'", 0),
    ],
)
def test_what_goes_wrong_is_one_line_and_samples_are_kept(
    function: str, fault: str, error: str, kept: int
) -> None:
    samples = samples_of(function)
    assert samples.fault == fault
    assert samples.error.startswith(error)
    assert "\n" not in samples.error
    assert len(samples.times_ms) == kept


def test_a_target_that_hangs_is_ended() -> None:
    samples = samples_of("hanging", timeout_s=2.0)
    assert samples.fault == "hung"
    assert samples.error.startswith("it hangs: no end within 2 s")


def test_processes_are_interleaved() -> None:
    sides_done: list[int] = []
    targets = [Target(command=("true",)), Target(command=("true",))]
    samples = measured(targets, QUICK, Repeats(count=2), lambda side, _samples: sides_done.append(side))
    assert sides_done == [0, 1, 1, 0]
    assert [len(side) for side in samples] == [2, 2]


def test_what_is_hopeless_is_not_tried_again() -> None:
    (samples,) = measured([Target("program.py:absent")], QUICK, Repeats(count=5))
    assert len(samples) == 1


def test_a_command_is_one_sample() -> None:
    samples = command_samples(("true",), 10.0, NO_SENSORS)
    assert len(samples.times_ms) == 1
    assert samples.clock == "wall clock"


@pytest.mark.parametrize(
    ("script", "code", "error"),
    [
        ("echo sorry >&2; exit 7", 7, "it ended with 7: sorry"),
        ("kill -9 $$", 137, "it ended with 137"),
        ("kill -40 $$", 168, "it ended with 168"),
    ],
)
def test_a_command_that_fails_keeps_its_code(script: str, code: int, error: str) -> None:
    samples = command_samples(("sh", "-c", script), 10.0, NO_SENSORS)
    assert (samples.fault, samples.facts["status"], samples.error) == ("exit", code, error)
    assert samples.times_ms == ()


def test_a_command_that_does_not_end_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is up when its child runs, however long that takes."""
    child = tmp_path / "child"

    class Timer(threading.Thread):
        def __init__(self, _: float, passed: Callable[[], None]) -> None:
            super().__init__(target=lambda: _until(child.exists, then=passed))

        def cancel(self) -> None:
            pass

    monkeypatch.setattr("rocm_perf.bench.run.threading.Timer", Timer)
    script = "sleep 600 & echo $! > draft; mv draft child; wait"
    samples = command_samples(("sh", "-c", script), 0.3, NO_SENSORS)
    assert samples.error == "it hangs: no end within 0.3 s"
    _gone(int(child.read_text()))


def _gone(pid: int) -> None:
    """Wait for the end of a process that was killed; the kernel may take a moment."""
    deadline = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _until(met: Callable[[], bool], then: Callable[[], None]) -> None:
    while not met():
        time.sleep(0.01)
    then()


def test_a_command_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="cannot start no-such-program"):
        run(("no-such-program",), os.environ, 1.0)


def _runs(pid: int) -> bool:
    """Whether the process still runs; one that only waits to be reaped does not."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False

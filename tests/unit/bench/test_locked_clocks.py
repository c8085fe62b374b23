"""Clocks under a fake SMI: locked while a block runs, unlocked whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocm_perf.backends.clock_lock import ClockLock
from rocm_perf.bench import locked_clocks as locking
from rocm_perf.bench.locked_clocks import locked_clocks
from rocm_perf.cli.main import main
from rocm_perf.errors import NotSupportedError, ToolAbsentError
from tests.fake_tools import fake_path

# Locks, says so, and goes on until it is ended.
MEASURING = """
import sys
from rocm_perf.bench.locked_clocks import locked_clocks
with locked_clocks(1500):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the fake amd-smi writes what it is asked for."""
    use_tools(tmp_path, monkeypatch, "amd-smi")
    return tmp_path / "clocks"


def use_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *tools: str) -> None:
    environment = fake_path(tmp_path, tools=tools, FAKE_CLOCKS=str(tmp_path / "clocks"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def changes(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def test_locked_inside_and_unlocked_after(log: Path) -> None:
    with locked_clocks(1500):
        assert changes(log) == ["set 1500"]
    assert changes(log) == ["set 1500", "reset"]


def test_nothing_is_locked_unless_asked(log: Path) -> None:
    with locked_clocks(None):
        assert changes(log) == []


def test_an_error_inside_unlocks(log: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked_clocks(1500):
        raise KeyboardInterrupt
    assert changes(log) == ["set 1500", "reset"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_measuring_process_that_is_killed_leaves_no_lock(log: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", MEASURING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"locked\n"
    assert changes(log) == ["set 1500"]
    os.killpg(process.pid, number)
    assert process.wait() == -number
    process.stderr.read()  # ends with the watcher, which inherited it
    assert changes(log) == ["set 1500", "reset"]
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def test_a_watcher_that_is_killed_is_stood_in_for(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watchers: list[subprocess.Popen[str]] = []
    started = locking._started

    def noted(commands: ClockLock) -> subprocess.Popen[str]:
        watchers.append(started(commands))
        return watchers[-1]

    monkeypatch.setattr(locking, "_started", noted)
    with locked_clocks(1500):
        watchers[0].kill()
        watchers[0].wait()
        assert changes(log) == ["set 1500"]
    assert changes(log) == ["set 1500", "reset"]


def test_a_refused_lock_runs_nothing_and_is_undone(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "set-clocks")
    with (
        pytest.raises(NotSupportedError, match="Unable to change performance determinism"),
        locked_clocks(1500),
    ):
        pytest.fail("the block ran without a lock")
    assert changes(log) == ["reset"]


def test_an_unlock_that_fails_says_what_to_run(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "reset-clocks")
    with (
        pytest.raises(
            NotSupportedError, match=r"still locked.*Run: .*amd-smi reset --gpu all --perf-determinism"
        ),
        locked_clocks(1500),
    ):
        pass
    assert changes(log) == ["set 1500"]


def test_nvidia(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_tools(tmp_path, monkeypatch, "nvidia-smi")
    with locked_clocks(1200):
        pass
    assert changes(tmp_path / "clocks") == ["--lock-gpu-clocks=1200,1200", "--reset-gpu-clocks"]


def test_no_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolAbsentError, match="neither amd-smi nor nvidia-smi"), locked_clocks(1500):
        pass


def test_bench_locks_on_request_alone(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--processes", "2", "--", "true"]) == 0
    assert changes(log) == []
    assert main(["bench", "--processes", "2", "--lock-clocks", "1500", "--", "true"]) == 0
    assert changes(log) == ["set 1500", "reset"]

"""`analyze --cluster` on real workers: as one process says it, and whatever happens to a worker or a rank."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from bench.make_ranks import write_job

pytest.importorskip("distributed")
pytestmark = pytest.mark.launches

RANKS = 6
_MARK = f"ROCM_PERF_TEST={os.getpid()}"  # in the environment of what this test starts
_SAME = ("wall_ns", "devices", "families", "copies", "domains")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    write_job(folder, RANKS, steps=20, pairs=50)
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> Any:
    """What one process says of the whole recording."""
    return _document(_analyze(folder, "--window", "all"))


def _command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "rocm_perf", "analyze", str(folder), "--json", *options]


def _analyze(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(folder, *options), capture_output=True, text=True, check=False)


def _document(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]


def _assert_same(together: Any, alone: Any) -> None:
    for name in _SAME:
        assert together[name] == alone[name], name
    totals = [(row["kernel"], row["calls"], row["total_ns"]) for row in alone["hotspots"]["rows"]]
    assert [(row["kernel"], row["calls"], row["total_ns"]) for row in together["hotspots"]["rows"]] == totals
    assert together["gaps"]["causes"] == alone["gaps"]["causes"]


def _workers() -> list[int]:
    """The processes that Dask started for the command of this test."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"spawn_main" in command and _MARK.encode() in environment:
                found.append(int(entry.name))
    return found


def test_two_workers_with_little_memory_say_what_one_process_says(folder: Path, alone: Any) -> None:
    done = _analyze(
        folder, "--cluster", "local", "--workers", "2", "--worker-memory", "600M", "--window", "all"
    )
    _assert_same(_document(done), alone)


def test_what_to_run_next_runs_as_it_is_printed(folder: Path) -> None:
    findings = _document(_analyze(folder, "--cluster", "local", "--workers", "1"))["findings"]
    commands = {finding["next_command"] for finding in findings if finding["kind"] == "kernel"}
    (command,) = commands
    assert "--cluster" not in command  # which leaves open what limits a kernel
    program, *arguments = shlex.split(command)
    assert program == "rocm-perf"
    done = subprocess.run([sys.executable, "-m", "rocm_perf", *arguments], capture_output=True, check=False)
    assert done.returncode == 0


def test_a_bad_rank_does_not_lose_the_others(folder: Path, tmp_path: Path) -> None:
    for file in sorted(folder.iterdir())[:2]:
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "rank9_results.db").write_bytes((folder / "rank0_results.db").read_bytes()[:9000])
    document = _document(_analyze(tmp_path, "--cluster", "local", "--workers", "1"))
    assert len(document["devices"]) == 2
    (loss,) = document["run"]["losses"]
    assert "rank9" in loss["source"]


def _reading() -> list[int]:
    """The workers that have begun with a rank."""
    return [pid for pid in _workers() if b"polars" in _maps(pid)]


def _maps(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/maps").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


def _started(folder: Path) -> subprocess.Popen[str]:
    """The command, once a worker reads a rank."""
    name, value = _MARK.split("=")
    process = subprocess.Popen(
        _command(folder, "--cluster", "local", "--workers", "2", "--window", "all"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, name: value},
    )
    deadline = time.monotonic() + 240
    while not _reading() and time.monotonic() < deadline:
        time.sleep(0.05)
    return process


def test_the_ranks_of_a_killed_worker_are_read_again(folder: Path, alone: Any) -> None:
    process = _started(folder)
    os.kill(_reading()[0], signal.SIGKILL)
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    _assert_same(json.loads(output)["runs"][0], alone)


def test_after_an_interruption_no_worker_is_left(folder: Path) -> None:
    process = _started(folder)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in errors
    deadline = time.monotonic() + 120
    while _workers() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _workers() == []


def test_a_dead_address_is_said_in_one_line(folder: Path) -> None:
    done = _analyze(folder, "--cluster", "tcp://127.0.0.1:9")
    assert done.returncode == 6
    assert done.stderr.count("\n") == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr


def test_without_dask_the_command_that_installs_it_is_said(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ModuleNotFoundError('no', name='distributed')")
    paths = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        _command(folder, "--cluster", "local"),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 3
    assert done.stderr.strip().endswith("pip install 'rocm-perf[cluster]'")

"""A signal ends whatever reads a file, even where the file has led it into a library that never comes back."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# What is stuck holds Python's lock, so that no handler of a signal runs.
_STUCK = """
import os, sys
value = ()
for _ in range(60):
    value = (value, value)
def stuck(*_):
    while True:
        try:
            os.write(1, b"stuck\\n")
            hash(value)
        except KeyboardInterrupt:  # a signal between the two lines above
            pass
"""
_COMMAND = _STUCK + (
    "from rocm_perf.cli import main, reading\n"
    "from rocm_perf.ingest.torch_memory import snapshot\n"
    "reading._GRACE_S = 1\n"
    "snapshot.load_plain = stuck\n"
    "sys.exit(main.main(['analyze', sys.argv[1]]))\n"
)
_HELPER = _STUCK + (
    "from rocm_perf.ingest import helper_process\n"
    "class pickle: load = stuck\n"
    "helper_process.pickle = pickle\n"
    "helper_process.main()\n"
)
_FOR_EVER_S = 60


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": []}))
    return path


def test_a_command_whose_reader_is_stuck_in_c_ends(recording: Path) -> None:
    endings = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    command = (sys.executable, "-c", _COMMAND, str(recording))
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in endings]
    try:
        for process, number in zip(started, endings, strict=True):
            assert process.stdout is not None
            assert process.stdout.readline() == b"stuck\n"
            process.send_signal(number)
        for process in started:
            _, said = process.communicate(timeout=_FOR_EVER_S)
            assert process.returncode == -signal.SIGKILL
            assert b"killed, because it did not end within 1 s of a signal" in said
    finally:
        for process in started:
            process.kill()


def test_a_signal_that_is_ignored_stays_ignored(recording: Path) -> None:
    command = f'trap "" TERM; exec "$0" -c "$1" "{recording}"'
    with subprocess.Popen(
        ("sh", "-c", command, sys.executable, _COMMAND), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"stuck\n"
        process.terminate()
        time.sleep(2)
        assert process.poll() is None
        process.kill()


def test_a_helper_that_is_stuck_ends_with_the_process_that_asked_it() -> None:
    parent = (
        "import subprocess, sys, time\n"
        "helper = subprocess.Popen((sys.executable, '-c', sys.argv[1]), stdin=subprocess.PIPE)\n"
        "helper.stdin.write(b'task'); helper.stdin.flush()\n"
        "print(helper.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen((sys.executable, "-c", parent, _HELPER), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        helper = int(process.stdout.readline())
        assert process.stdout.readline() == b".stuck\n"  # after the byte that says it is ready
        process.kill()
    end = time.monotonic() + _FOR_EVER_S
    while _is_running(helper) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_running(helper)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False

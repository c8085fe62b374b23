"""`rocm-perf profile` as a process among others: its terminal, its ranks, its death."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocm_perf.collect.run.layout import read_record
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import FILE_NAME, CollectionRecord
from tests.fake_tools import fake_path
from tests.unit.collect.run.test_launch import INTERRUPTIBLE, Screen

pytestmark = pytest.mark.launches

TOOLS = ("rocprofv3", "rocminfo")
PATIENCE_S = 300  # with a busy machine


class Profile:
    """The command, with fake tools on its PATH."""

    def __init__(self, tmp_path: Path) -> None:
        self.runs = tmp_path / "runs"
        self.environment = {
            name: value for name, value in fake_path(tmp_path, TOOLS).items() if not name.endswith("RANK")
        }

    def argv(self, *command: str, options: tuple[str, ...] = ()) -> list[str]:
        own = [sys.executable, "-m", "rocm_perf.cli.main", "profile", "-d", str(self.runs)]
        return [*own, *options, "--", *command]

    def start(
        self, *command: str, options: tuple[str, ...] = (), **variables: str
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv(*command, options=options),
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def record(self) -> CollectionRecord:
        """Of the only process that recorded."""
        (file,) = self.runs.rglob(FILE_NAME)
        found = read_record(file.parent)
        assert found is not None
        return found


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path)


def test_bytes_pass_through_the_profiler(profile: Profile) -> None:
    data = random.Random(3).randbytes(1 << 20)
    done = subprocess.run(
        profile.argv("cat"),
        env=profile.environment,
        input=data,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == data


def test_json_has_stdout_for_itself(profile: Profile) -> None:
    import json

    process = profile.start("echo", "from the application", options=("--json",))
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert json.loads(out)
    assert b"from the application" in errors


def test_ranks_at_once_never_collide(profile: Profile) -> None:
    started = [
        profile.start("true", RANK=str(rank), ROCM_PERF_RUN_ID="job", WORLD_SIZE="8") for rank in range(8)
    ]
    for process in started:
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors.decode()
    (host,) = (profile.runs / "job").iterdir()
    assert sorted(folder.name.split("-")[0] for folder in host.iterdir()) == [f"rank{n}" for n in range(8)]
    trace = load(profile.runs / "job")
    assert trace.table("dispatches").group_by("rank").len().sort("rank").rows() == [(n, 6) for n in range(8)]


def test_on_a_terminal_the_application_sees_a_terminal(profile: Profile) -> None:
    argv = profile.argv(sys.executable, "-c", "import os; print([os.isatty(n) for n in range(3)], input())")
    job = Screen(argv, profile.environment)
    try:
        job.type(b"typed\n")
        shown = job.until("shell: exit 0 front True")
    finally:
        job.close()
    assert "[True, True, True] typed\r\n" in shown


def test_ctrl_c_flushes_and_is_reported(profile: Profile) -> None:
    job = Screen(profile.argv(sys.executable, "-c", INTERRUPTIBLE), profile.environment)
    try:
        job.until("ready")
        job.type(b"\x03")
        shown = job.until("shell: exit 130")
    finally:
        job.close()
    assert profile.record().state == "interrupted"
    assert "saxpy" in shown  # the fake profiler wrote what it had, and it was analysed


def test_a_child_that_outlives_the_application_is_not_killed(profile: Profile, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script = f"(setsid sh -c 'sleep 4; echo alive > {mark}' > /dev/null 2>&1 &) ; exit 0"
    process = profile.start("sh", "-c", script)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors.decode()
    deadline = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert mark.read_text() == "alive\n"


def test_a_killed_run_leaves_a_readable_record_and_the_others_alone(profile: Profile) -> None:
    first = profile.start("true", options=("--run-id", "first"))
    assert first.communicate(timeout=PATIENCE_S) is not None
    before = {path: path.read_bytes() for path in (profile.runs / "first").rglob("*") if path.is_file()}
    second = profile.start("sh", "-c", "echo $$; exec sleep 300", options=("--run-id", "second"))
    assert second.stdout is not None
    pid = int(second.stdout.readline())
    second.kill()
    second.wait(PATIENCE_S)
    os.kill(pid, signal.SIGKILL)  # the application, which nobody looks after now
    second.communicate(timeout=PATIENCE_S)
    assert {path: path.read_bytes() for path in before} == before
    trace = load(profile.runs / "second")
    assert "interrupted: what is here is what was flushed" in trace.run.notices
    assert trace.run.collection is not None
    assert trace.run.collection.command[0] == "sh"


def test_a_full_disk_starts_nothing(profile: Profile) -> None:
    limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *profile.argv("echo", "started")]
    done = subprocess.run(
        limited, env=profile.environment, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout) == (6, b"")
    assert b"cannot write" in done.stderr
    assert b"File too large" in done.stderr

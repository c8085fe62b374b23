"""Ended by a signal, or read by nobody: nothing is left behind, and the exit code is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.bench.run import run
from rocm_perf.cli.main import main
from rocm_perf.errors import InputError
from rocm_perf.replay.run import run_plan
from tests.unit.replay.toys import Toy, fake_runner, make_snapshot, write_draft

PATIENCE_S = 180  # with a busy machine
# Storing a snapshot of a few bytes is over too soon to be disturbed.
SLOW_STORE = """
import sys, time
from pathlib import Path
from rocm_perf.replay import finish
def slow(*_, **__):
    Path(sys.argv[1]).touch()
    time.sleep(300)
finish.pack_all = slow
from rocm_perf.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert happened()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_replay_that_is_ended_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    native, work, pid = fake_runner(tmp_path / "native"), tmp_path / "tmp", tmp_path / "pid"
    work.mkdir()
    (native / "replay_cuda").write_text(
        f"#!/bin/sh\necho $$ > {pid}.new\nmv {pid}.new {pid}\nexec sleep 300\n"
    )
    snapshot = str(make_snapshot(tmp_path).folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "rocm_perf.cli.main", "replay", "full-vm", snapshot],
        env={**os.environ, "ROCM_PERF_NATIVE_DIR": str(native), "TMPDIR": str(work)},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(pid.exists)
    runner = int(pid.read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, err) == (128 + number, f"rocm-perf: ended by {number.name}\n")
    assert not list(work.iterdir())
    wait_for(lambda: not runs(runner))


@pytest.mark.parametrize(
    "start", [lambda runner: run_plan(runner, runner, 60.0), lambda runner: run([runner], os.environ, 60.0)]
)
def test_a_signal_while_a_process_is_started_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[Path], object]
) -> None:
    runner, started = tmp_path / "runner", []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    runner.write_text("#!/bin/sh\nexec sleep 300\n")
    runner.chmod(0o755)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        start(runner)
    assert [process.wait(PATIENCE_S) < 0 for process in started] == [True]


def test_a_capture_that_is_ended_while_it_stores_leaves_nothing(tmp_path: Path) -> None:
    draft = write_draft(tmp_path / "draft", Toy())
    begun, home = tmp_path / "begun", tmp_path / "home"
    app = ["sh", "-c", f'cp -r {draft} "$ROCM_PERF_CAPTURE_DIR/$$"']
    arguments = ["capture", "--kernel", "x", "--vendor", "nvidia", "-o", str(home / "snap"), "--", *app]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_STORE, str(begun), *arguments],
        env={**os.environ, "ROCM_PERF_NATIVE_DIR": str(fake_runner(tmp_path / "native"))},
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(begun.exists)
    process.terminate()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert "ended by SIGTERM" in err
    assert not list(home.iterdir())


def test_signals_are_as_before_when_a_verb_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert main(["presets"]) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang_up(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return 0

    monkeypatch.setattr("rocm_perf.cli.presets.PresetsCommand.run", hang_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["presets"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert main(["presets"]) == 128 + signal.SIGHUP


@pytest.mark.launches
@pytest.mark.parametrize("verb", ["gpus", "formats", "presets", "list-counters"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_has_left_is_no_error(verb: str, form: list[str]) -> None:
    arguments = [verb, *form, *(["--arch", "gfx942"] if verb == "list-counters" else [])]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "rocm_perf.cli.main", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdout() -> None:
    command = f"'{sys.executable}' -m rocm_perf.cli.main gpus >&-"
    done = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_errors_are_one_line_without_control_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise InputError("x.hsaco has no kernel a\x1b[31m\nb", "it has \x07none")

    monkeypatch.setattr("rocm_perf.cli.presets.PresetsCommand.run", fail)
    assert main(["presets"]) == 6
    assert capsys.readouterr().err == "rocm-perf: x.hsaco has no kernel a [31m b: it has  none\n"

"""Listening to a program line by line, whatever it does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf.bench.json_lines import Line, python_command, run_lines
from tests.unit.bench.programs import program


def listened(path: Path, *lines: Line, after: str = "", limit_s: float = 120) -> tuple[list[Line], str]:
    heard: list[Line] = []
    problem = run_lines([program(path, lines, after=after)], heard.append, limit_s=limit_s)
    return heard, problem


def test_lines_that_are_not_objects_are_passed_over(tmp_path: Path) -> None:
    after = "print('[1, 2]'); print('loading...'); sys.stdout.buffer.write(b'\\xff\\n'); print('{\"b\": 2}')"
    assert listened(tmp_path / "p", {"a": 1}, after=after) == ([{"a": 1}, {"b": 2}], "")


def test_what_was_printed_before_a_failure_is_kept_with_the_last_words(tmp_path: Path) -> None:
    after = "sys.exit('no HIP GPUs are available')"
    assert listened(tmp_path / "p", {"a": 1}, after=after) == ([{"a": 1}], "no HIP GPUs are available")


def test_a_program_that_a_signal_ends_without_a_word(tmp_path: Path) -> None:
    assert listened(tmp_path / "p", {"a": 1}, after="os.abort()") == ([{"a": 1}], "it was ended by SIGABRT")


def test_a_program_that_hangs_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is up when it hangs, however long it takes to get there."""
    hangs = tmp_path / "hangs"

    class Timer(threading.Thread):
        def __init__(self, _: float, passed: Callable[[], None]) -> None:
            super().__init__(target=self._wait)
            self._passed = passed

        def _wait(self) -> None:
            while not hangs.exists():
                time.sleep(0.01)
            self._passed()

        def cancel(self) -> None:
            pass

    monkeypatch.setattr("rocm_perf.bench.run.threading.Timer", Timer)
    begun = time.monotonic()
    after = f"import subprocess; subprocess.run(['sh', '-c', 'touch {hangs}; sleep 600'])"
    heard, problem = listened(tmp_path / "p", {"a": 1}, after=after, limit_s=0.5)
    assert (heard, problem) == ([{"a": 1}], "it did not end within 0.5 s")
    assert time.monotonic() - begun < 120


def test_a_program_that_is_not_there() -> None:
    assert run_lines(["/nowhere/p"], print, limit_s=1) == (
        "cannot start /nowhere/p: No such file or directory. Check its name and path."
    )


def test_our_modules_run_in_another_python_which_sees_nothing_else_of_ours() -> None:
    """Its own polars, numpy or torch must win."""
    command = python_command(sys.executable, "rocm_perf.bench.inside.gpu", "7")
    root = command[3]
    probe = command[2].replace(
        "from rocm_perf.bench.inside.gpu import main",
        "import json, rocm_perf.bench.inside.gpu as m; "
        "main = lambda rest: print(json.dumps({'path': sys.path, 'rest': rest, 'file': m.__file__}))",
    )
    heard: list[Line] = []
    argv = [sys.executable, "-S", "-c", probe, *command[3:]]
    assert run_lines(argv, heard.append, limit_s=120, variables={"PYTHONPATH": ""}) == ""
    (line,) = heard
    assert root not in line["path"]
    assert line["file"].startswith(root)
    assert line["rest"] == ["7"]

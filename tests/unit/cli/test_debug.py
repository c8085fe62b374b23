"""`rocm-perf debug`, from the command line. Run as a process: the application owns the streams."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.collect.test_debug import FAULTY

MAIN = """
import argparse, sys
from rocm_perf.cli.debug import DebugCommand
from rocm_perf.errors import RocmPerfError
parser = argparse.ArgumentParser()
command = DebugCommand()
command.prepare_parser(parser)
try:
    sys.exit(command.run(parser.parse_args()))
except RocmPerfError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


def run(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_report_is_on_stderr_and_the_exit_code_the_applications(tmp_path: Path) -> None:
    done = run(tmp_path, "--", sys.executable, "-c", FAULTY)
    assert done.returncode == 134
    assert done.stdout == "application's own output\n"
    assert "rocm-perf: kernel: broken(int*) (likely: it was launched last" in done.stderr
    assert "rocm-perf: launched before: fill(int*)" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("the timings of this run are not valid")
    assert [path.name for path in tmp_path.iterdir()] == ["rocm-perf-debug-1"]
    run(tmp_path, "--", sys.executable, "-c", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rocm-perf-debug-1", "rocm-perf-debug-2"]


def test_json_has_stdout_for_itself(tmp_path: Path) -> None:
    done = run(tmp_path, "--json", "-d", "logs", "--", sys.executable, "-c", FAULTY)
    found = json.loads(done.stdout)
    assert found["schema_version"] == 1
    assert (found["kernel"], found["certainty"], found["exit_code"]) == ("broken(int*)", "likely", 134)
    assert "application's own output" in done.stderr


@pytest.mark.parametrize("code", [0, 7])
def test_without_a_fault(tmp_path: Path, code: int) -> None:
    done = run(
        tmp_path, "--", sys.executable, "-c", f"import sys; print(sys.argv[1:]); sys.exit({code})", "--", "-o"
    )
    assert (done.returncode, done.stdout) == (code, "['--', '-o']\n")
    assert "no fault of a kernel was found" in done.stderr


def test_dry_run_starts_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "--dry-run", "--", sys.executable, "-c", "open('ran', 'w')")
    assert done.returncode == 0
    assert "HIP_LAUNCH_BLOCKING=1" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--",),
        ("--", "no-such-program"),
        ("--timeout", "0", "--", "true"),
        ("--timeout", "x", "--", "true"),
    ],
)
def test_bad_input_starts_nothing(tmp_path: Path, args: tuple[str, ...]) -> None:
    done = run(tmp_path, *args)
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_timeout_ends_it(tmp_path: Path) -> None:
    done = run(tmp_path, "--timeout", "1", "--", sys.executable, "-c", "import time; time.sleep(60)")
    assert done.returncode != 0
    assert "did not end in time" in done.stderr

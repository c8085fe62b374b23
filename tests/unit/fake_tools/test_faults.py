"""Each fault does what it says."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rocm_perf.ingest.load import load
from tests.fake_tools import ROCM_TOOLS, fake_path, run_tool

pytestmark = pytest.mark.launches


def _profile(tmp_path: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = fake_path(tmp_path, ["rocprofv3"])
    line = ("--hip-trace", "--kernel-trace", "-f", "csv", "-d", str(tmp_path / "out"), "-o", "x", *options)
    return run_tool({**environment, **variables}, "rocprofv3", *line, "--", "echo", "ran")


def test_absent_tools_are_not_found(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprof"])
    found = run_tool(
        environment, "sh", "-c", "; ".join(f"command -v {tool}" for tool in ROCM_TOOLS)
    ).stdout.split()
    assert found == [str(tmp_path / "fake-rocm" / "bin" / "rocprof")]
    with pytest.raises(ValueError, match="there is no stand-in for nsys"):
        fake_path(tmp_path, ["nsys"])


def test_permission(tmp_path: Path) -> None:
    ran = _profile(tmp_path, FAKE_FAULT="permission")
    assert (ran.returncode, ran.stdout, (tmp_path / "out").exists()) == (1, "", False)
    assert "/dev/kfd read-write: Permission denied" in ran.stderr


def test_aqlprofile_stops_counters_and_nothing_else(tmp_path: Path) -> None:
    text = "aqlprofile API table load failed: HSA_STATUS_ERROR: A generic error has occurred.\n"
    ran = _profile(tmp_path, "--pmc", "SQ_WAVES", FAKE_FAULT="aqlprofile")
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGABRT, "", text)
    assert _profile(tmp_path, FAKE_FAULT="aqlprofile").returncode == 0
    old = _profile(tmp_path, "--pmc", "SQ_WAVES", FAKE_GPU="gfx1151", FAKE_ROCM="7.0")
    assert (old.returncode, old.stderr) == (-signal.SIGABRT, text)
    assert _profile(tmp_path, "--pmc", "SQ_WAVES", FAKE_GPU="gfx1151", FAKE_ROCM="7.2").returncode == 0


@pytest.mark.parametrize(
    ("fault", "files"),
    [
        ("empty", set()),
        ("empty:hip", {"x_kernel_trace.csv", "x_agent_info.csv"}),
        ("empty:kernels_only", {"x_kernel_trace.csv", "x_agent_info.csv"}),
        ("empty:records", {"x_agent_info.csv"}),
    ],
)
def test_empty(tmp_path: Path, fault: str, files: set[str]) -> None:
    ran = _profile(tmp_path, FAKE_FAULT=fault)
    assert (ran.returncode, ran.stdout) == (0, "ran\n")
    assert {path.name for path in (tmp_path / "out").glob("*")} == files


def test_truncated(tmp_path: Path) -> None:
    assert _profile(tmp_path, "-f", "csv", "json", FAKE_FAULT="truncated").returncode == 0
    kernels = tmp_path / "out" / "x_kernel_trace.csv"
    assert not kernels.read_text().endswith("\n")
    assert 0 < load(kernels).rows("dispatches") < 6
    with pytest.raises(ValueError, match=r"Unterminated|delimiter|Expecting"):
        json.loads((tmp_path / "out" / "x_results.json").read_text())


def test_crash(tmp_path: Path) -> None:
    ran = _profile(tmp_path, FAKE_FAULT="crash")
    assert (ran.returncode, ran.stdout, (tmp_path / "out").exists()) == (-signal.SIGSEGV, "ran\n", False)


def test_hang_lasts_until_it_is_stopped(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"], FAKE_FAULT="hang")
    command = ["rocprofv3", "--kernel-trace", "--", "echo", "ran"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as tool:
        assert tool.stdout is not None
        assert tool.stdout.readline() == "ran\n"
        with pytest.raises(subprocess.TimeoutExpired):
            tool.wait(0.3)
        tool.terminate()
        assert tool.wait(60) == -signal.SIGTERM


def test_slow(tmp_path: Path) -> None:
    start = time.monotonic()
    assert _profile(tmp_path, FAKE_FAULT="slow", FAKE_SLOW="0.7").returncode == 0
    assert time.monotonic() - start > 0.7

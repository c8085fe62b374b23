"""`rocm-perf profile` on a machine with NVIDIA GPUs, from the probe to the report: the real tracer on a stand-in for
CUPTI, and the stand-in for ncu."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import rocm_perf
from tests.fake_tools import fake_path
from tests.native import cupti as native

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in program; a CUDA toolkit is laid out beside it."""
    return native.shared_standins(request.config, tmp_path_factory.mktemp("nvidia")) / "program"


def run(program: Path, tmp_path: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = fake_path(
        tmp_path,
        tools=["nvidia-smi", "nvcc", "ncu"],
        CUDA_HOME=str(program.parent / "cuda"),
        XDG_CACHE_HOME=str(program.parent / "cache"),
        LD_LIBRARY_PATH=str(program.parent),
    )
    environment |= {name: value for name, value in variables.items() if name.startswith("FAKE_")}
    if "compiler" in variables:
        compiler = tmp_path / "fake-rocm" / "bin" / "c++"
        compiler.write_text(variables["compiler"])
        compiler.chmod(0o755)
        environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    return subprocess.run(
        [sys.executable, "-m", "rocm_perf.cli.main", "profile", "-d", str(tmp_path / "runs"), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_trace_and_counters(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path, "--counters", "counters_basic", "--", str(program), "quick")
    assert (done.returncode, done.stdout) == (0, "ready\n" * 2), done.stderr
    trace = rocm_perf.load(tmp_path / "runs")
    assert trace.table("dispatches").filter(pass_id=1).height == 1000
    assert trace.table("counters").height == 11 * 6
    assert trace.run.tool == "rocm-perf cupti + ncu"
    assert trace.table("dispatches")["rank"].null_count() == trace.rows("dispatches")


def test_the_exit_code_is_the_applications(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path, "--", str(program), "everything")
    assert done.returncode == 7
    assert rocm_perf.load(tmp_path / "runs").rows("dispatches") == 3


def test_a_tracer_that_does_not_compile_gives_way(program: Path, tmp_path: Path) -> None:
    broken = (
        '#!/bin/sh\n[ "$1" = --version ] && echo 12.2.0 && exit\necho "error: no such luck" >&2; exit 1\n'
    )
    done = run(program, tmp_path, "--", str(program), "quick", compiler=broken)
    assert done.stdout == "ready\n"
    assert done.returncode == 4
    assert "no such luck" in done.stderr


SUMS = """
name = "sums"
[kernel.add]
symbol = "add(float *, float *, int)"
bytes = {hbm = 1.0e6}
grid = [1280]
[kernel.other]
symbol = "other(int)"
bytes = {hbm = 1.0e6}
grid = [1280]
[[thread]]
name = "main"
steps = [{repeat = 9, steps = [{launch = "add"}, {launch = "other"}]}, {sync = "device"}]
"""


def test_a_few_launches_of_the_kernels_that_matter_are_counted_behind_the_trace(
    program: Path, tmp_path: Path
) -> None:
    """ncu spells the parameters of a kernel in another way than CUPTI, for which it is `add(float*, float*, int)`."""
    workload = tmp_path / "sums.toml"
    workload.write_text(SUMS)
    done = run(program, tmp_path, "--deep", "--", str(program), "quick", FAKE_WORKLOAD=str(workload))
    assert done.returncode == 0, done.stderr
    assert "of 1 kernel with 100.0 % of the kernel time (add, launches 2, 3 of each)" in done.stderr
    trace = rocm_perf.load(tmp_path / "runs")
    assert trace.table("dispatches").filter(pass_id=1).height == 1000
    assert trace.table("dispatches")["kernel"].unique().to_list() == ["add(float*, float*, int)"]
    assert "equally often" not in done.stderr
    counted = trace.table("counters").filter(pl.col("counter") == "dram__bytes_read.sum")
    assert counted.height == 2

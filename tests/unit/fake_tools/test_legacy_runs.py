"""The stand-ins for rocprof and rocprofv2 run an application and write what rocm-perf reads back."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.ingest.load import load
from tests.fake_tools import fake_path, run_tool

pytestmark = pytest.mark.launches


def test_rocprof_traces(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprof"], FAKE_ROCM="6.2")
    script = 'echo "$@"; echo problem >&2; exit 7'
    line = ("--hip-trace", "--hsa-trace", "--roctx-trace", "-o", tmp_path / "r.csv")
    ran = run_tool(environment, "rocprof", *line, "sh", "-c", script, "sh", "--", "--weird")
    assert (ran.returncode, ran.stderr) == (7, "")  # the real script joins the two outputs
    assert "-- --weird\nproblem\n" in ran.stdout
    trace = load(tmp_path / "r.json")
    assert (trace.rows("dispatches"), trace.rows("copies"), trace.rows("ranges")) == (6, 2, 1)
    assert {"hip", "hsa"} <= set(trace.table("api_calls")["domain"])
    assert load(tmp_path / "r.csv").rows("dispatches") == 6
    assert load(tmp_path / "r.sysinfo.txt").table("agents")["agent_id"].to_list() == [0, 1, 2]
    assert {path.name for path in tmp_path.glob("r.*stats.csv")} == {
        f"r.{kind}.csv" for kind in ("stats", "hip_stats", "hsa_stats", "copy_stats")
    }


def test_rocprof_counts_each_line_in_a_run_of_its_own(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprof"], FAKE_ROCM="5.7")
    (tmp_path / "in.txt").write_text("pmc : SQ_WAVES GRBM_COUNT\npmc: TCC_HIT_sum\nkernel: gemm\n")
    ran = run_tool(environment, "rocprof", "-i", tmp_path / "in.txt", "sh", "-c", "echo run", cwd=tmp_path)
    assert (ran.returncode, ran.stdout.count("\nrun\n")) == (0, 1)
    assert ran.stdout.count("run\n") == 2
    counters = load(tmp_path / "in.csv").table("counters")
    assert (set(counters["counter"]), counters.height) == ({"SQ_WAVES", "GRBM_COUNT", "TCC_HIT_sum"}, 18)
    (tmp_path / "bad.txt").write_text("pmc: GRBM_COUNT GRBM_GUI_ACTIVE GRBM_SPI_BUSY\n")
    over = run_tool(environment, "rocprof", "-i", tmp_path / "bad.txt", "echo", "never", cwd=tmp_path)
    assert (over.returncode, "exceed" in over.stdout, "\nnever" in over.stdout) == (1, True, False)


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -11 $$", 139)]
)
def test_exit_codes_of_a_script_are_those_of_its_shell(tmp_path: Path, script: str, code: int) -> None:
    environment = fake_path(tmp_path, ["rocprof", "rocprofv2"], FAKE_FAULT="empty", FAKE_ROCM="6.2")
    for tool in ("rocprof", "rocprofv2"):
        assert run_tool(environment, tool, "--hip-trace", "sh", "-c", script, cwd=tmp_path).returncode == code


def test_rocprofv2_files(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv2"], FAKE_ROCM="5.7")
    line = ("--hip-trace", "--kernel-trace", "-d", tmp_path / "out")
    ran = run_tool(environment, "rocprofv2", *line, "sh", "-c", 'echo "$@"', "sh", "--", "-x")
    assert (ran.returncode, ran.stdout) == (0, "-- -x\n")
    (results,), (calls,) = ((tmp_path / "out").glob(f"{name}_*.csv") for name in ("results", "hip_api_trace"))
    assert load(results).rows("dispatches") == 6
    assert set(load(calls).table("api_calls")["domain"]) == {"hip"}


def test_rocprofv2_counts_prints_and_draws(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv2"], FAKE_ROCM="6.2")
    (tmp_path / "in.txt").write_text("pmc: SQ_WAVES\npmc: GRBM_COUNT\n")
    ran = run_tool(environment, "rocprofv2", "-i", tmp_path / "in.txt", "-d", tmp_path / "out", "true")
    assert ran.returncode == 0
    counters = load(tmp_path / "out").table("counters")
    assert (set(counters["counter"]), counters.height) == ({"SQ_WAVES", "GRBM_COUNT"}, 12)
    printed = run_tool(environment, "rocprofv2", "--kernel-trace", "true").stdout
    (tmp_path / "printed.txt").write_text(printed)
    assert load(tmp_path / "printed.txt").rows("dispatches") == 6
    line = ("--plugin", "perfetto", "--hip-trace", "--kernel-trace", "-o", "prof")
    assert run_tool(environment, "rocprofv2", *line, "true", cwd=tmp_path).returncode == 0
    trace = load(tmp_path / "prof_output.pftrace")
    assert (trace.rows("dispatches"), trace.rows("api_calls")) == (6, 0)  # kernels only with 6.2

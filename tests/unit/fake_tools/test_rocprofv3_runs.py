"""The stand-in for rocprofv3 runs an application and writes what rocm-perf reads back."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.ingest.load import load, load_path
from tests.fake_tools import fake_path, run_tool

pytestmark = pytest.mark.launches

APP = (
    "import os, sys; print(sys.argv[1:], sys.stdin.read()); print('to stderr', file=sys.stderr); "
    "sys.exit(int(os.environ.get('CODE', '0')))"
)
COUNTS = {"dispatches": 6, "copies": 2, "ranges": 1, "allocations": 2}
RANKS = """
[kernel.k]
duration_us = 10
[[thread]]
rank = 0
steps = [{repeat = 2, steps = [{launch = "k"}, {collective = "all_reduce", bytes = 1024}]}, {sync = "device"}]
[[thread]]
rank = 1
steps = [{repeat = 2, steps = [{launch = "k"}, {collective = "all_reduce", bytes = 1024}]}, {sync = "device"}]
"""


def _rows(path: Path) -> dict[str, int]:
    trace = load(path)
    return {name: trace.rows(name) for name in COUNTS}


def test_every_format_holds_the_same_run(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"])
    out = tmp_path / "out"
    line = ("-s", "--stats", "-f", "csv", "json", "pftrace", "rocpd", "-d", out)
    ran = run_tool(environment, "rocprofv3", *line, "--", "true", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "")
    (host,) = out.iterdir()
    pid = min(host.iterdir()).name.split("_")[0]
    assert host.name == os.uname().nodename
    assert pid.isdigit()
    database, document = host / f"{pid}_results.db", host / f"{pid}_results.json"
    assert _rows(database) == COUNTS
    assert _rows(document) == COUNTS
    assert _rows(host / f"{pid}_kernel_trace.csv")["dispatches"] == 6
    assert _rows(host / f"{pid}_memory_copy_trace.csv")["copies"] == 2
    assert load(host / f"{pid}_results.pftrace").rows("dispatches") == 6
    assert load(host / f"{pid}_kernel_stats.csv").rows("summaries") == 2
    trace = load(database)
    assert trace.table("dispatches")["pid"].unique().to_list() == [int(pid)]
    assert set(trace.table("api_calls")["domain"]) == {"hip", "hsa"}
    kernels = load(document).table("dispatches").select("kernel", "start_ns", "end_ns").rows()
    assert trace.table("dispatches").select("kernel", "start_ns", "end_ns").rows() == kernels


def test_the_application_is_left_alone(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"], CODE="7")
    arguments = ("a b", "--", "--weird", "-f", "*", "")
    command = ("rocprofv3", "--kernel-trace", "--", sys.executable, "-c", APP, *arguments)
    ran = run_tool(environment, *command, cwd=tmp_path, stdin="typed")
    assert ran.returncode == 7
    assert ran.stdout == f"{list(arguments)} typed\n"
    assert ran.stderr.startswith("to stderr\n")
    (database,) = tmp_path.glob(f"{os.uname().nodename}/*_results.db")  # rocpd is what 7.x writes unasked
    trace = load(database)
    assert (trace.rows("dispatches"), trace.rows("api_calls")) == (6, 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_passes_through(tmp_path: Path, number: signal.Signals) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"])
    ran = run_tool(
        environment,
        "rocprofv3",
        "--kernel-trace",
        "-d",
        tmp_path / "out",
        "--",
        "sh",
        "-c",
        f"kill -{int(number)} $$",
    )
    assert ran.returncode == -number
    assert (tmp_path / "out").exists() == (number != signal.SIGKILL)


def test_a_signal_to_the_tool_reaches_the_application(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"])
    application = "trap 'exit 9' TERM; touch up; while :; do sleep 0.02; done"
    script = f'rocprofv3 --kernel-trace -d out -- sh -c "{application}" & '
    script += "while [ ! -e up ]; do sleep 0.02; done; kill -TERM $!; wait $!; exit $?"
    assert run_tool(environment, "sh", "-c", script, cwd=tmp_path).returncode == 9


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_signal_while_the_application_is_started_reaches_it(moment: str) -> None:
    signalled = f"""
import os, signal, subprocess
from tests.fake_tools._fake.application import Application
start = subprocess.Popen
def signalled(*command, **options):
    if {moment!r} == "before": os.kill(os.getpid(), signal.SIGTERM)
    process = start(*command, **options)
    if {moment!r} == "after": os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = signalled
print(Application(["sleep", "300"]).wait())
"""
    done = run_tool(dict(os.environ), sys.executable, "-c", signalled, cwd=Path(__file__).parents[3])
    assert (done.returncode, done.stdout) == (0, "-15\n")


def test_the_releases_write_what_they_wrote(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"], FAKE_ROCM="6.4")
    ran = run_tool(environment, "rocprofv3", "-r", "-d", tmp_path, "-o", "x", "--", "true")
    assert ran.returncode == 0
    header = (tmp_path / "x_kernel_trace.csv").read_text().splitlines()[0]
    assert len(header.split(",")) == 18
    assert '"HIP_RUNTIME_API"' in (tmp_path / "x_hip_api_trace.csv").read_text()
    assert not list(tmp_path.glob("*.db"))
    assert not list(tmp_path.glob("*hsa*"))
    assert _rows(tmp_path / "x_kernel_trace.csv")["dispatches"] == 6
    assert run_tool(environment, "rocprofv3", "--", "true", FAKE_ROCM="5.7").returncode == 127


def test_lines_of_an_input_file_are_passes(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"])
    (tmp_path / "in.txt").write_text(
        "pmc: SQ_WAVES GRBM_GUI_ACTIVE\npmc: SQ_INSTS_VALU_MFMA_MOPS_F16 FETCH_SIZE\npmc: WRITE_SIZE\n"
    )
    out = tmp_path / "out"
    command = (
        "rocprofv3",
        "-i",
        tmp_path / "in.txt",
        "-f",
        "csv",
        "-d",
        out,
        "--",
        sys.executable,
        "-c",
        APP,
    )
    ran = run_tool(environment, *command)
    assert (ran.returncode, ran.stdout.count("[]")) == (0, 3)
    assert sorted(path.name for path in out.iterdir()) == ["pmc_1", "pmc_2", "pmc_3"]
    assert not list(out.rglob("*kernel_trace.csv"))
    counters = load(out).table("counters")
    assert counters.height == 6 * 5
    gemm = counters.filter(pl.col("dispatch_id") == 2)
    values = dict(gemm.select("counter", "value").iter_rows())
    assert values["SQ_WAVES"] == 1024 * 4  # 64 x 16 workgroups of 256 work-items
    assert 512 * values["SQ_INSTS_VALU_MFMA_MOPS_F16"] == 2147483648
    assert 1024 * (values["FETCH_SIZE"] + values["WRITE_SIZE"]) == pytest.approx(6291456, rel=1e-4)
    failed = run_tool(environment, *command, CODE="7")
    assert (failed.returncode, failed.stdout.count("[]")) == (1, 1)
    assert "returned non-zero exit status 7." in failed.stderr


def test_jobs_and_repeated_flags_are_passes_of_their_own(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"], FAKE_ROCM="7.13")
    (tmp_path / "in.json").write_text('{"jobs": [{"pmc": ["SQ_WAVES"], "kernel_include_regex": "gemm"}]}')
    line = ("--pmc", "GRBM_COUNT", "-i", tmp_path / "in.json", "-f", "csv", "-d", tmp_path / "out", "-o", "x")
    assert run_tool(environment, "rocprofv3", *line, "--", "true").returncode == 0
    counted = {
        path.parent.name: load(path).table("counters")
        for path in tmp_path.glob("out/*/x_counter_collection.csv")
    }
    assert {name: (set(table["counter"]), table.height) for name, table in counted.items()} == {
        "pass_1": ({"GRBM_COUNT"}, 3),  # the real script gives the flags' passes the first job's options
        "pass_2": ({"SQ_WAVES"}, 3),
    }


def test_unknown_counters_are_a_warning_and_too_many_an_abort(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"])
    out = tmp_path / "out"
    ran = run_tool(environment, "rocprofv3", "--pmc", "SQ_NOTHING", "-f", "csv", "-d", out, "--", "true")
    assert (ran.returncode, "Unable to find all counters" in ran.stderr) == (0, True)
    assert not list(out.rglob("*counter_collection.csv"))
    many = ("rocprofv3", "--pmc", "GRBM_COUNT", "GRBM_GUI_ACTIVE", "GRBM_SPI_BUSY", "--", "true")
    assert run_tool(environment, *many, cwd=tmp_path).returncode == -signal.SIGABRT
    stopped = run_tool(environment, *many, cwd=tmp_path, FAKE_ROCM="10.0")
    assert (stopped.returncode, "EXCEEDS_HW_LIMIT" in stopped.stderr) == (1, True)


def test_pc_sampling(tmp_path: Path) -> None:
    environment = fake_path(tmp_path, ["rocprofv3"])

    def sample(method: str, unit: str, interval: int, **variables: str) -> int:
        line = ["--pc-sampling-beta-enabled", "--pc-sampling-method", method, "--pc-sampling-unit", unit]
        line += ["--pc-sampling-interval", str(interval), "-f", "csv", "-d", str(tmp_path), "-o", method]
        return run_tool({**environment, **variables}, "rocprofv3", *line, "--", "true").returncode

    assert sample("stochastic", "cycles", 1 << 20) == 0
    assert sample("host_trap", "time", 1) == 0
    assert sample("stochastic", "cycles", 1000) == -signal.SIGABRT
    assert sample("stochastic", "time", 1024) == -signal.SIGABRT
    assert sample("host_trap", "cycles", 1024) == -signal.SIGABRT
    assert sample("stochastic", "cycles", 1 << 20, FAKE_GPU="gfx90a") == -signal.SIGABRT
    for method in ("stochastic", "host_trap"):
        samples = load(tmp_path / f"{method}_pc_sampling_{method}.csv").table("pc_samples")
        assert set(samples["dispatch_id"]) == set(range(1, 7))
        assert set(samples["method"]) == {method}


def test_one_set_of_files_a_process(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(RANKS)
    environment = fake_path(
        tmp_path, ["rocprofv3"], FAKE_WORKLOAD=str(tmp_path / "two.toml"), FAKE_GPU_COUNT="2"
    )
    line = ("--kernel-trace", "--rccl-trace", "-f", "rocpd", "-d", tmp_path / "all")
    assert run_tool(environment, "rocprofv3", *line, "--", "true").returncode == 0
    assert len(list((tmp_path / "all").rglob("*_results.db"))) == 2
    (run,) = load_path(tmp_path / "all")
    assert run.trace is not None
    assert run.trace.table("dispatches").group_by("pid").len()["len"].to_list() == [4, 4]
    own = (*line[:-1], tmp_path / "own", "-o", "rank%env{RANK}%")
    assert run_tool(environment, "rocprofv3", *own, "--", "true", RANK="1").returncode == 0
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["rank1_results.db"]
    assert load(tmp_path / "own" / "rank1_results.db").table("dispatches")["agent_id"].unique().to_list() == [
        3
    ]

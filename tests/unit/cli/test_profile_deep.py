"""`profile --deep`, and what short programs get without it: counters of the kernels that matter, behind the trace."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rocm_perf.cli.demo import workload_file
from rocm_perf.cli.main import main
from rocm_perf.collect.run.layout import read_record
from rocm_perf.ingest.load import load
from rocm_perf.model.collection import FILE_NAME, CollectionRecord
from tests.fake_tools import fake_path

RAN = "echo ran >> ran"  # what the program leaves each time that it runs


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.endswith("RANK") or name.startswith("SLURM_")]:
        monkeypatch.delenv(name)
    for name, value in fake_path(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(run: str) -> CollectionRecord:
    (file,) = Path(run).glob(f"*/*/{FILE_NAME}")
    found = read_record(file.parent)
    assert found is not None
    return found


def times_ran() -> int:
    return len(Path("ran").read_text().split())


@pytest.mark.launches
def test_trace_and_counters_are_one_recording_with_one_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "-o", "mine", "--deep", "--json", "--", "sh", "-c", RAN]) == 0
    said = capfd.readouterr()
    (document,) = json.loads(said.out)["runs"]
    assert document["label"] == str(Path("mine").absolute())
    done = record("mine")
    assert [run.purpose for run in done.passes] == ["trace", "counters", "counters", "counters"]
    assert times_ran() == 4
    assert done.deep is not None
    assert (done.deep.counters, done.deep.runs) == (("limits",), 3)
    assert [name.partition("(")[0] for name in done.deep.kernels] == ["saxpy", "void gemm<64, 64>"]
    assert done.deep.share == pytest.approx(1.0)
    assert done.deep.estimated_ns == 3 * (done.passes[0].wall_ns or 0)
    assert done.deep.measured_ns == sum(run.wall_ns or 0 for run in done.passes[1:])
    assert "--kernel-include-regex" in done.passes[1].argv
    assert done.passes[1].argv[done.passes[1].argv.index("--kernel-include-regex") + 1] == "saxpy|gemm"
    assert "of 2 kernels with 100.0 % of the kernel time (saxpy, gemm)" in said.err
    assert "the program runs 3 more times, about " in said.err
    assert "the counters took " in said.err
    trace = load(Path("mine"))
    assert (trace.rows("dispatches") > 0, trace.rows("counters") > 0) == (True, True)
    written = {path.name for path in Path("mine").glob("*.json")}
    assert written == {"profile.json", "roofline.json", "dag.json", "analysis.json"}


TWO_KERNELS = """
name = "two kernels"
[kernel.large]
symbol = "large(float*)"
bytes = {hbm = 1.0e9}
grid = [1280000]
[kernel.small]
symbol = "small(float*)"
bytes = {hbm = 1.0e5}
grid = [1280]
[[thread]]
name = "main"
steps = [{repeat = 5, steps = [{launch = "large"}, {launch = "small"}]}, {sync = "device"}]
"""


@pytest.mark.launches
def test_kernels_that_do_not_matter_are_not_counted_nor_missed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workload = tmp_path / "two.toml"
    workload.write_text(TWO_KERNELS)
    monkeypatch.setenv("FAKE_WORKLOAD", str(workload))
    assert main(["profile", "--deep", "-o", "mine", "--", "true"]) == 0
    assert "equally often" not in capfd.readouterr().err
    trace = load(Path("mine"))
    kernels = trace.table("dispatches").select("pass_id", "dispatch_id", "kernel")
    counted = trace.table("counters").join(kernels, on=["pass_id", "dispatch_id"])
    assert sorted(counted.select("pass_id", "kernel").unique().rows()) == [
        (2, "large(float*)"),
        (3, "large(float*)"),
        (4, "large(float*)"),
    ]


@pytest.mark.launches
def test_a_short_program_is_run_again_and_its_output_is_shown_once(capfd: pytest.CaptureFixture[str]) -> None:
    command = "echo to $(echo stdout); echo to $(echo stderr) >&2; " + RAN
    assert main(["profile", "-o", "mine", "--", "sh", "-c", command]) == 0
    said = capfd.readouterr()
    assert times_ran() == 4
    assert said.out.count("to stdout") == 1
    assert said.err.count("to stderr") == 1
    assert [run.purpose for run in record("mine").passes] == ["trace", "counters", "counters", "counters"]


@pytest.mark.launches
@pytest.mark.parametrize(
    ("options", "variables"),
    [
        (("--no-deep",), {}),
        (("--preset", "lightweight"), {}),
        (("--kernel-trace",), {}),
        (("--profiler", "rocprofv3"), {}),
        (("--duration", "100"), {}),
        (("--timeout", "500"), {}),
        (("--no-analyze",), {}),
        ((), {"RANK": "0", "WORLD_SIZE": "1"}),
        ((), {"FAKE_GPU": "gfx1151", "FAKE_ROCM": "7.0"}),
    ],
)
def test_where_more_was_said_or_counters_are_refused_it_runs_once(
    options: tuple[str, ...], variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["profile", *options, "-o", "mine", "--", "sh", "-c", RAN]) == 0
    assert times_ran() == 1
    assert record("mine").deep is None


@pytest.mark.launches
def test_a_program_that_fails_is_not_run_again() -> None:
    assert main(["profile", "--deep", "-o", "mine", "--", "sh", "-c", f"{RAN}; exit 3"]) == 3
    assert times_ran() == 1


@pytest.mark.launches
def test_a_program_that_cannot_run_twice_has_not_failed_where_nobody_asked_for_that() -> None:
    command = f"{RAN}; test $(wc -l < ran) = 1"
    assert main(["profile", "-o", "mine", "--", "sh", "-c", command]) == 0
    done = record("mine")
    assert (done.state, done.could_not, times_ran()) == ("done", (), 2)
    assert any("when it ran again" in notice for notice in done.notices)


@pytest.mark.launches
def test_counters_that_were_asked_for_and_cannot_be_had_are_missed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_GPU", "gfx1151")
    monkeypatch.setenv("FAKE_ROCM", "7.0")
    assert main(["profile", "--deep", "-o", "mine", "--", "sh", "-c", RAN]) == 4
    assert "no counters of the kernels that matter: counters: " in capfd.readouterr().err
    assert times_ran() == 1


def test_the_plan_says_what_may_follow(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--dry-run", "--", "true"]) == 0
    out = capfd.readouterr().out
    assert "afterwards, if that takes less than a minute: counters (the set limits)" in out
    assert "the program runs 3 more times" in out
    assert "--no-deep leaves that out" in out
    assert main(["profile", "--dry-run", "--no-deep", "--", "true"]) == 0
    assert "afterwards" not in capfd.readouterr().out
    assert main(["profile", "--dry-run", "--deep", "--json", "--", "true"]) == 0
    assert json.loads(capfd.readouterr().out)["afterwards"].endswith("; the program runs 3 more times")
    assert main(["profile", "--dry-run", "--", "torchrun", "x.py"]) in (0, 2)
    assert "afterwards" not in capfd.readouterr().out


def test_a_simulated_gpu_obeys_too() -> None:
    softmax = str(workload_file("softmax"))
    assert (
        main(["profile", "--device", "sim:MI300X", "-d", "runs", "--deep", "--no-analyze", "--", softmax])
        == 0
    )
    deep = load(Path("runs/softmax-1"))
    counted = set(deep.table("counters")["counter"])
    assert {"SQ_VALU_MFMA_BUSY_CYCLES", "SQ_INSTS_VALU_ADD_F64"} <= counted
    light = ["--preset", "lightweight", "-o", "light", "--no-analyze"]
    copying = str(workload_file("copy_in_loop"))
    assert main(["profile", "--device", "sim:MI300X", *light, "--", copying]) == 0
    trace = load(Path("light"))
    assert (trace.has("dispatches"), trace.has("api_calls")) == (True, True)
    assert not trace.has("copies")
    assert main(["profile", "--device", "sim:MI300X", "--preset", "att", "--", copying]) == 2

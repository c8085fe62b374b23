"""Folders as the tools lay them out, rebuilt from recorded specimens: each is one run, and nothing counts twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rocm_perf.errors import SeveralRunsError
from rocm_perf.ingest.load import load


def lay_out(specimens: Path, pattern: str, target: Path, prefix: str) -> None:
    """Copy specimens to the names that the tool gave them."""
    for file in specimens.glob(pattern):
        name = file.name.removeprefix(prefix).replace("__", "/")
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)


@pytest.mark.parametrize(("gpu", "counters"), [("MI350", 795), ("MI100", 708)])
def test_a_rocprof_compute_workload_is_one_run(
    specimens: Path, tmp_path: Path, gpu: str, counters: int
) -> None:
    prefix = f"ROCm_rocm-systems__vcopy_{gpu}_"
    lay_out(specimens, f"rocprof_compute/{prefix}*", tmp_path, prefix)
    trace = load(tmp_path)
    by_pass = dict(trace.table("dispatches")["pass_id"].value_counts().iter_rows())
    assert set(by_pass.values()) == {3}
    largest = trace.table("counters")["pass_id"].value_counts()["count"].max()
    assert largest == counters
    assert trace.run.command is not None
    assert "vcopy" in trace.run.command


def test_a_thread_trace_folder_counts_each_wave_and_instruction_once(specimens: Path, tmp_path: Path) -> None:
    prefix = "iree-org_wave__wave__"
    lay_out(specimens, f"att/{prefix}*", tmp_path, prefix)
    trace = load(tmp_path)
    assert (trace.rows("waves"), trace.rows("instructions")) == (256, 285)
    assert trace.table("waves")["instructions"].count() == 16
    assert not trace.run.losses
    assert any(".att" in notice for notice in trace.run.notices)


def test_a_rocprof_v1_folder_is_one_process(specimens: Path, tmp_path: Path) -> None:
    prefix = "HazyResearch_HipKittens__basic_col_"
    lay_out(specimens, f"rocprof_v1/{prefix}*", tmp_path, prefix)
    trace = load(tmp_path)
    assert (trace.rows("dispatches"), trace.rows("api_calls"), trace.rows("copies")) == (11, 1943, 44)
    assert trace.rows("agents") == 3


def test_rocprofv3_csv_of_one_process(specimens: Path, tmp_path: Path) -> None:
    prefix = "iree-org_wave__"
    lay_out(specimens, f"rocprofv3_csv/{prefix}*", tmp_path / "host-1", prefix)
    trace = load(tmp_path)
    assert trace.rows("dispatches") == 1040
    assert trace.table("dispatches")["pid"].unique().to_list() == [3785403]
    assert trace.run.hosts == ("host-1",)
    gpus = trace.table("agents").filter(trace.table("agents")["kind"] == "GPU")
    assert set(gpus["gfx"]) == {"gfx950"}


def test_everything_at_once_is_many_runs_and_says_so(specimens: Path) -> None:
    from rocm_perf.errors import UsageError

    with pytest.raises(UsageError, match="runs, not one"):
        load(specimens / "rocprofv3_csv")


@pytest.mark.parametrize(
    ("mixture", "runs"),
    [
        (
            "rocpd/JoursBleu_llama* rpd/iree-org_wave__cool* rocprofv3_csv/csc-training* "
            "rocprof_v1/hpcgarage_spatter__r*.gz rocprof_v2/*hip_vectoradd* torch_trace/*torch_compile_triton*",
            6,
        ),
        ("torch_trace/AMD-AGI* torch_trace/ROCm_aorta* torch_trace/amd_HPC*", 10),
        ("rocprofv3_csv/jimw567*kernel_trace* rocprofv3_json/AMD-AGI*", 2),
        ("rocprof_compute/*vcopy_MI100_* rocprof_compute/*vcopy_MI300A_* torch_trace/*simple_add*", 3),
    ],
)
def test_unrelated_recordings_in_a_folder_are_never_one_run(
    specimens: Path, tmp_path: Path, mixture: str, runs: int
) -> None:
    for pattern in mixture.split():
        for file in specimens.glob(pattern):
            (tmp_path / file.name).symlink_to(file)
    with pytest.raises(SeveralRunsError) as caught:
        load(tmp_path)
    assert len(caught.value.runs) == runs
    assert f"holds {runs} runs" in str(caught.value)


def test_a_trace_and_its_counter_files_stay_one_run(specimens: Path, tmp_path: Path) -> None:
    for file in specimens.glob("rocprofv3_csv/jimw567*"):
        (tmp_path / file.name).symlink_to(file)
    assert load(tmp_path).table("dispatches")["pass_id"].n_unique() == 3

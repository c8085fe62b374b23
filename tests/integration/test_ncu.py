"""Recordings of Nsight Compute from an H200: alone, and beside a trace of the same program."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.analysis.overview import overview
from rocm_perf.ingest.load import load, load_files
from rocm_perf.model.run import LENGTHS
from rocm_perf.model.trace import Trace

H200 = Path(__file__).parents[1] / "data" / "h200"


def _unpacked(name: str, folder: Path) -> Path:
    file = folder / Path(name).stem
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lzma.decompress((H200 / name).read_bytes()))
    return file


@pytest.mark.parametrize(
    ("name", "kernels", "total_ns", "counters"),
    [
        ("limits/ncu_raw.csv.xz", (84, 75), 85_889_056, 120_000),
        ("limits/ncu_details.csv.xz", (84, 75), 85_860_460, 6_900),
        ("limits/ncu_triton_raw.csv.xz", (10, 5), 7_297_280, 14_000),
    ],
)
def test_kernels_have_the_times_that_ncu_measured(
    tmp_path: Path, name: str, kernels: tuple[int, int], total_ns: int, counters: int
) -> None:
    trace = load(_unpacked(name, tmp_path))
    table = trace.table("dispatches")
    assert (table.height, table["kernel"].n_unique()) == kernels
    assert trace.run.clock == LENGTHS
    assert table.select((pl.col("end_ns") - pl.col("start_ns")).sum()).item() == pytest.approx(
        total_ns, abs=1
    )
    assert table["start_ns"].to_list()[1:] == table["end_ns"].to_list()[:-1]
    assert trace.rows("counters") > counters


def test_nothing_is_said_of_when_kernels_ran(tmp_path: Path) -> None:
    document = overview(load(_unpacked("limits/ncu_triton_raw.csv.xz", tmp_path)), "ncu")
    why = "the profiler recorded how long each kernel took, not when it ran"
    assert [row.short_name for row in document.hotspots.rows][:3] == ["inverted", "totals", "softmax_rows"]
    assert document.gaps.doubt == why
    assert document.path.missing == (why,)
    assert document.step_breakdown.unavailable == why
    assert not document.path.links
    assert {finding.kind for finding in document.findings} & {"host-bound", "idle", "startup"} == set()


def _joined(trace: Trace) -> pl.DataFrame:
    """How often each kernel was recorded with and without a time."""
    return (
        trace.table("dispatches")
        .group_by("kernel")
        .agg(timed=pl.col("start_ns").count(), counted=pl.col("start_ns").null_count())
    )


@pytest.mark.parametrize("together", [True, False], ids=["one folder", "two paths"])
def test_a_trace_and_counters_of_the_same_program_are_one_answer(tmp_path: Path, together: bool) -> None:
    counters = _unpacked("two_tools/ncu.csv.xz", tmp_path / "counters")
    folder = counters.parent if together else tmp_path / "trace"
    folder.mkdir(exist_ok=True)
    recorded = Path(shutil.copy(H200 / "two_tools" / "torch.pt.trace.json.gz", folder))
    trace = load(folder) if together else load_files([recorded, counters])[0].trace
    assert trace is not None
    rows = _joined(trace)
    assert rows.height == 30
    assert rows.filter(pl.col("timed") != pl.col("counted")).is_empty()
    assert trace.run.clock == "epoch"
    document = overview(trace, "both")
    first = document.hotspots.rows[0]
    rates = [
        row.value for row in document.metrics.rows if (row.kernel, row.metric) == (first.kernel, "dram_gbps")
    ]
    assert first.total_ns == 342_847
    assert rates == [pytest.approx(104.8, abs=0.1)]


def test_counters_of_another_program_stay_apart(tmp_path: Path) -> None:
    counters = _unpacked("limits/ncu_triton_raw.csv.xz", tmp_path)
    recorded = Path(shutil.copy(H200 / "two_tools" / "torch.pt.trace.json.gz", tmp_path / "trace.json.gz"))
    runs = load_files([recorded, counters])
    assert [run.trace.run.clock for run in runs if run.trace] == ["epoch", LENGTHS]

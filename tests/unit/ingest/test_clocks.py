"""Times so far apart that they are of two clocks, and could not be added up."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from rocm_perf.cli.main import main
from rocm_perf.ingest.clocks import on_one_clock
from rocm_perf.ingest.load import load
from rocm_perf.model import schema

EPOCH = 1_800_000_000_000_000_000
HEADER = (
    "Kind,Agent_Id,Queue_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,"
    "Start_Timestamp,End_Timestamp"
)


def _kernels(gpus: int, starts: list[int]) -> dict[str, pl.DataFrame]:
    rows = [
        {"kernel": "k", "agent_id": gpu, "start_ns": start, "end_ns": start + 5}
        for gpu in range(gpus)
        for start in starts
    ]
    return {"dispatches": schema.conform("dispatches", pl.DataFrame(rows))}


def _recording(path: Path, spans: list[tuple[int, int]], gpus: int = 1) -> Path:
    rows = [
        f"KERNEL_DISPATCH,Agent {gpu + 1},1,1,{number},1,k{number % 3},{number},{start},{end}"
        for gpu in range(gpus)
        for number, (start, end) in enumerate(spans)
    ]
    path.write_text("\n".join([HEADER, *rows, ""]))
    return path


def test_two_clocks_of_two_gpus_stay() -> None:
    tables = _kernels(2, [0, EPOCH])
    assert on_one_clock(tables, "x") == (tables, [])


@pytest.mark.parametrize("starts", [[0, EPOCH, EPOCH + 10], [0, 10, EPOCH], [0, EPOCH]])
def test_of_many_gpus_the_clock_of_most_is_used(starts: list[int]) -> None:
    kept, losses = on_one_clock(_kernels(8, starts), "x")
    times = kept["dispatches"]["start_ns"].drop_nulls()
    assert len(times) == 8 * max(1, len(starts) - 1)
    assert times.max() - times.min() <= 10  # type: ignore[operator]
    assert [loss.records for loss in losses] == [8]


def test_the_clocks_of_two_nodes_are_their_own() -> None:
    frame = _kernels(8, [0, 10])["dispatches"]
    other = frame.with_columns(pl.col("start_ns", "end_ns") + EPOCH, node=pl.lit(1, pl.Int32))
    tables = {"dispatches": pl.concat([frame, other])}
    assert on_one_clock(tables, "x")[1] == []


@pytest.mark.parametrize(
    ("spans", "gpus"),
    [
        ([(i * 5 * 10**17, i * 5 * 10**17 + 5) for i in range(9)], 1),
        ([(i * 5 * 10**17, i * 5 * 10**17 + 5) for i in range(9)], 40),
        ([(0, 10), (4_500_000_000_000_000_000, 4_500_000_000_000_000_010)], 3),
        ([(0, 5 * 10**18)] * 3, 1),
        ([(-(1 << 63), 2000), (3000, 4000)], 1),
        ([(0, (1 << 63) - 1), (-(1 << 63), 0)], 1),
        ([(0, 1 << 54)] * 300, 2),
    ],
)
@pytest.mark.whole
def test_any_times_give_an_answer(
    spans: list[tuple[int, int]], gpus: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(_recording(tmp_path / "x_kernel_trace.csv", spans, gpus))
    assert main(["analyze", path, "--show", "all"]) == 0
    capsys.readouterr()
    assert main(["analyze", path, "--json"]) == 0
    gaps = json.loads(capsys.readouterr().out)["runs"][0]["gaps"]
    assert gaps["idle_ns"] >= 0
    assert all(each["total_ns"] >= 0 for each in gaps["histogram"])


def test_a_kernel_from_the_beginning_of_time_is_a_loss(tmp_path: Path) -> None:
    trace = load(_recording(tmp_path / "x_kernel_trace.csv", [(-(1 << 63), 2000), (3000, 4000)]))
    assert trace.table("dispatches").select("start_ns", "end_ns").rows() == [(None, None), (3000, 4000)]
    assert [(loss.what, loss.records) for loss in trace.run.losses] == [
        ("start_ns of dispatches that nothing could have recorded", 1)
    ]


def test_an_absurd_sum_in_a_stats_file_is_a_loss(tmp_path: Path) -> None:
    path = tmp_path / "x_kernel_stats.csv"
    rows = [
        "Name,Calls,TotalDurationNs,AverageNs,Percentage",
        "k,2,1e308,5,50",
        "j,2,1e308,5,50",
        "l,2,10,5,9",
    ]
    path.write_text("\n".join([*rows, ""]))
    assert main(["analyze", str(path)]) == 0
    trace = load(path)
    assert trace.table("summaries")["total_ns"].to_list() == [None, None, 10.0]
    assert [loss.records for loss in trace.run.losses] == [2]

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

from rocm_perf.errors import EmptyCaptureError, UsageError
from rocm_perf.ingest.load import load
from rocm_perf.model import schema
from rocm_perf.model.trace import Trace
from rocm_perf.render.formats import samples_csv
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import Workload
from tests.properties import examples
from tests.sim.strategies import workloads


def _trace(rows: list[tuple[int, int, str, float]]) -> Trace:
    samples = pl.DataFrame(rows, ["time_ns", "agent_id", "metric", "value"], orient="row")
    agents = pl.DataFrame(
        {"agent_id": [4, 5], "kind": ["GPU"] * 2, "logical_index": [0, 1], "memory_bytes": [1 << 30] * 2}
    )
    tables = {"samples": samples, "agents": agents}
    return Trace({name: schema.conform(name, frame) for name, frame in tables.items()})


def test_power_is_written_as_madengine_writes_it(tmp_path: Path) -> None:
    trace = _trace(
        [(5_000_123, 5, "power_w", 99.0), (1_500, 4, "power_w", 120.5), (1_500, 5, "power_w", 1e-7)]
    )
    samples_csv.write_power(trace, tmp_path / "p.csv", epoch_ns=1_740_823_200 * 10**9)
    assert (tmp_path / "p.csv").read_bytes() == (
        b"time,Power(Watt) GPU0,Power(Watt) GPU1\r\n"
        b"2025-03-01 10:00:00.000001,120.5,0.0000001\r\n"
        b"2025-03-01 10:00:00.005000,,99.0\r\n"
    )


def test_memory_is_a_share(tmp_path: Path) -> None:
    trace = _trace([(1000, 4, "vram_used_bytes", float(1 << 28)), (1000, 5, "vram_percent", 12.5)])
    samples_csv.write_vram(trace, tmp_path / "v.csv")
    assert (tmp_path / "v.csv").read_text().splitlines() == [
        "time,vram(%) GPU0,vram(%) GPU1",
        "1970-01-01 00:00:00.000001,25.0,12.5",
    ]


def test_nothing_is_written_where_there_is_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="vram"):
        samples_csv.write_vram(_trace([(1, 4, "power_w", 1.0)]), tmp_path / "v.csv")
    assert not list(tmp_path.iterdir())


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    trace = _trace([(1, 4, "power_w", 1.0)])
    samples_csv.write_power(trace, tmp_path / "p.csv")
    with pytest.raises(UsageError, match="exists"):
        samples_csv.write_power(trace, tmp_path / "p.csv")
    samples_csv.write_power(trace, tmp_path / "p.csv", overwrite=True)


@examples(times=0.3)
@given(workload=workloads())
def test_round_trip(workload: Workload) -> None:
    """GPUs come back under their number among the GPUs, and times to the microsecond: that is all there is."""
    trace = record(simulate(workload, find_gpu("sim:MI300X")))
    with tempfile.TemporaryDirectory() as folder:
        for metric, write in (
            ("power_w", samples_csv.write_power),
            ("vram_used_bytes", samples_csv.write_vram),
        ):
            path = Path(folder) / f"{metric}.csv"
            write(trace, path)
            _compare(trace, load(path), metric)


def _compare(trace: Trace, back: Trace, metric: str) -> None:
    agents = trace.table("agents").select("agent_id", "logical_index", "memory_bytes")
    said = trace.table("samples").filter(metric=metric).join(agents, on="agent_id")
    share = 100 * pl.col("value") / pl.col("memory_bytes") if metric == "vram_used_bytes" else pl.col("value")
    microseconds = pl.col("time_ns") // 1000 * 1000
    expected = said.select(
        microseconds.alias("time_ns"), pl.col("logical_index").alias("agent_id"), share.alias("value")
    )
    key = ["time_ns", "agent_id"]
    assert back.table("samples").select(expected.columns).sort(key).rows() == expected.sort(key).rows()

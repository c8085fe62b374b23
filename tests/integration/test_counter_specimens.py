"""Metrics of real recordings: within physical bounds, and equal to what is computed by hand from the file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import polars as pl
import pytest

from rocm_perf.arch.catalog import find_gpu
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.metrics import MetricTable, by_kernel, evaluate, quantity
from tests.recordings import recording

COMPUTE = "rocprof_compute/ROCm_rocm-systems__"
RADEON_8060S = "rocprofv3_csv/jimw567_rocprof-unified-viewer__"
RX_9070_XT = "rocprofv3_csv/doplxyz_rdna4-gfx1201-tooling-verification__gl2c_724_profstd_"
# As sysinfo.csv beside the recording states it.
MI308X = msgspec.structs.replace(
    find_gpu("MI300X"), name="MI308X", compute_units=80, dies=4, l2_channels=64, clock_mhz=1420.0
)

SPECIMENS = {
    f"{COMPUTE}vcopy_MI300X_A1_rocpd_pmc_perf.csv.gz": find_gpu("MI300X"),
    f"{COMPUTE}vcopy_MI300X_A1_SQ_LEVEL_WAVES.csv": find_gpu("MI300X"),
    f"{COMPUTE}vcopy_MI300A_A1_SQ_LEVEL_WAVES.csv": find_gpu("MI300A"),
    "rocprof_compute/AMDResearch_intellikit__bank_conflict_pmc_perf.csv": find_gpu("MI300X"),
    "rocprof_compute/ROCm_roc-optiq__optiq_pmc_perf.csv": MI308X,
    "rocprofv3_csv/amd_HPCTrainingExamples__readme_sw0_1_counter_collection.csv": find_gpu("MI300A"),
    f"{COMPUTE}vcopy_MI350_pmc_perf.csv": find_gpu("MI350X"),
    "rocprofv3_csv/HazyResearch_HipKittens__attn_BHND_mi350x_lds_conflict_counter_collection.csv": find_gpu("MI350X"),
    "rocprofv3_csv/HazyResearch_HipKittens__ds_read_b128_bank_test_counter_collection.csv": find_gpu("MI350X"),
    f"{COMPUTE}vcopy_MI200_SQ_LEVEL_WAVES.csv": find_gpu("MI210"),
    f"{COMPUTE}vcopy_MI100_pmc_perf.csv": find_gpu("MI100"),
    f"{RADEON_8060S}decode_stall_counter_collection.csv": find_gpu("Radeon 8060S"),
    f"{RADEON_8060S}decode_fetch_counter_collection.csv": find_gpu("Radeon 8060S"),
    f"{RX_9070_XT}ea_rd_counter_collection.csv": find_gpu("RX 9070 XT"),
    f"{RX_9070_XT}derived_counter_collection.csv": find_gpu("RX 9070 XT"),
    f"{RX_9070_XT}sanity_counter_collection.csv": find_gpu("RX 9070 XT"),
}  # fmt: skip
SHARES = ("_rate", "_share", "_utilisation", "_busy", "achieved_occupancy", "occupancy_limit", "coalescing")


def measured(specimens: Path, name: str, gpu: Gpu | None = None) -> MetricTable:
    trace = recording(specimens / name)
    return evaluate(trace.table("counters"), trace.table("dispatches"), gpu or SPECIMENS[name])


def value(table: MetricTable, metric: str, dispatch: int) -> float:
    wanted = (pl.col("metric") == metric) & (pl.col("dispatch_id") == dispatch)
    found: float = table.rows.filter(wanted)["value"].item()
    return found


@pytest.mark.parametrize(("name", "gpu"), SPECIMENS.items(), ids=[Path(name).name for name in SPECIMENS])
def test_nothing_breaks_a_bound_unseen(specimens: Path, name: str, gpu: Gpu) -> None:
    broken = 0
    for row in measured(specimens, name, gpu).rows.iter_rows(named=True):
        assert row["value"] >= 0
        if row["metric"] != "lds_conflict_rate" and any(part in row["metric"] for part in SHARES):
            assert row["value"] <= 1, row
        if row["metric"].startswith(("unit_", "working_")):
            continue  # made of the same bytes, and doubted with them
        above = row["unit"] == "GB/s" and row["metric"] != "l2_gbps" and row["value"] > gpu.memory_gbps
        assert above == ("above" in (row["doubt"] or "")), row
        broken += above
    # One small kernel, on the GPU whose bytes are in doubt anyway.
    assert broken == (1 if "decode_fetch" in name else 0)


def test_gfx942_copy_of_8_mib(specimens: Path) -> None:
    """Dispatch 1 of an MI300X: 8,653 ns, 65,536 reads of 128 B among 65,757, 131,072 writes of 64 B."""
    table = measured(specimens, f"{COMPUTE}vcopy_MI300X_A1_rocpd_pmc_perf.csv.gz")
    read, written = 65_536 * 128 + 221 * 64, 131_072 * 64
    assert value(table, "dram_read_bytes", 1) == read == 8_402_752
    assert value(table, "dram_write_bytes", 1) == written == 8 << 20
    assert value(table, "dram_gbps", 1) == pytest.approx((read + written) / 8653)
    assert value(table, "l2_hit_rate", 1) == pytest.approx(68_496 / (68_496 + 131_200))
    assert value(table, "l2_bytes", 1) == 2 * (8 << 20)
    # The sum over 8 dies is 272,355 cycles: 34,044 on each.
    assert value(table, "l2_utilisation", 1) == pytest.approx(1_642_377 / 128 / 34_044.375)
    assert value(table, "achieved_occupancy", 1) == pytest.approx(4 * 17_326_471 / 34_044.375 / 304 / 32)
    assert value(table, "flops", 1) == 0


def test_gfx942_occupancy_is_the_same_from_waves_and_from_their_accumulated_level(specimens: Path) -> None:
    """Dispatch 1: SQ_LEVEL_WAVES_ACCUM 70,105,724 counts the same waves as 4 x SQ_WAVE_CYCLES, in another run."""
    table = measured(specimens, f"{COMPUTE}vcopy_MI300X_A1_rocpd_pmc_perf.csv.gz")
    accumulated = 70_105_724 / 34_044.375 / 304 / 32
    assert value(table, "achieved_occupancy", 1) == pytest.approx(accumulated, rel=0.02)


def test_gfx942_every_access_in_one_bank(specimens: Path) -> None:
    """A transpose whose 64 lanes hit one bank: 31 of 32 cycles of half of its LDS instructions are conflicts."""
    table = measured(specimens, "rocprof_compute/AMDResearch_intellikit__bank_conflict_pmc_perf.csv")
    assert value(table, "lds_conflict_rate", 1) == 1_015_808 / (1_081_344 - 1_015_808) == 15.5
    assert value(table, "lds_conflict_cycles", 1) == 1_015_808 / 32_768 == 31
    # 1,048,576 floats go through the LDS twice
    assert value(table, "lds_bytes", 1) == 2 * 4 * 1_048_576
    assert value(table, "coalescing", 1) == 1


def test_gfx942_flops_of_a_real_application(specimens: Path) -> None:
    """Dispatch 1 has 32,768 FMAs, 2,048 MULs and 2,048 TRANSs of f32, of 64 lanes each."""
    table = measured(specimens, "rocprof_compute/ROCm_roc-optiq__optiq_pmc_perf.csv")
    rows = table.rows.filter(pl.col("metric") == "vector_f32_flops").sort("dispatch_id")
    assert rows["value"][1] == 64 * (2 * 32_768 + 2_048 + 2_048)


def test_gfx950_reads_need_the_counter_of_128_byte_requests(specimens: Path) -> None:
    """The same copy: 65,640 requests for 8 MiB, so 128 B each, while TCC_BUBBLE stays 0 and 64 B would be assumed."""
    table = measured(specimens, f"{COMPUTE}vcopy_MI350_pmc_perf.csv")
    assert value(table, "dram_write_bytes", 0) == 131_072 * 64
    assert value(table, "dram_write_gbps", 0) == pytest.approx(131_072 * 64 / 21_762)
    assert value(table, "l2_hit_rate", 0) == pytest.approx(66_864 / (66_864 + 131_138))
    assert "TCC_EA0_RDREQ_128B_sum" in table.unavailable["dram_read_bytes"]


def test_gfx950_conflicts_of_attention(specimens: Path) -> None:
    """40 dispatches of _attn_fwd, each with the same counts."""
    name = "rocprofv3_csv/HazyResearch_HipKittens__attn_BHND_mi350x_lds_conflict_counter_collection.csv"
    kernels = by_kernel(measured(specimens, name)).filter(pl.col("kernel") == "_attn_fwd")
    assert kernels["dispatches"].to_list() == [40]
    assert kernels["value"].item() == pytest.approx(0.515091, abs=1e-6)


def test_gfx1201_read_of_256_mib(specimens: Path) -> None:
    """1,048,578 requests in 608,127 ns; the counters by size are 0, and so is FETCH_SIZE in another run."""
    table = measured(specimens, f"{RX_9070_XT}ea_rd_counter_collection.csv")
    assert value(table, "dram_read_bytes", 2) == 1_048_578 * 256 == (256 << 20) + 512
    assert value(table, "dram_read_gbps", 2) == pytest.approx(1_048_578 * 256 / 608_127)
    derived = measured(specimens, f"{RX_9070_XT}derived_counter_collection.csv")
    assert not quantity(derived, "dram_read_bytes").known


def test_gfx1151_bytes_are_computed_and_doubted(specimens: Path) -> None:
    """Dispatch 167: FETCH_SIZE 14,136.8125 KiB in 166,525 ns."""
    table = measured(specimens, f"{RADEON_8060S}decode_fetch_counter_collection.csv")
    assert value(table, "dram_read_bytes", 167) == 14_136.8125 * 1024
    assert value(table, "dram_read_gbps", 167) == pytest.approx(14_136.8125 * 1024 / 166_525)
    assert all("not validated: FETCH_SIZE" in doubt for doubt in table.rows["doubt"])


def test_gfx1151_recorded_ratios(specimens: Path) -> None:
    """Dispatch 167: OccupancyPercent 80.008474, L2CacheHit 10.964496, 8,192 waves."""
    table = measured(specimens, f"{RADEON_8060S}decode_stall_counter_collection.csv")
    assert value(table, "achieved_occupancy", 167) == pytest.approx(0.80008474)
    assert value(table, "l2_hit_rate", 167) == pytest.approx(0.10964496)
    assert value(table, "waves", 167) == 8192


def test_dies_that_are_forgotten_break_no_bound_but_the_clock_tells(specimens: Path) -> None:
    """With the sum over dies taken for one die's cycles, the GPU would have run at 31 GHz."""
    trace = recording(specimens / f"{COMPUTE}vcopy_MI300X_A1_rocpd_pmc_perf.csv.gz")
    cycles = trace.table("counters").filter(pl.col("counter") == "GRBM_GUI_ACTIVE")["value"][0]
    assert cycles / 8653 > 30
    assert cycles / 8 / 8653 < 4


def test_h200_recorded_by_nsight_compute() -> None:
    """vector_add: 134,227,968 B read and 54,898,688 B written in 59,744 ns."""
    trace = recording(Path(__file__).parents[1] / "data" / "h200" / "ncu_metrics.csv")
    table = evaluate(trace.table("counters"), trace.table("dispatches"), find_gpu("H200 SXM"))
    assert value(table, "dram_gbps", 0) == pytest.approx((134_227_968 + 54_898_688) / 59_744)
    assert value(table, "l2_hit_rate", 0) == pytest.approx(0.3344)
    assert value(table, "achieved_occupancy", 0) == pytest.approx(0.7465)
    assert table.rows["doubt"].null_count() == table.rows.height
    assert "op_ffma_pred_on.sum" in table.unavailable["vector_f32_flops"]

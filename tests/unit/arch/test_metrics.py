"""What metrics are computed from, and every way in which one must refuse or doubt."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.arch.catalog import find_gpu
from rocm_perf.arch.metric_data import metrics
from rocm_perf.arch.metric_recipes import recipes
from rocm_perf.arch.metrics import MetricTable, by_kernel, evaluate, metrics_of, quantity
from rocm_perf.errors import UsageError

from .counted import flop_counters, one, recording, table

MI300X = find_gpu("MI300X")  # 304 CUs, 8 dies, 128 L2 channels
MI355X = find_gpu("MI355X")
MI210 = find_gpu("MI210")
MI100 = find_gpu("MI100")
MI60 = find_gpu("MI60")
RX7900 = find_gpu("RX 7900 XTX")  # 96 CUs
STRIX = find_gpu("Radeon 8060S")
RX9070 = find_gpu("RX 9070 XT")
H200 = find_gpu("H200 SXM")

G = {"GRBM_GUI_ACTIVE": 800}  # 100 cycles on each of 8 dies


# --- errors of other tools that must not come back


def test_instructions_are_not_flops() -> None:
    for gfx in ("gfx90a", "gfx942", "gfx950"):
        inputs = {name for recipe in recipes(gfx, "flops") for name in recipe.counters}
        assert not inputs & {"SQ_INSTS_VALU", "SQ_INSTS_VALU_MFMA_MOPS_I8", "SQ_INSTS_VALU_INT32"}


def test_no_formula_uses_a_counter_that_does_not_exist() -> None:
    text = " ".join(formula.expression for metric in metrics().values() for formula in metric.formulas)
    assert "TCC_EA0_WRREQ_32B" not in text


def test_each_dispatch_is_divided_by_its_own_time() -> None:
    results = table(MI300X, {"FETCH_SIZE": 1000}, kernels=("k", "k"), duration_ns=[1000, 2000])
    rates = results.rows.filter(pl.col("metric") == "dram_read_gbps")["value"].to_list()
    assert rates == [1024, 512]
    assert quantity(results, "dram_read_gbps").value == pytest.approx(2 * 1_024_000 / 3000)


def test_active_cycles_are_divided_by_the_dies() -> None:
    counters = {"TCC_BUSY_sum": 6400, **G}
    assert one(MI300X, "l2_utilisation", counters).value == pytest.approx(0.5)
    alone = msgspec.structs.replace(MI300X, dies=1)
    assert one(alone, "l2_utilisation", counters).value == pytest.approx(0.0625)


def test_fetch_size_of_gfx1201_is_always_zero_and_not_believed() -> None:
    metric = one(RX9070, "dram_read_bytes", {"FETCH_SIZE": 0})
    assert metric.unavailable == "needs GL2C_EA_RDREQ_sum (no pass recorded any of its inputs)"


def test_gfx950_does_not_count_128_byte_reads_as_64() -> None:
    old = {"TCC_BUBBLE_sum": 0, "TCC_EA0_RDREQ_sum": 100, "TCC_EA0_RDREQ_32B_sum": 0}
    assert "TCC_EA0_RDREQ_128B_sum" in (one(MI355X, "dram_read_bytes", old).unavailable or "")
    assert "half of the bytes" in (one(MI355X, "dram_read_bytes", {"FETCH_SIZE": 4}).doubt or "")
    assert one(MI300X, "dram_read_bytes", {"FETCH_SIZE": 4}).doubt is None


def test_gfx1151_bytes_are_not_validated() -> None:
    assert "not validated" in (one(STRIX, "dram_read_gbps", {"FETCH_SIZE": 4}).doubt or "")


def test_an_accumulator_without_its_level_says_nothing_about_waves() -> None:
    lone = {"SQ_ACCUM_PREV_HIRES": 486_400, **G}
    assert not one(MI300X, "achieved_occupancy", lone).known
    mixed = {**lone, "SQ_LEVEL_WAVES": 1, "SQ_IFETCH_LEVEL": 1}
    assert not one(MI300X, "achieved_occupancy", mixed).known


# --- names


def test_a_counter_serves_with_and_without_sum() -> None:
    assert one(MI300X, "l2_hit_rate", {"TCC_HIT": 30, "TCC_MISS_sum": 10}).value == 0.75
    assert one(MI300X, "waves", {"SQ_WAVES_sum": 7}).value == 7


def test_the_exact_name_wins() -> None:
    both = {"TCC_HIT": 1, "TCC_HIT_sum": 30, "TCC_MISS_sum": 10, "TCC_MISS": 1}
    assert one(MI300X, "l2_hit_rate", both).value == 0.75


def test_a_counter_may_be_called_like_a_column() -> None:
    assert (
        one(MI300X, "waves", {"SQ_WAVES": 7, "kernel": 1, "node": 2, "duration_ns": 3, "value": 4}).value == 7
    )


def test_an_unknown_metric_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean l2_hit_rate"):
        evaluate(*recording({"SQ_WAVES": 1}), MI300X, ["l2_hitrate"])
    with pytest.raises(UsageError, match="no metric"):
        quantity(table(MI300X, {"SQ_WAVES": 1}), "speed")


def test_only_the_named_metrics_are_computed() -> None:
    results = evaluate(*recording({"SQ_WAVES": 1}), MI300X, ["waves", "flops"])
    assert set(results.evaluations) == {"waves"}
    assert set(results.unavailable) == {"flops"}
    assert quantity(results, "l2_hit_rate").unavailable == "it was not asked for"


def test_a_metric_without_a_formula_says_so() -> None:
    results = evaluate(*recording({"SQ_WAVES": 1}), RX7900, ["flops"])
    assert results.unavailable == {"flops": "no formula is known for gfx1100"}


# --- passes


def test_a_missing_counter_is_named_with_the_pass_that_has_the_others() -> None:
    metric = one(MI300X, "l2_hit_rate", {"SQ_WAVES": 1}, {"TCC_HIT_sum": 1})
    assert metric.value is None
    assert metric.unavailable == "needs TCC_MISS_sum (pass 2 recorded TCC_HIT_sum)"
    assert metric.formula == "TCC_HIT_sum/(TCC_HIT_sum+TCC_MISS_sum)"


def test_many_inputs_are_counted_rather_than_listed() -> None:
    counters = flop_counters("gfx942")
    del counters["SQ_INSTS_VALU_MFMA_MOPS_F8"]
    reason = one(MI300X, "flops", counters).unavailable
    assert reason == "needs SQ_INSTS_VALU_MFMA_MOPS_F8 (pass 1 recorded 16 of its other inputs)"


def test_a_ratio_is_not_stitched_together() -> None:
    reason = one(MI300X, "l2_hit_rate", {"TCC_HIT_sum": 1}, {"TCC_MISS_sum": 1}).unavailable or ""
    assert reason.startswith("needs its inputs from one pass")
    assert reason.endswith("TCC_HIT_sum (pass 1), TCC_MISS_sum (pass 2)")


def test_the_pass_that_has_everything_is_taken() -> None:
    results = table(MI300X, {"TCC_HIT_sum": 9}, {"TCC_HIT_sum": 30, "TCC_MISS_sum": 10})
    assert quantity(results, "l2_hit_rate").value == 0.75
    assert results.rows.filter(pl.col("metric") == "l2_hit_rate")["pass_id"].to_list() == [2]


def test_sums_join_passes_dispatch_by_dispatch() -> None:
    kernels = ("a", "b", "a")
    results = table(MI300X, {"FETCH_SIZE": [1, 2, 3]}, {"WRITE_SIZE": [10, 20, 30]}, kernels=kernels)
    values = results.rows.filter(pl.col("metric") == "dram_bytes")
    assert values["value"].to_list() == [11 * 1024, 22 * 1024, 33 * 1024]
    assert values["pass_id"].to_list() == [1, 1, 1]


def test_each_part_of_a_sum_still_comes_from_one_pass() -> None:
    read = {"TCC_BUBBLE_sum": 10, "TCC_EA0_RDREQ_sum": 100, "TCC_EA0_RDREQ_32B_sum": 4}
    write = {"TCC_EA0_WRREQ_sum": 100, "TCC_EA0_WRREQ_64B_sum": 60}
    assert one(MI300X, "dram_bytes", read, write).value == 6912 + 5120
    torn = {"TCC_BUBBLE_sum": 10}, {"TCC_EA0_RDREQ_sum": 100, "TCC_EA0_RDREQ_32B_sum": 4, **write}
    assert not one(MI300X, "dram_bytes", *torn).known


def other_runs(first: list[str], second: list[str]) -> MetricTable:
    one_run = recording({"FETCH_SIZE": 1}, kernels=tuple(first))
    both = recording({"SQ_WAVES": 1}, {"WRITE_SIZE": 1}, kernels=tuple(second))
    second_pass = [table.filter(pl.col("pass_id") == 2) for table in both]
    counters, dispatches = map(pl.concat, zip(one_run, second_pass, strict=True))
    return evaluate(counters, dispatches, MI300X)


def test_dispatches_that_differ_between_passes_are_not_joined() -> None:
    results = other_runs(["a", "b"], ["a", "a"])
    assert results.unavailable["dram_bytes"] == (
        "inputs come from passes 1 and 2, which do not list the same dispatches of any kernel"
    )
    assert "dram_read_bytes" in results.evaluations


def test_kernels_that_agree_between_passes_are_joined() -> None:
    results = other_runs(["a", "b"], ["a", "b", "b"])
    assert quantity(results, "dram_bytes", "a").value == 2048
    assert quantity(results, "dram_bytes", "b").unavailable == "no dispatch of b has all its inputs"


def test_processes_that_cannot_be_told_apart_are_not_joined() -> None:
    counters, dispatches = recording({"FETCH_SIZE": 1}, {"WRITE_SIZE": 1}, kernels=("k", "k"))
    pids = pl.col("pid") + pl.col("dispatch_id")
    moved, twice = counters.with_columns(pid=pids), dispatches.with_columns(pid=pids)
    results = evaluate(moved, twice, MI300X)
    assert "which process" in results.unavailable["dram_bytes"]
    ranks = pl.col("dispatch_id").cast(pl.Int32)
    with_ranks = evaluate(moved.with_columns(rank=ranks), twice.with_columns(rank=ranks), MI300X)
    assert quantity(with_ranks, "dram_bytes").value == 4096


# --- time


def test_time_of_another_pass_serves_where_the_own_is_missing() -> None:
    counters, dispatches = recording({}, {"FETCH_SIZE": 1000})
    untimed = pl.when(pl.col("pass_id") == 1).then(pl.col("end_ns"))
    results = evaluate(counters, dispatches.with_columns(end_ns=untimed), MI300X)
    assert quantity(results, "dram_read_gbps").value == 1024


def test_cycles_serve_where_there_are_no_times_and_it_is_said() -> None:
    counters = {"FETCH_SIZE": 1000, "GRBM_GUI_ACTIVE": 8 * 2100}
    metric = one(MI300X, "dram_read_gbps", counters, duration_ns=None)
    assert metric.value == pytest.approx(1024)
    assert metric.doubt == "its time is GRBM_GUI_ACTIVE at 2100 MHz, since no times were recorded"


def test_without_any_time_there_is_no_rate() -> None:
    metric = one(MI300X, "dram_read_gbps", {"FETCH_SIZE": 1000}, duration_ns=None)
    assert (metric.unavailable or "").startswith("needs the times of its dispatches")


def test_a_dispatch_that_took_no_time_has_no_rate() -> None:
    results = table(MI300X, {"FETCH_SIZE": 1000}, kernels=("k", "k"), duration_ns=[0, 1000])
    assert results.rows.filter(pl.col("metric") == "dram_read_gbps")["value"].to_list() == [1024]
    assert quantity(results, "dram_read_gbps").value == 1024  # nor do its bytes count in the kernel's


def test_nsight_knows_its_own_time() -> None:
    counters = {"dram__bytes_read.sum": 1000.0, "gpu__time_duration.sum": 500.0}
    assert one(H200, "dram_read_gbps", counters, duration_ns=None).value == 2


# --- bounds


def test_above_the_peak_the_value_stays_and_is_doubted() -> None:
    results = table(MI300X, {"FETCH_SIZE": [5000, 6000]}, kernels=("k", "k"))
    rows = results.rows.filter(pl.col("metric") == "dram_read_gbps")
    assert rows["value"].to_list() == [5120, 6144]
    assert rows["doubt"].to_list()[0] is None
    assert rows["doubt"].to_list()[1].startswith("above 5300 GB/s, the peak of AMD Instinct MI300X: likely ")
    assert quantity(results, "dram_read_gbps").doubt == rows["doubt"].to_list()[1]


def test_negative_bytes_are_doubted() -> None:
    metric = one(MI300X, "dram_write_bytes", {"TCC_EA0_WRREQ_sum": 0, "TCC_EA0_WRREQ_64B_sum": -1})
    assert metric.value == -32
    assert (metric.doubt or "").startswith("below 0: likely counters of different passes")


@pytest.mark.parametrize(("busy", "doubted"), [(12_800, False), (12_801, True)])
def test_a_share_may_be_one_but_not_more(busy: float, doubted: bool) -> None:
    metric = one(MI300X, "l2_utilisation", {"TCC_BUSY_sum": busy, **G})
    assert (metric.doubt is not None) == doubted


def test_the_integer_peak_bounds_no_flops() -> None:
    gpu = msgspec.structs.replace(MI300X, vector_tflops={"f32": 1.0}, matrix_tflops={"f16": 2.0, "i8": 99.0})
    counters = dict.fromkeys(flop_counters("gfx942"), 1e6)  # 3.52 TFLOP/s
    assert (one(gpu, "tflops", counters).doubt or "").startswith("above 2 TFLOP/s")


def test_a_fact_that_the_catalogue_lacks_is_named() -> None:
    gpu = msgspec.structs.replace(MI300X, l2_channels=None)
    metric = one(gpu, "l2_utilisation", {"TCC_BUSY_sum": 6400, **G})
    assert metric.unavailable == "the catalogue does not know l2_channels of AMD Instinct MI300X"


# --- kernels


def test_a_kernels_ratio_is_that_of_the_sums_and_its_range_that_of_the_dispatches() -> None:
    results = table(MI300X, {"TCC_HIT_sum": [1, 99], "TCC_MISS_sum": [3, 1]}, kernels=("k", "k"))
    row = by_kernel(results).filter(pl.col("metric") == "l2_hit_rate").row(0, named=True)
    assert (row["value"], row["least"], row["greatest"], row["dispatches"]) == (100 / 104, 0.25, 0.99, 2)
    assert quantity(results, "l2_hit_rate", "k").value == 100 / 104
    assert quantity(results, "l2_hit_rate", "k").inputs == {"TCC_HIT_sum": 100, "TCC_MISS_sum": 4}


def test_recorded_ratios_are_averaged_by_time_and_it_is_said() -> None:
    results = table(MI300X, {"OccupancyPercent": [10, 50]}, kernels=("k", "k"), duration_ns=[3000, 1000])
    whole = quantity(results, "achieved_occupancy", "k")
    assert whole.value == pytest.approx((0.1 * 3 + 0.5) / 4)
    assert "mean of the dispatches" in (whole.doubt or "")
    row = by_kernel(results).row(0, named=True)
    assert row["value"] == pytest.approx(whole.value)
    assert row["doubt"] == whole.doubt
    assert results.rows["doubt"].to_list() == [None, None]


def test_two_halves_do_not_make_a_zero_divisor() -> None:
    results = table(RX7900, {"LDSBankConflict": [50, 50]}, kernels=("k", "k"))
    assert quantity(results, "lds_conflict_rate").value == pytest.approx(1)


def test_nothing_over_nothing_is_no_value() -> None:
    metric = one(MI300X, "l2_hit_rate", {"TCC_HIT_sum": 0, "TCC_MISS_sum": 0})
    assert (metric.value, metric.unavailable) == (
        None,
        "TCC_HIT_sum/(TCC_HIT_sum+TCC_MISS_sum) has no value: TCC_HIT_sum+TCC_MISS_sum is zero",
    )


def test_a_kernel_without_a_value_is_beside_one_with() -> None:
    results = table(MI300X, {"TCC_HIT_sum": [0, 1], "TCC_MISS_sum": [0, 1]}, kernels=("idle", "busy"))
    assert by_kernel(results)["kernel"].to_list() == ["busy"]
    assert "is zero" in (quantity(results, "l2_hit_rate", "idle").unavailable or "")


def test_nothing_recorded() -> None:
    results = table(MI300X, {})
    assert results.rows.is_empty()
    assert by_kernel(results).is_empty()
    assert set(results.unavailable) == set(metrics_of("gfx942"))


counts = st.lists(st.integers(0, 10**9), min_size=3, max_size=3)


@given(hits=counts, misses=counts)
def test_a_kernels_ratio_lies_within_its_range(hits: list[int], misses: list[int]) -> None:
    results = table(MI300X, {"TCC_HIT_sum": hits, "TCC_MISS_sum": misses}, kernels=("k",) * 3)
    for row in by_kernel(results).iter_rows(named=True):
        assert 0 <= row["least"] <= row["value"] * (1 + 1e-12)
        assert row["value"] <= row["greatest"] * (1 + 1e-12) <= 1 + 1e-9
        assert row["doubt"] is None


@given(st.lists(st.integers(0, 10**9), min_size=6, max_size=6).filter(any))
def test_shares_of_instructions_add_up(numbers: list[int]) -> None:
    kinds = ("VALU", "SALU", "LDS", "SMEM", "VMEM_RD", "VMEM_WR")
    results = table(MI300X, {f"SQ_INSTS_{kind}": n for kind, n in zip(kinds, numbers, strict=True)})
    shares = [quantity(results, f"{unit}_share").value for unit in ("valu", "salu", "lds", "smem", "vmem")]
    assert sum(share or 0 for share in shares) == pytest.approx(1)

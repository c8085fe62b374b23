"""The roofline against numbers worked out by hand, and against the truth of the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.phases.focus import cut
from rocm_perf.analysis.roofline import roofline
from rocm_perf.analysis.roofline.build import NO_KERNELS, NO_OPERATOR, NO_WORK
from rocm_perf.analysis.roofline.devices import NOT_RECORDED
from rocm_perf.analysis.roofline.shapes import F32_ON_MATRIX, F32_ON_VECTOR, IN_F32
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model import schema
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, WorkPart
from rocm_perf.model.time_window import Span
from rocm_perf.model.trace import Trace
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu as find_sim_gpu
from rocm_perf.sim.record import record
from rocm_perf.sim.truth import work
from rocm_perf.sim.workload import parse_workload
from tests.fake_tools._fake.values import counters as counter_values
from tests.unit.analysis.traces import Row, call, trace

MI300X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}
V100: Row = {"agent_id": 0, "kind": "GPU", "gfx": "sm_70", "name": "Tesla V100-SXM2-32GB", "cu_count": 80}
VECTOR = [f"SQ_INSTS_VALU_{op}_{t}" for op in ("ADD", "MUL", "TRANS", "FMA") for t in ("F16", "F32", "F64")]
MATRIX = [f"SQ_INSTS_VALU_MFMA_MOPS_{t}" for t in ("F8", "F16", "BF16", "F32", "F64", "I8")]
READS = ["TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum"]
WRITES = ["TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum"]
ALL = dict.fromkeys([*VECTOR, *MATRIX, *READS, *WRITES], 0.0)


def dispatch(number: int, duration: int | None, name: str = "k", **more: object) -> Row:
    times = {} if duration is None else {"start_ns": 1000 * number, "end_ns": 1000 * number + duration}
    return {"kernel": name, "dispatch_id": number, "agent_id": 0, "pid": 1, **times, **more}


def counted(number: int, values: Mapping[str, float], **more: object) -> list[Row]:
    return [
        {"dispatch_id": number, "agent_id": 0, "pid": 1, "counter": name, "value": value, **more}
        for name, value in values.items()
    ]


def one(values: Mapping[str, float], duration: int = 10_000, **tables: Sequence[Row]) -> KernelRoofline:
    """A kernel of one dispatch on an MI300X."""
    given = {
        "agents": [MI300X],
        "dispatches": [dispatch(1, duration)],
        "counters": counted(1, values),
        **tables,
    }
    recorded = trace(**given)  # type: ignore[arg-type]
    (kernel,) = roofline(recorded).kernels
    return kernel


def part(kernel: KernelRoofline, ceiling: str) -> WorkPart:
    return next(row for row in kernel.work if row.ceiling == ceiling)


def ceiling(name: str, **tables: Sequence[Row]) -> Ceiling:
    recorded = trace(agents=[MI300X], dispatches=[dispatch(1, 10)], **tables)  # type: ignore[arg-type]
    (gpu,) = roofline(recorded).gpus
    return next(row for row in gpu.ceilings if row.name == name)


# --- ceilings --------------------------------------------------------------------------------------------------


def test_ridge_of_an_mi300x() -> None:
    """1307.4 TFLOP/s of f16 over 5.3 TB/s."""
    f16 = ceiling("f16 matrix")
    assert f16.rate.value == 1307.4
    assert f16.ridge is not None
    assert f16.ridge.value == pytest.approx(246.68, abs=0.01)
    assert not f16.measured
    assert f16.source == find_gpu("MI300X").sources["matrix_tflops.f16"].title
    assert ceiling("HBM").source == find_gpu("MI300X").sources["memory_gbps"].title
    # 32 banks of 4 B and 128 channels of 128 B at 2.1 GHz
    assert ceiling("LDS").rate.value == pytest.approx(4 * 32 * 304 * 2.1 / 1000)
    assert ceiling("L2").rate.value == pytest.approx(128 * 128 * 2.1 / 1000)


def test_a_measured_ceiling_overrides_the_catalogue() -> None:
    rows = [
        {"agent_id": 0, "ceiling": "hbm", "value": 4170.0, "unit": "GB/s"},
        {"agent_id": 1, "ceiling": "hbm", "value": 4999.0, "unit": "GB/s"},
        {"agent_id": 0, "ceiling": "mfma_f16", "value": 926_000.0, "unit": "GFLOP/s"},
        {"agent_id": 0, "ceiling": "fp32", "value": 16_000.0, "unit": "GFLOP/s"},
    ]
    hbm, f16, f32 = (ceiling(name, ceilings=rows) for name in ("HBM", "f16 matrix", "f32 vector"))
    assert (hbm.rate.value, hbm.measured, hbm.source) == (4.17, True, "the machine of the recording")
    assert f16.ridge is not None
    assert f16.ridge.value == pytest.approx(926 / 4.17)
    assert hbm.rate.doubt is None
    assert str(f32.rate.doubt).startswith("10% of the 163.4 TFLOP/s")


def test_devices_that_the_benchmark_numbers_in_its_own_way() -> None:
    rows = [{"agent_id": n, "ceiling": "hbm", "value": 4000.0 + n, "unit": "GB/s"} for n in (3, 4)]
    assert ceiling("HBM", ceilings=rows).rate.value == 4.004


# --- counters --------------------------------------------------------------------------------------------------


def test_far_from_every_ceiling_is_latency() -> None:
    """512e6 FLOP and 6.4 MB in 10 us: 51.2 TFLOP/s of 80 FLOP/B * 5.3 TB/s = 424."""
    kernel = one({**ALL, "SQ_INSTS_VALU_MFMA_MOPS_F16": 1e6, "TCC_EA0_RDREQ_sum": 1e5})
    assert kernel.operational_intensity.value == 80
    assert kernel.tflops.value == pytest.approx(51.2)
    assert kernel.tbytes.value == pytest.approx(0.64)
    assert kernel.roof.value == pytest.approx(424)
    assert kernel.percent_of_roof.value == pytest.approx(100 * 51.2 / 424)
    assert part(kernel, "f16 matrix").percent_of_ceiling.value == pytest.approx(100 * 51.2 / 1307.4)
    assert (kernel.position, kernel.regime, kernel.basis) == ("memory (HBM)", "latency", "counters")
    assert kernel.flops.doubt is None


def test_near_the_arithmetic_is_compute() -> None:
    """784.44e7 FLOP in 10 us: 60 % of 1307.4 TFLOP/s."""
    kernel = one({**ALL, "SQ_INSTS_VALU_MFMA_MOPS_F16": 784.44e7 / 512, "TCC_EA0_RDREQ_sum": 1e4})
    assert kernel.percent_of_roof.value == pytest.approx(60)
    assert kernel.roof.value == pytest.approx(1307.4)
    assert (kernel.position, kernel.regime) == ("compute (f16 matrix)", "compute")


def test_a_copy_has_a_place_although_it_computes_nothing() -> None:
    """21.2 MB in 10 us: 40 % of 5.3 TB/s."""
    kernel = one({**ALL, "TCC_EA0_RDREQ_sum": 21.2e6 / 64})
    assert (kernel.operational_intensity.value, kernel.roof.value) == (0, 0)
    assert kernel.percent_of_roof.value == pytest.approx(40)
    assert (kernel.position, kernel.regime) == ("memory (HBM)", "memory")


def test_dtypes_of_one_unit_add_up_and_the_largest_names_it() -> None:
    """200 TFLOP/s of f16, 500 of f8 and 20 of f32 vectors."""
    kernel = one(
        {
            **ALL,
            "SQ_INSTS_VALU_MFMA_MOPS_F16": 200e7 / 512,
            "SQ_INSTS_VALU_MFMA_MOPS_F8": 500e7 / 512,
            "SQ_INSTS_VALU_FMA_F32": 20e7 / 128,
        }
    )
    shares = {row.ceiling: row.percent_of_ceiling.value for row in kernel.work if row.amount.value}
    assert shares == {
        "f16 matrix": pytest.approx(100 * 200 / 1307.4),
        "f8 matrix": pytest.approx(100 * 500 / 2614.9),
        "f32 vector": pytest.approx(100 * 20 / 163.4),
    }
    assert kernel.percent_of_roof.value == pytest.approx(100 * (200 / 1307.4 + 500 / 2614.9))
    assert kernel.position == "compute (f8 matrix)"
    assert kernel.flops.value == pytest.approx(720e7)


def test_integers_are_no_flops_but_keep_the_matrix_units_busy() -> None:
    kernel = one({**ALL, "SQ_INSTS_VALU_MFMA_MOPS_I8": 1307.45e7 / 512})
    assert kernel.flops.value == 0
    assert part(kernel, "i8 matrix").rate.unit == "TOP/s"
    assert kernel.position == "compute (i8 matrix)"
    assert kernel.percent_of_roof.value == pytest.approx(50)


def test_above_the_peak_is_kept_and_doubted() -> None:
    """106 MB in 10 us: 10.6 TB/s; less than the Infinity Cache holds."""
    kernel = one({**ALL, "TCC_EA0_RDREQ_sum": 106e6 / 64})
    assert kernel.percent_of_roof.value == pytest.approx(200)
    assert "fit the last cache" in str(kernel.percent_of_roof.doubt)
    assert kernel.tbytes.doubt
    assert kernel.spread is not None
    assert kernel.spread.doubt
    assert kernel.regime == "unknown"
    larger = one({**ALL, "TCC_EA0_RDREQ_sum": 1060e6 / 64})
    assert "a cache behind the counted requests" in str(larger.percent_of_roof.doubt)


def test_reads_alone_are_a_lower_bound() -> None:
    reads = {name: value for name, value in ALL.items() if name not in WRITES}
    low = one({**reads, "TCC_EA0_RDREQ_sum": 1e4})
    assert low.bytes.doubt == "writes were not counted"
    assert low.regime == "unknown"
    assert low.reason.startswith("at least 1.21 % of memory (HBM)")
    assert one({**reads, "TCC_EA0_RDREQ_sum": 5e5}).regime == "memory"


def test_operations_that_were_not_all_counted() -> None:
    kernel = one({"SQ_INSTS_VALU_MFMA_MOPS_F16": 1e6, **dict.fromkeys([*READS, *WRITES], 1e3)})
    assert kernel.flops.value == 512e6
    assert str(kernel.flops.doubt).startswith(
        "at least: needs SQ_INSTS_VALU_ADD_F16, SQ_INSTS_VALU_ADD_F32 and "
    )
    assert kernel.regime == "unknown"


def test_a_dtype_without_a_ceiling_says_so() -> None:
    gpu = msgspec.structs.replace(find_gpu("MI300X"), vector_tflops={"f32": 163.4})
    values = {**ALL, "SQ_INSTS_VALU_FMA_F16": 1e3}
    recorded = trace(dispatches=[dispatch(1, 10_000)], counters=counted(1, values))
    (kernel,) = roofline(recorded, gpu=gpu).kernels
    percent = part(kernel, "f16 vector").percent_of_ceiling
    assert percent.unavailable == "no peak of f16 vector is known for AMD Instinct MI300X"
    assert kernel.regime == "unknown"
    assert str(percent.unavailable) in kernel.reason


def test_occupancy_and_waits_stand_beside_it() -> None:
    waves = {"SQ_WAVE_CYCLES": 1000.0, "SQ_WAIT_ANY": 700.0, "SQ_WAIT_INST_ANY": 100.0}
    kernel = one({**ALL, **waves})
    assert {name: value.value for name, value in kernel.evidence.items()} == {
        "issue_wait_share": 0.1,
        "wait_share": 0.7,
    }


@given(
    mops=st.integers(1, 10**8),
    requests=st.integers(1, 10**8),
    duration=st.integers(1, 10**9),
)
def test_percent_of_roof_is_the_rate_over_the_roof_at_that_intensity(
    mops: int, requests: int, duration: int
) -> None:
    kernel = one(
        {**ALL, "SQ_INSTS_VALU_MFMA_MOPS_F16": float(mops), "TCC_EA0_RDREQ_sum": float(requests)}, duration
    )
    flops, moved = 512 * mops, 64 * requests
    roof = min(1307.4, flops / moved * 5.3)
    percent = 100 * flops / duration / 1000 / roof
    assert kernel.percent_of_roof.value == pytest.approx(percent)
    assert kernel.roof.value == pytest.approx(roof)
    beyond = flops / moved > 1307.4 / 5.3
    assert str(kernel.position).startswith("compute" if beyond else "memory")
    assert (kernel.percent_of_roof.doubt is not None) == (float(kernel.percent_of_roof.value or 0) > 100)
    near = percent >= 35
    assert (kernel.regime == "latency") == (not near)


# --- times and passes ------------------------------------------------------------------------------------------


def passes(first: Sequence[int], second: Sequence[int]) -> Trace:
    """Times in pass 0; counters in pass 1, which ran slower."""
    values = {**ALL, "TCC_EA0_RDREQ_sum": 1e5}
    return trace(
        agents=[MI300X],
        dispatches=[
            *(dispatch(n, length) for n, length in enumerate(first)),
            *(dispatch(n, 9 * length, pid=2, pass_id=1) for n, length in enumerate(second)),
        ],
        counters=[row for n in range(len(second)) for row in counted(n, values, pid=2, pass_id=1)],
    )


def test_times_come_from_the_timed_pass_and_not_from_that_of_the_counters() -> None:
    (kernel,) = roofline(passes([10_000, 30_000], [10_000, 30_000])).kernels
    assert kernel.time_ns.value == 20_000
    assert kernel.time_ns.formula == "mean of the same dispatches in pass 0, which was timed"
    assert kernel.tbytes.value == pytest.approx(6.4e6 / 20_000 / 1000)
    assert kernel.spread is not None
    assert kernel.spread.greatest == pytest.approx(3 * kernel.spread.least)
    assert (kernel.dispatches, kernel.calls) == (2, 2)


def test_dispatches_that_cannot_be_matched_have_the_median_time() -> None:
    (kernel,) = roofline(passes([10_000, 11_000, 90_000], [10_000, 11_000])).kernels
    assert kernel.time_ns.value == 11_000
    assert "median of its dispatches in pass 0" in kernel.time_ns.formula
    assert kernel.spread is None


def test_processes_of_one_pass_are_not_mixed_up() -> None:
    """Two processes with the same dispatch numbers, each with counters and times of its own."""
    values = {**ALL, "TCC_EA0_RDREQ_sum": 1e5}
    kernel = roofline(
        trace(
            agents=[MI300X],
            dispatches=[dispatch(1, 10_000), dispatch(1, 20_000, pid=2)],
            counters=[*counted(1, values), *counted(1, values, pid=2)],
        )
    ).kernels[0]
    assert kernel.time_ns.value == 15_000
    assert kernel.time_ns.formula == "mean of its own times"
    assert kernel.spread is not None
    assert kernel.spread.greatest == pytest.approx(2 * kernel.spread.least)


@pytest.mark.parametrize(("timed", "counting"), [(2, 2), (1, 2), (2, 1)])
def test_processes_of_two_passes_cannot_be_told_apart(timed: int, counting: int) -> None:
    """Which process of one pass is which of another is not recorded: then there is no n-th dispatch to match."""
    values = {**ALL, "TCC_EA0_RDREQ_sum": 1e5}
    others = range(10, 10 + counting)
    recorded = trace(
        agents=[MI300X],
        dispatches=[
            *(dispatch(1, 10_000, pid=pid) for pid in range(timed)),
            *(dispatch(1, 5000, pid=pid, pass_id=1) for pid in others),
        ],
        counters=[row for pid in others for row in counted(1, values, pid=pid, pass_id=1)],
    )
    (kernel,) = roofline(recorded).kernels
    assert "median of its dispatches in pass 0" in kernel.time_ns.formula
    assert kernel.time_ns.value == 10_000
    assert kernel.spread is None


def test_without_times_there_are_amounts_and_no_rates() -> None:
    recorded = trace(
        agents=[MI300X],
        dispatches=[dispatch(1, None)],
        counters=counted(1, {**ALL, "TCC_EA0_RDREQ_sum": 1.0}),
    )
    (kernel,) = roofline(recorded).kernels
    assert kernel.bytes.value == 64
    assert (
        kernel.tbytes.unavailable
        == kernel.percent_of_roof.unavailable
        == "no pass of the recording has times"
    )


# --- shapes ----------------------------------------------------------------------------------------------------


def called(
    name: str, shapes: str, dtypes: str, kernels: Sequence[str] = ("Cijk_mm",), agent: Row = MI300X
) -> KernelRoofline:
    """One operator call whose kernels take 10 us each."""
    operator = {"name": name, "category": "operator", "start_ns": 0, "end_ns": 50, "op_id": 1, "pid": 1, "tid": 1,
                "shapes": shapes, "dtypes": dtypes}  # fmt: skip
    launches = [call("hipLaunchKernel", 10 + n, 11 + n, n, pid=1, tid=1) for n in range(len(kernels))]
    ran = [dispatch(n, 10_000, name=kernel, correlation_id=n, tid=1) for n, kernel in enumerate(kernels)]
    return roofline(trace(agents=[agent], ops=[operator], api_calls=launches, dispatches=ran)).kernels[0]


def test_a_product_by_its_shapes() -> None:
    """2 * 512^3 FLOP and 3 * 512^2 * 2 B."""
    kernel = called("aten::mm", "[[512, 512], [512, 512]]", '["c10::BFloat16", "c10::BFloat16"]')
    assert kernel.flops.value == 2 * 512**3
    assert kernel.bytes.value == 3 * 512**2 * 2
    assert kernel.operational_intensity.value == pytest.approx(2 * 512**3 / (3 * 512**2 * 2))
    assert part(kernel, "bf16 matrix").percent_of_ceiling.value == pytest.approx(
        100 * 2 * 512**3 / 10_000 / 1000 / 1307.4
    )
    assert kernel.basis == "analytical from shapes"
    assert "analytical from shapes" in part(kernel, "bf16 matrix").amount.formula


def test_shapes_give_a_lower_bound_so_that_low_is_not_latency() -> None:
    kernel = called("aten::mm", "[[8, 8], [8, 8]]", '["c10::Half", "c10::Half"]')
    assert kernel.regime == "unknown"
    assert "it waits, or it moves and computes more than its operator needs" in kernel.reason


@pytest.mark.parametrize(
    ("kernel", "ceiling", "note"),
    [
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", "f32 vector", F32_ON_VECTOR),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x2x1_SN", "f32 matrix", F32_ON_MATRIX),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", "xf32 matrix", F32_ON_MATRIX),
    ],
)
def test_what_f32_products_run_on(kernel: str, ceiling: str, note: str) -> None:
    product = called("aten::mm", "[[64, 64], [64, 64]]", '["float", "float"]', [kernel])
    assert [row.ceiling for row in product.work if row.kind == "compute"] == [ceiling]
    assert note in product.notes


def test_calls_of_two_dtypes_share_the_time_of_both() -> None:
    """One call of 2 * 64^3 FLOP in f16, one in bf16: on average half of it of each."""
    rows = [
        {"name": "aten::mm", "category": "operator", "start_ns": 100 * n, "end_ns": 100 * n + 50, "op_id": n, "pid": 1,
         "tid": 1, "shapes": "[[64, 64], [64, 64]]", "dtypes": f'["{dtype}", "{dtype}"]'}
        for n, dtype in enumerate(("c10::Half", "c10::BFloat16"))
    ]  # fmt: skip
    launches = [call("hipLaunchKernel", 100 * n + 10, 100 * n + 11, n, pid=1, tid=1) for n in range(2)]
    ran = [dispatch(n, 10_000, correlation_id=n) for n in range(2)]
    (kernel,) = roofline(trace(agents=[MI300X], ops=rows, api_calls=launches, dispatches=ran)).kernels
    assert {row.ceiling: row.amount.value for row in kernel.work if row.kind == "compute"} == {
        "f16 matrix": 64**3,
        "bf16 matrix": 64**3,
    }
    assert kernel.flops.value == 2 * 64**3


_F16 = '["c10::Half", "c10::Half"]'


def calls(*made: tuple[str, str, str, int], kernel: str = "Cijk_mm") -> KernelRoofline:
    """One kernel that several calls launch, each given as operator, shapes, dtypes and the time of the dispatch."""
    rows = [
        {"name": name, "category": "operator", "start_ns": 100 * n, "end_ns": 100 * n + 50, "op_id": n, "pid": 1,
         "tid": 1, "shapes": shapes, "dtypes": dtypes}
        for n, (name, shapes, dtypes, _) in enumerate(made)
    ]  # fmt: skip
    launches = [
        call("hipLaunchKernel", 100 * n + 10, 100 * n + 11, n, pid=1, tid=1) for n in range(len(made))
    ]
    ran = [dispatch(n, made[n][3], name=kernel, correlation_id=n) for n in range(len(made))]
    (found,) = roofline(trace(agents=[MI300X], ops=rows, api_calls=launches, dispatches=ran)).kernels
    return found


def test_work_that_is_known_of_some_dispatches_is_divided_by_those() -> None:
    """Of the third call neither FLOPs nor bytes are known: it counts neither as work nor as time."""
    product = ("aten::mm", "[[512, 512], [512, 512]]", _F16, 10_000)
    kernel = calls(product, product, ("aten::frobnicate", "[[8]]", '["float"]', 70_000))
    assert (kernel.dispatches, kernel.calls) == (2, 3)
    assert kernel.flops.value == 2 * 512**3
    assert kernel.tflops.value == pytest.approx(2 * 512**3 / 10_000 / 1000)
    assert kernel.tflops.doubt == "known for 2 of 3 dispatches, 22.2 % of its time"


def test_no_operations_are_not_unknown_operations() -> None:
    """Integers have none, and of an operator without a formula nobody knows."""
    whole = ("aten::add", "[[64, 64], [64, 64]]", '["long int", "long int"]', 10_000)
    unknown = ("aten::frobnicate", "[[8]]", '["float"]', 10_000)
    assert calls(whole, whole).flops.value == 0
    assert calls(whole, unknown).flops.unavailable == "no formula for aten::frobnicate"


def test_half_precision_elementwise_work_is_done_in_f32() -> None:
    kernel = called("aten::add", "[[64, 64], [64, 64]]", '["c10::Half", "c10::Half"]')
    assert [row.ceiling for row in kernel.work] == ["HBM", "f32 vector"]
    assert IN_F32 in kernel.notes


def test_integers_have_no_flops() -> None:
    kernel = called("aten::add", "[[64, 64], [64, 64]]", '["long int", "long int"]')
    assert [row.ceiling for row in kernel.work] == ["HBM"]
    assert kernel.flops.value == 0


def test_work_that_cannot_be_told_has_a_reason() -> None:
    many = called("aten::native_layer_norm", "[[8, 8]]", '["float"]', ["first", "second"])
    assert many.reason.startswith("its work is not known: aten::native_layer_norm launched 2 kernels")
    helper = called("aten::mm", "[[8, 8], [8, 8]]", '["float", "float"]', ["memset", "mm"])
    assert helper.reason.startswith("its work is not known: it prepares or finishes the work of aten::mm")
    assert "no formula for aten::frobnicate" in called("aten::frobnicate", "[[8]]", '["float"]').reason
    lone = trace(agents=[MI300X], dispatches=[dispatch(1, 10)], ops=[{"name": "x", "category": "operator"}])
    assert NO_OPERATOR in roofline(lone).kernels[0].reason


def test_launches_of_one_gradient_share_its_work() -> None:
    """Two launches for the weights of [1, 1, 1, 1] on [1, 1, 4, 4]: 2 * 16 FLOPs together; the other has as many."""
    operator = {"name": "aten::convolution_backward", "category": "operator", "start_ns": 0, "end_ns": 50, "op_id": 1,
                "pid": 1, "tid": 1, "shapes": "[[1,1,4,4],[1,1,4,4],[1,1,1,1],[],[],[],[],[],[],[],[]]",
                "dtypes": '["float","float","float","","","","","","","",""]',
                "inputs": '["","","","[0]","[1]","[0]","[1]","False","[0]","1","[True, True, False]"]'}  # fmt: skip
    names = ("wgrad_engine", "wgrad_engine", "dgrad_engine")
    launches = [call("hipLaunchKernel", 10 + n, 11 + n, n, pid=1, tid=1) for n in range(3)]
    ran = [dispatch(n, 10_000, name=name, correlation_id=n, tid=1) for n, name in enumerate(names)]
    kernels = roofline(trace(agents=[MI300X], ops=[operator], api_calls=launches, dispatches=ran)).kernels
    assert {row.kernel: row.flops.value for row in kernels} == {"wgrad_engine": 16, "dgrad_engine": 32}


def test_work_that_was_launched_before_the_judged_part_has_its_operator() -> None:
    """The host runs ahead: its operator and launch lie before the cut, the kernel behind it."""
    operator = {"name": "aten::mm", "category": "operator", "start_ns": 0, "end_ns": 50, "op_id": 1, "pid": 1, "tid": 1,
                "shapes": "[[8, 8], [8, 8]]", "dtypes": '["c10::Half", "c10::Half"]'}  # fmt: skip
    ran = [{**dispatch(1, 10_000, correlation_id=1), "start_ns": 5_000, "end_ns": 15_000}]
    launches = [call("hipLaunchKernel", 10, 11, 1, pid=1, tid=1)]
    whole = trace(agents=[MI300X], ops=[operator], api_calls=launches, dispatches=ran)
    part = cut(whole, Span(1_000, 20_000))
    assert not part.has("ops")
    assert roofline(part).kernels[0].flops.value == 2 * 8**3


def test_counters_come_before_shapes_and_leave_the_rest_to_them() -> None:
    operator = {"name": "aten::mm", "category": "operator", "start_ns": 0, "end_ns": 50, "op_id": 1, "pid": 1,
                "tid": 1, "shapes": "[[512, 512], [512, 512]]", "dtypes": '["c10::Half", "c10::Half"]'}  # fmt: skip
    kernel = one(
        {**dict.fromkeys([*READS, *WRITES], 0.0), "TCC_EA0_RDREQ_sum": 1e6},
        ops=[operator],
        api_calls=[call("hipLaunchKernel", 10, 11, 1, pid=1, tid=1)],
        dispatches=[dispatch(1, 10_000, correlation_id=1)],
    )
    assert kernel.bytes.value == 64e6
    assert kernel.flops.value == 2 * 512**3
    assert kernel.basis == "counters and analytical from shapes"


# --- what is missing -------------------------------------------------------------------------------------------


def test_a_gpu_that_is_not_known() -> None:
    kernel = called("aten::mm", "[[512, 512], [512, 512]]", '["float", "float"]', agent=V100)
    assert kernel.operational_intensity.known
    assert kernel.tflops.known
    assert "the catalogue has no sm_70" in str(kernel.percent_of_roof.unavailable)
    nameless = trace(dispatches=[dispatch(1, 10)], counters=counted(1, ALL))
    assert roofline(nameless).gpus[0].unavailable == NOT_RECORDED
    assert NOT_RECORDED in roofline(nameless).kernels[0].reason


def test_a_gpu_that_is_named() -> None:
    nameless = trace(dispatches=[dispatch(1, 10_000)], counters=counted(1, {**ALL, "TCC_EA0_RDREQ_sum": 1e5}))
    (kernel,) = roofline(nameless, gpu=find_gpu("MI300X")).kernels
    assert kernel.percent_of_roof.value == pytest.approx(100 * 0.64 / 5.3)


def test_gpus_of_two_models_are_kept_apart_and_a_third_is_unknown() -> None:
    other = {"agent_id": 1, "kind": "GPU", "gfx": "gfx90a", "name": "AMD Instinct MI210", "cu_count": 104}
    ran = [dispatch(n, 10_000, agent_id=n) for n in range(3)]
    values = [row for n in range(3) for row in counted(n, {**ALL, "TCC_EA0_RDREQ_sum": 1e5}, agent_id=n)]
    chart = roofline(trace(agents=[MI300X, other], dispatches=ran, counters=values))
    assert [gpu.name for gpu in chart.gpus] == ["AMD Instinct MI300X", "AMD Instinct MI210", "unknown GPU"]
    assert sorted(row.gpu for row in chart.kernels) == [0, 1, 2]
    assert [row.bytes.value for row in sorted(chart.kernels, key=lambda row: row.gpu)] == [6.4e6, None, None]


def test_nothing_recorded() -> None:
    assert roofline(trace()).unavailable == NO_KERNELS
    assert NO_WORK in roofline(trace(agents=[MI300X], dispatches=[dispatch(1, 10)])).kernels[0].reason


def test_nsight_computes_own_percentages_stand_in_for_what_was_not_counted() -> None:
    values = {
        "DRAM Throughput": 20.0,
        "Compute (SM) Throughput": 15.0,
        "Duration": 5000.0,
        "Achieved Occupancy": 25.0,
    }
    agent = {"agent_id": 0, "kind": "GPU", "gfx": "sm_90"}
    recorded = trace(agents=[agent], dispatches=[dispatch(1, None)], counters=counted(1, values))
    (kernel,) = roofline(recorded).kernels
    assert (kernel.time_ns.value, kernel.percent_of_roof.value, kernel.regime) == (5000, 20, "latency")
    assert kernel.evidence["achieved_occupancy"].value == 0.25


# --- the simulator's truth -------------------------------------------------------------------------------------

WORKLOAD = """
name = "roofline"
[kernel.gemm]
flops = {bf16 = 1.024e11}
matrix = true
bytes = {hbm = 1.28e8}
grid = [1048576]
[kernel.stream]
flops = {f32 = 1.28e8}
bytes = {hbm = 1.28e9}
grid = [1048576]
[[thread]]
steps = [{repeat = 3, steps = [{launch = "gemm"}, {launch = "stream"}]}, {sync = "device"}]
"""


def test_the_simulators_truth() -> None:
    """Its kernels run at 70 % of what binds them; counters come from passes of their own, which ran slower."""
    workload = parse_workload(WORKLOAD)
    gpu = replace(find_sim_gpu("sim:MI300X"), clock={})
    run = simulate(workload, gpu)
    recorded = record(run)
    dispatches = recorded.table("dispatches")
    tables = {name: recorded.table(name) for name in recorded}
    counters = []
    for number, names in enumerate(([*VECTOR, *MATRIX], [*READS, *WRITES]), 1):
        later = dispatches.with_columns(
            pass_id=pl.lit(number, pl.Int32),
            pid=pl.lit(9000 + number, pl.Int64),
            end_ns=pl.col("end_ns") + 10**6,
        )
        tables["dispatches"] = pl.concat([tables["dispatches"], later])
        values = counter_values(later, tuple(names), workload, gpu)
        counters.append(schema.conform("counters", values.with_columns(pass_id=pl.lit(number, pl.Int32))))
    by_kernel = {
        row.kernel: row for row in roofline(Trace({**tables, "counters": pl.concat(counters)})).kernels
    }
    truth = {row.kernel: row for row in work(run)}
    assert by_kernel.keys() == truth.keys()
    for name, row in by_kernel.items():
        flops, moved = sum(truth[name].flops.values()), truth[name].bytes["hbm"]
        assert row.operational_intensity.value == pytest.approx(flops / moved, rel=1e-5)
        assert row.flops.value == pytest.approx(flops / 3, rel=1e-5)
        assert row.percent_of_roof.value == pytest.approx(100 * gpu.rates["efficiency"], rel=1e-3)
        assert row.calls == row.dispatches == 3
    assert (by_kernel["gemm"].position, by_kernel["gemm"].regime) == ("compute (bf16 matrix)", "compute")
    assert (by_kernel["stream"].position, by_kernel["stream"].regime) == ("memory (HBM)", "memory")


def test_counters_alone_tell_the_chip_but_no_peak() -> None:
    """A pmc_perf.csv without its sysinfo.csv: bytes follow from the counters, shares of a peak do not."""
    values = {"TCC_EA0_RDREQ_128B_sum": 1000.0, "TCC_EA0_RDREQ_sum": 1000.0, "TCC_EA0_RDREQ_32B_sum": 0.0}
    chart = roofline(trace(dispatches=[dispatch(0, 10_000)], counters=counted(0, values)))
    (row,) = chart.kernels
    assert row.bytes.value == 128_000
    assert row.percent_of_roof.value is None
    assert NOT_RECORDED in row.reason

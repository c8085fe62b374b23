"""What one kind of evidence alone points to, and what it must not."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.bottleneck import bottlenecks
from rocm_perf.analysis.bottleneck.element_types import element_type, is_narrow, is_plain_f32_product
from rocm_perf.analysis.bottleneck.nature import streams
from rocm_perf.analysis.bottleneck.suspects import defect, suspect
from rocm_perf.model.results.bottleneck import Bottleneck, Evidence
from tests.unit.analysis.traces import Row, kernel, trace

MI300X: Row = {"agent_id": 0, "kind": "GPU", "gfx": "gfx942", "name": "AMD Instinct MI300X", "cu_count": 304}


def measured(**values: float) -> dict[str, Evidence]:
    return {
        name: Evidence(name=name, value=value, unit="", says="", source="") for name, value in values.items()
    }


def one(name: str, length: int, gpu: Row | None = None, more: Row | None = None) -> Bottleneck:
    """The only kernel of a recording, of one dispatch."""
    rows = [kernel(name, 0, length, dispatch_id=1, **(more or {}))]
    recorded = trace(dispatches=rows, agents=[gpu]) if gpu else trace(dispatches=rows)
    (row,) = bottlenecks(recorded).kernels
    return row


def says(row: Bottleneck, name: str) -> str:
    return next(evidence.says for evidence in row.evidence if evidence.name == name)


# --- defects ---


def test_bank_conflicts_are_the_cause_of_a_kernel_far_from_its_roofs() -> None:
    assert defect(measured(lds_conflicts=0.94, memory_share=0.32)) == ("LDS", "lds_conflicts")


def test_conflicts_of_an_lds_that_is_hardly_used_cost_nothing() -> None:
    assert defect(measured(lds_conflicts=0.94, lds_busy=0.02)) is None


def test_much_scratch_is_told_unless_arithmetic_keeps_the_units_busy() -> None:
    assert defect(measured(scratch=696)) == ("scratch", "scratch")
    assert defect(measured(scratch=696, vector_busy=0.8)) is None
    assert defect(measured(scratch=16)) is None


def test_too_few_workgroups() -> None:
    assert defect(measured(empty_units=0.9)) == ("launch/latency", "empty_units")
    assert defect(measured(empty_units=0.1)) is None


def test_what_was_not_counted_points_nowhere() -> None:
    assert suspect({}) is None


@pytest.mark.parametrize(
    ("values", "label"),
    [
        ({"barrier_wait": 0.3, "memory_wait": 0.2}, "waiting"),
        ({"memory_wait": 0.5}, "memory latency"),
        ({"memory_share": 0.6}, "memory bandwidth"),
        ({"compute_share": 0.6, "memory_share": 0.4}, "compute"),
        ({"grid_bytes": 0.5}, "memory bandwidth"),
        ({"little_work": 0.1}, "memory bandwidth"),
        ({"wait_share": 0.8}, "memory latency"),
        ({"wait_share": 0.2}, None),
        ({"grid_bytes": 0.01}, None),
    ],
)
def test_the_likeliest_cause(values: dict[str, float], label: str | None) -> None:
    likely = suspect(measured(**values))
    assert (likely[0] if likely else None) == label


# --- scratch ---


def test_scratch_is_read_from_the_dispatch() -> None:
    row = one("k", 100_000, more={"scratch_bytes": 1888})
    assert (row.suspect, row.because) == ("scratch", "scratch")
    assert "each work-item keeps 1,888 bytes in scratch" in says(row, "scratch")


def test_no_scratch_and_unknown_scratch_are_no_evidence() -> None:
    none: Row = {"scratch_bytes": 0}
    for more in (none, {}):
        assert "scratch" not in {evidence.name for evidence in one("k", 100_000, more=more).evidence}


# --- bytes that the grid implies ---

CUBE: Row = {
    "grid_x": 512**3,
    "grid_y": 1,
    "grid_z": 1,
    "workgroup_x": 256,
    "workgroup_y": 1,
    "workgroup_z": 1,
}


def test_a_stencil_over_a_cube_of_doubles_moves_each_at_least_twice() -> None:
    """2 x 8 B x 512^3 = 2.15 GB in 2 ms: 1.07 TB/s of 5.3."""
    row = one("void stencil<double>(double*, double const*, int)", 2_000_000, MI300X, CUBE)
    evidence = next(e for e in row.evidence if e.name == "grid_bytes")
    assert evidence.value == pytest.approx(2 * 8 * 512**3 / 2e-3 / 5.3e12, rel=0.01)
    assert (row.suspect, row.because) == ("memory bandwidth", "grid_bytes")
    assert "2 x 8 B" in evidence.says


def test_a_gpu_that_is_not_recorded_is_no_faster_than_the_fastest() -> None:
    row = one("void stencil<double>(double*, double const*, int)", 2_000_000, more=CUBE)
    assert "the fastest memory known" in says(row, "grid_bytes")


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("void sum_reduce_kernel(float*, float const*)", 2_000_000),  # a reduction writes next to nothing
        ("void stencil<double>(double*, double const*, int)", 100_000),  # more than the peak: not moved
        ("stencil", 2_000_000),  # no type
        ("void walk(Node*)", 2_000_000),
    ],
)
def test_where_the_grid_implies_nothing(name: str, length: int) -> None:
    row = one(name, length, MI300X, CUBE)
    assert "grid_bytes" not in {evidence.name for evidence in row.evidence}


def test_a_long_computation_over_a_grid_is_not_memory() -> None:
    """The same grid in 200 ms moves 11 GB/s: something else takes the time."""
    assert one("void series(double*, double const*)", 200_000_000, MI300X, CUBE).suspect is None


# --- names ---


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void k<double>(double*, double const*, int)", "double"),
        ("gather(unsigned long const*, double const*, double*)", "double"),
        ("histogram(const unsigned int *, unsigned int *)", "unsigned int"),
        ("k(__half*, float)", "__half"),
        ("k(int, float)", None),
        ("plain_name", None),
    ],
)
def test_the_type_of_its_arrays(name: str, expected: str | None) -> None:
    assert element_type(name) == expected


def test_single_precision_without_matrix_units_is_told_by_name() -> None:
    plain = [
        "volta_sgemm_64x64_nt",
        "cudnn::volta_scudnn_128x64_relu_small_nn_v1",
        "cutlass_80_simt_sgemm_128x32",
    ]
    fast = [
        "ampere_s1688gemm_fp16_128x128",
        "cutlass_80_tensorop_s1688gemm",
        "messages_gemm",
        "volta_h884gemm",
    ]
    assert all(map(is_plain_f32_product, plain))
    assert not any(map(is_plain_f32_product, fast))


def test_a_matrix_times_a_vector_is_a_matter_of_memory() -> None:
    assert streams("void mul_mat_vec_q<(ggml_type)2>(void const*)") is not None
    assert streams("void mul_mat_q<(ggml_type)2>(char const*)") is None


# --- rocprof-compute ---


def table(**values: float) -> list[Row]:
    names = {"valu": "VALU Utilization", "waits": "Dependency Wait Cycles", "cycles": "Wave Cycles"}
    names |= {"scratch": "Scratch Allocation", "conflicts": "LDS Bank Conflicts/Access"}
    return [
        {
            "metric": names[name],
            "group": "System Speed-of-Light",
            "kernel": "k",
            "statistic": "avg",
            "value": value,
        }
        for name, value in values.items()
    ]


def of_tables(**values: float) -> Bottleneck:
    recorded = trace(dispatches=[kernel("k", 0, 100_000, dispatch_id=1)], metrics=table(**values))
    (row,) = bottlenecks(recorded).kernels
    return row


def test_rocprof_computes_tables_are_evidence() -> None:
    row = of_tables(valu=5.5, waits=80, cycles=100, scratch=1888)
    assert row.label == "scratch"
    assert says(row, "wait_share") == "waves wait 80.0 % of their time for something (rocprof-compute)"


def test_conflicts_per_access_become_a_share_of_the_cycles() -> None:
    row = of_tables(conflicts=15, waits=90, cycles=100)
    assert row.label == "LDS"
    assert says(row, "lds_conflicts").startswith("93.8 % of the LDS cycles")


def test_tables_without_trouble_name_no_cause() -> None:
    row = of_tables(valu=20, waits=10, cycles=100, conflicts=0)
    assert (row.label, row.suspect) == (None, None)


@pytest.mark.parametrize(
    "kernel",
    [
        "bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16",
        "Cijk_Alik_Bljk_F8BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64",
        "Cijk_Ailk_Bjlk_I8II_BH_MT64x64x32",
        "nvjet_qqtst_128x256_128x4_1x2_h_bz_coopA_TNT",
        "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x64",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu",
        "void mul_mat_q<(ggml_type)8, 64>(char const*)",
        "_w8a8_block_fp8_matmul",
    ],
)
def test_names_of_products_in_few_bits(kernel: str) -> None:
    assert is_narrow(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        "Cijk_Alik_Bljk_BBS_BH_MT128x256x32_MI16x16x16x1",
        "nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT",
        "void vllm::paged_attention<__hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(float*)",
        "void add<float4>(float4*, unsigned char*, int8_t*)",
        "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16",
        "gemm_a16w16",
    ],
)
def test_names_of_other_kernels(kernel: str) -> None:
    assert not is_narrow(kernel)

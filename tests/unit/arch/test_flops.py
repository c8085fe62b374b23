"""How many operations an instruction stands for."""

from __future__ import annotations

import pytest

from rocm_perf.arch.codeobject.flops import Flops, flops_of

F32 = "f32"


@pytest.mark.parametrize(
    ("text", "dtype", "unit", "each"),
    [
        ("v_add_f32_e32 v0, v1, v2", F32, "vector", 1),
        ("v_subrev_f32_e32 v0, v1, v2", F32, "vector", 1),
        ("v_mul_f16_e64 v0, v1, v2", "f16", "vector", 1),
        ("v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", "f64", "vector", 2),
        ("v_fmac_f32_dpp v1, v2, v3 row_shr:1", F32, "vector", 2),
        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]", F32, "vector", 4),
        ("v_pk_add_f16 v0, v1, v2", "f16", "vector", 2),
        ("v_fma_mixlo_f16 v0, v1, v2, v3", F32, "vector", 2),  # computed in single precision
        ("v_dot2_f32_f16 v0, v1, v2, v3", F32, "vector", 4),
        ("v_rcp_f32_e32 v0, v1", F32, "vector", 1),
        ("v_div_fmas_f32 v0, v1, v2, v3", F32, "vector", 2),
        ("s_fmac_f32 s0, s1, s2", F32, "scalar", 2),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0", "f16", "matrix", 2 * 32 * 32 * 8),
        ("v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[0:1], v[2:3], 0", "f8", "matrix", 2 * 16 * 16 * 32),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "f16", "matrix", 2 * 16**3),
        ("v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7]", "i8", "matrix", 2 * 16**3),
    ],
)
def test_operations(text: str, dtype: str, unit: str, each: int) -> None:
    assert flops_of(text) == (Flops(dtype=dtype, unit=unit, each=each),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["v_mov_b32_e32 v0, v1", "v_max_f32_e32 v0, v1, v2", "v_cvt_f32_f16_e32 v0, v1", "v_add_nc_u32_e32 v0, v1, v2",
     "v_mul_lo_u32 v0, v1, v2", "global_load_b32 v0, v[1:2], off", "s_mul_i32 s0, s1, s2"],
)  # fmt: skip
def test_nothing_else_is_an_operation(text: str) -> None:
    assert flops_of(text) == ()


def test_both_halves_of_a_dual_instruction_count() -> None:
    both = flops_of("v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5")
    assert [part.each for part in both] == [2, 1]
    assert len(flops_of("v_dual_mov_b32 v0, v1 :: v_dual_add_f32 v3, v4, v5")) == 1

"""Precision by the names of instructions. The counts are those of clang 22 and nvcc 13 for the functions named."""

from __future__ import annotations

from rocm_perf.optimize.guards.arithmetic import of_amd, of_ptx
from rocm_perf.optimize.guards.instructions import arithmetic_of_ptx, precision_passage

_DIVISION = {"v_div_scale_f32": 2, "v_rcp_f32": 1, "v_fma_f32": 4, "v_div_fmas_f32": 1, "v_div_fixup_f32": 1}
_EXPF = {"v_mul_f32": 1, "v_fma_f32": 1, "v_rndne_f32": 1, "v_exp_f32": 1, "v_ldexp_f32": 1}

_PTX = """\
.visible .entry _Z5scalePf(
	.param .u64 _Z5scalePf_param_0
)
{
	ld.global.f32 %f1, [%rd1];
	fma.rm.f32 %f8, %f5, %f6, %f7;
	ex2.approx.ftz.f32 %f16, %f14;
	@%p1 bra $L1;
	div.rn.f32 %f3, %f1, %f2;
	ret;
}
.visible .entry _Z5otherPf(
)
{
	div.approx.f32 %f3, %f1, %f2;
}
"""


def test_exact_functions_are_not_approximations() -> None:
    assert not of_amd({**_DIVISION, **_EXPF}).lowered
    assert not arithmetic_of_ptx(_PTX, "_Z5scalePf").lowered


def test_approximations_are_named() -> None:
    assert of_amd({"v_exp_f32": 1, "v_mul_f32": 1}).lowered == {"an approximate exponential"}
    assert of_amd({"v_rcp_f32": 2, "v_div_fixup_f32": 1}).lowered == {"division by an approximate reciprocal"}
    assert of_amd({"v_rsq_f32": 1}).lowered == {"an approximate reciprocal square root"}
    assert arithmetic_of_ptx(_PTX, "_Z5otherPf").lowered == {"approximate div"}
    assert of_ptx(["ex2.approx.f32"]).lowered == {"an approximate exponential"}
    assert of_ptx(["mul.ftz.f32"]).lowered == {"denormal numbers as zero"}


def test_narrow_types_are_named() -> None:
    assert of_amd({"v_cvt_f16_f32": 1, "v_pk_fma_f16": 2}).lowered == {"conversion to f16", "f16 arithmetic"}
    assert of_amd({"v_cvt_pk_bf16_f32": 1}).lowered == {"conversion to bf16"}
    assert of_amd({"v_mfma_f32_32x32x8_f16": 1}).lowered == {"f16 arithmetic"}
    assert of_ptx(["cvt.rn.f16.f32", "fma.rn.f16x2"]).lowered == {"conversion to f16", "f16 arithmetic"}
    assert of_ptx(["cvt.rna.tf32.f32"]).lowered == {"conversion to tf32"}


def test_half_data_that_is_only_read_is_not_lowered() -> None:
    assert not of_amd({"v_cvt_f32_f16": 4, "global_load_ushort": 4, "v_add_f32": 4}).lowered
    assert not of_ptx(["ld.global.b16", "cvt.f32.f16", "add.f32"]).lowered


def test_unrolling_keeps_the_precision_and_doubles_must_stay() -> None:
    once, often = of_amd(_EXPF), of_amd({name: 8 * count for name, count in _EXPF.items()})
    assert precision_passage(once, often).passed
    doubles, floats = of_amd({"v_add_f64": 1}), of_amd({"v_add_f32": 1})
    assert not precision_passage(doubles, floats).passed
    assert precision_passage(floats, doubles).passed
    assert not precision_passage(floats, of_amd({"v_exp_f32": 1})).passed


def test_code_that_cannot_be_read_says_so() -> None:
    passage = precision_passage(None, None, "there is no disassembler")
    assert passage.passed
    assert "not looked at" in passage.words

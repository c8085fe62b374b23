"""Which kernels use matrix units, by name and by counter."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.time.matrix_units import MatrixRule, matrix_by_name, matrix_rules, matrix_use
from tests.unit.analysis.traces import kernel, trace


@pytest.mark.parametrize("rule", matrix_rules(), ids=lambda rule: rule.pattern[:30])
def test_every_example_is_decided_by_its_rule(rule: MatrixRule) -> None:
    assert {matrix_by_name(example) for example in rule.examples} == {rule.uses}


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_kernel",
            False,
        ),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_stage3_kernel", True),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(", False),
        ("triton_poi_fused_add_0", False),
        ("ncclDevKernel_Generic_1", False),
        ("my_own_kernel", None),
        ("Cijk_Ailk_Bljk_HHS_BH MT64x32x256", None),  # cut: nothing says which instruction
    ],
)
def test_what_a_name_does_not_say_stays_unknown(name: str, uses: bool | None) -> None:
    assert matrix_by_name(name) is uses


def counted(number: int, counter: str, value: float) -> dict[str, object]:
    return {"dispatch_id": number, "counter": counter, "value": value}


def test_counters_decide_before_names() -> None:
    recording = trace(
        dispatches=[
            kernel("my_gemm", 0, 10, dispatch_id=1),
            kernel("attn_fwd", 10, 20, dispatch_id=2),
            kernel("half_counted", 20, 30, dispatch_id=3),
        ],
        counters=[
            counted(1, "SQ_INSTS_VALU_MFMA_MOPS_F16", 512),
            counted(2, "SQ_INSTS_MFMA", 0),
            counted(3, "SQ_INSTS_VALU_MFMA_MOPS_F64", 0),
        ],
    )
    assert matrix_use(recording) == {"my_gemm": True, "attn_fwd": False}

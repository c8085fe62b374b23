"""Products of Transformer Engine, where they are called as operators of torch: D = B A, of matrices that may be
transposed. Its Python extension is called past torch, and then records no shapes."""

from __future__ import annotations

from rocm_perf.analysis.operators.work.call import Call, Counted
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_BYTES = "uint8"  # what fp8 values are kept in
_FP8 = "float8_e4m3fn"


def _gemm(call: Call) -> Counted:
    """Every element of D takes K terms; a product that is accumulated also reads D."""
    weights, result = call.tensor("A", 2), call.tensor("D", 2)
    terms = weights.shape[1] if call.is_true("transa") else weights.shape[0]
    m, n = result.shape
    return Counted(
        flops=2 * m * n * terms,
        formula=f"2 * {m} * {n} * {terms}",
        touched_bytes=call.size("D") if call.is_true("accumulate") else 0,
        touched="D read and written" if call.is_true("accumulate") else "",
        on_matrix=True,
        dtype=_FP8 if weights.dtype == _BYTES else weights.dtype,
    )


_AFTER = "grad, workspace~, workspace_size, accumulate, use_split_accumulator"

FORMULAS: tuple[Formula, ...] = formulas(
    _gemm,
    # of its first releases
    "tex_ts::te_gemm_ts(A, A_scale_inverse, A_type, transa, B, B_scale_inverse, B_type, transb, D!, D_type, "
    f"bias, pre_gelu_out!, {_AFTER})",
    "tex_ts::te_gemm_ts(A, A_scale_inverse~, A_fp8_tensor, A_type, transa, B, B_scale_inverse~, B_fp8_tensor, "
    f"B_type, transb, D!, D_scale~, D_type, D_amax~, bias, bias_type, pre_gelu_out!, {_AFTER})",
)

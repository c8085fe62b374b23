"""Matrix products: `2 * M * N * K`, a multiply and an add for each term."""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from rocm_perf.analysis.operators.work.call import (
    Call,
    Count,
    Counted,
    NoFormulaError,
    broadcast,
    element_bytes,
)
from rocm_perf.analysis.operators.work.signature import Formula, formulas

FOUR_BITS = "float4_e2m1fn_x2"  # what packed bytes are, whatever type they are kept in


def product(batch: int, sizes: tuple[int, int, int], output_bytes: int, dtype: str | None = None) -> Counted:
    """The product of an M x K and a K x N matrix, or of a batch of them; `output_bytes` of one element of it."""
    m, n, k = sizes
    many = f"{batch} * " if batch != 1 else ""
    return Counted(
        flops=2 * batch * m * n * k,
        formula=f"2 * {many}{m} * {n} * {k}",
        output_bytes=output_bytes * batch * m * n,
        on_matrix=True,
        dtype=dtype,
        sizes=(batch, m, n, k),
    )


def plain(left: str, right: str, dimensions: int = 2) -> Count:
    """[M, K] x [K, N], or batches of them."""

    def count(call: Call) -> Counted:
        a, b = call.tensor(left, dimensions), call.tensor(right, dimensions)
        *batch, m, k = a.shape
        _same(k, b.shape[-2])
        return product(
            prod(batch), (m, b.shape[-1], k), call.asked_bytes("out_dtype") or element_bytes(a), a.dtype
        )

    return count


def transposed(left: str, right: str, asked: str = "out_dtype") -> Count:
    """[..., K] x [N, K], as a linear layer keeps its weights."""

    def count(call: Call) -> Counted:
        a, b = call.tensor(left), call.tensor(right, 2)
        *rows, k = a.shape
        _same(k, b.shape[1])
        return product(1, (prod(rows), b.shape[0], k), call.asked_bytes(asked) or element_bytes(a), a.dtype)

    return count


def into(out: str, left: str, packed: int = 1) -> Count:
    """A product whose result is given: every one of its elements takes K terms. `packed`: values in an element."""

    def count(call: Call) -> Counted:
        data = call.tensor(left)
        *rows, n = call.tensor(out).shape
        dtype = data.dtype if packed == 1 else FOUR_BITS
        return product(1, (prod(rows), n, packed * data.shape[-1]), 0, dtype)

    return count


def _matmul(call: Call) -> Counted:
    a, b = call.tensor("self"), call.tensor("other")
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    _same(left[-1], right[-2])
    batch = prod(broadcast(left[:-2], right[:-2]))
    return product(batch, (left[-2], right[-1], left[-1]), element_bytes(a), a.dtype)


def _outer(call: Call) -> Counted:
    a, b = call.tensor("vec1", 1), call.tensor("vec2", 1)
    return product(1, (a.shape[0], b.shape[0], 1), element_bytes(a), a.dtype)


def _matrix_vector(call: Call) -> Counted:
    matrix = call.tensor("mat", 2)
    m, k = matrix.shape
    _same(k, call.tensor("vec", 1).shape[0])
    return product(1, (m, 1, k), element_bytes(matrix), matrix.dtype)


def _grouped(call: Call) -> Counted:
    """Rows of one matrix for each group, or columns of both; the offsets say where groups end, and all rows count."""
    a, b = call.tensor("self"), call.tensor("mat2")
    output = call.asked_bytes("out_dtype") or element_bytes(a)
    if len(a.shape) == len(b.shape) == 2:  # groups share K: every group has a result of its own
        groups = call.tensor("offs", 1).shape[0]
        dense = product(1, (a.shape[0], b.shape[1], a.shape[1]), output, a.dtype)
        return replace(dense, output_bytes=groups * dense.output_bytes, sizes=None)
    if len(a.shape) == len(b.shape):
        return product(a.shape[0], (a.shape[1], b.shape[2], a.shape[2]), output, a.dtype)
    _same(a.shape[-1], b.shape[-2])
    return replace(product(1, (a.shape[-2], b.shape[-1], a.shape[-1]), output, a.dtype), sizes=None)


def _same(k: int, other: int) -> None:
    if k != other:
        raise NoFormulaError("the inner sizes differ")


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        plain("self", "mat2"),
        "aten::mm(self, mat2)",
        "aten::mm(self, mat2, out_dtype)",
        "aten::_int_mm(self, mat2)",
    ),
    *formulas(
        plain("mat1", "mat2"),
        "aten::addmm(self, mat1, mat2, beta, alpha)",
        "aten::addmm(self, mat1, mat2, out_dtype, beta, alpha)",
        "aten::_addmm_activation(self, mat1, mat2, beta, alpha, use_gelu)",
    ),
    *formulas(plain("self", "mat2", 3), "aten::bmm(self, mat2)", "aten::bmm(self, mat2, out_dtype)"),
    *formulas(
        plain("batch1", "batch2", 3),
        "aten::baddbmm(self, batch1, batch2, beta, alpha)",
        "aten::baddbmm(self, batch1, batch2, out_dtype, beta, alpha)",
        "aten::addbmm(self, batch1, batch2, beta, alpha)",
    ),
    *formulas(transposed("input", "weight"), "aten::linear(input, weight, bias)"),
    *formulas(
        transposed("input", "weight"),
        "vllm::rocm_unquantized_gemm(input, weight, bias)",
        "aiter::gemm_a16w16(input, weight, bias, out_dtype, scale_a, scale_b, scale_c)",
        "vllm::*unquantized_gemm(input, weight, bias, ...)",
        "aiter::tgemm*(input, weight, bias, ...)",
        "_rocm_C::wvSplitK(weight, input, bias, units)",
        "_rocm_C::wvSplitKrc(weight, input, bias, units)",
        "_rocm_C::LLMM1(weight, input, rows_per_block)",
    ),
    *formulas(
        _matmul,
        "aten::matmul(self, other)",
        "aten::dot(self, other)",
        "aten::vdot(self, other)",
        "aten::mv(self, other)",
    ),
    *formulas(
        _outer,
        "aten::outer(vec1, vec2)",
        "aten::ger(vec1, vec2)",
        "aten::addr(self, vec1, vec2, beta, alpha)",
    ),
    *formulas(_matrix_vector, "aten::addmv(self, mat, vec, beta, alpha)"),
    *formulas(
        _grouped,
        "aten::_grouped_mm(self, mat2, offs, bias, out_dtype)",
        "aten::_scaled_grouped_mm(self, mat2, scale_a, scale_b, offs, bias, scale_result, out_dtype, "
        "use_fast_accum)",
    ),
    *formulas(
        into("out", "mat_a"),
        "_C::dsv3_fused_a_gemm(out!, mat_a, mat_b, enable_pdl)",
        "_C::fp32_router_gemm(out!, mat_a, mat_b)",
        "_moe_C::dsv3_router_gemm(out!, mat_a, mat_b)",
        "aiter::_gemm_a16w16_asm(mat_a, mat_b, out!, semaphore~, bias, splitK, kernelName, bpreshuffle)",
        "aiter::gemm_a16w16_asm(mat_a, mat_b, out!, semaphore~, bias, splitK, kernelName, bpreshuffle)",
        "aiter::batched_gemm_bf16*(mat_a, mat_b, out!, bias, splitK)",
    ),
)

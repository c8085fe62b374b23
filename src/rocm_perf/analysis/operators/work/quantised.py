"""Products of matrices of few bits with their scales (fp8, int8, mxfp4, block scales), and what makes such matrices."""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, NoFormulaError, element_bytes
from rocm_perf.analysis.operators.work.products import FOUR_BITS, into, plain, product
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_HALF_BYTES = 2  # of a result, where the call does not say: these products return f16 or bf16
_FOUR_BITS = 2  # values of 4 bits in a byte
_PACKED_INTO_INT32 = 8


def scaled(left: str, right: str, asked: str = "out_dtype") -> Count:
    """[..., K] x [N, K] or [K, N], told by which size is K; the result is a half unless another type is asked for."""

    def count(call: Call) -> Counted:
        a, b = call.tensor(left), call.tensor(right, 2)
        *rows, k = a.shape
        n = _other_size(b.shape, k)
        return product(1, (prod(rows), n, k), call.asked_bytes(asked) or _HALF_BYTES, a.dtype)

    return count


def packed(left: str, right: str) -> Count:
    """Weights of four bits, two in a byte: [..., K] or [..., K / 2] x [N, K / 2]."""

    def count(call: Call) -> Counted:
        a, b = call.tensor(left), call.tensor(right, 2)
        *rows, length = a.shape
        n, k = b.shape[0], _FOUR_BITS * b.shape[1]
        if length not in (k, b.shape[1]):
            raise NoFormulaError("the inner sizes differ")
        dtype = a.dtype if length == k else FOUR_BITS
        return product(1, (prod(rows), n, k), call.asked_bytes("out_dtype") or _HALF_BYTES, dtype)

    return count


def _with_scales(call: Call) -> Counted:
    """The scales stand where the schema says, which tells the schemas of torch's versions apart."""
    call.tensor("scale_a")
    return plain("self", "mat2")(call)


def _other_size(shape: tuple[int, ...], k: int) -> int:
    if shape[1] == k:
        return shape[0]
    if shape[0] == k:
        return shape[1]
    raise NoFormulaError("the inner sizes differ")


def _sized(call: Call) -> Counted:
    """A product whose sizes are arguments, because its weights are packed and shuffled."""
    m, n, k = (call.integer(name) for name in ("size_m", "size_n", "size_k"))
    return product(1, (m, n, k), element_bytes(call.tensor("a")), call.tensor("a").dtype)


def _int4(call: Call) -> Counted:
    """Weights of four bits in tiles: their columns are those of the scales, [groups, N, 2]."""
    a = call.tensor("self", 2)
    return product(1, (a.shape[0], call.tensor("scales", 3).shape[1], a.shape[1]), element_bytes(a), a.dtype)


def _awq(call: Call) -> Counted:
    a, weight = call.tensor("input"), call.tensor("weight", 2)
    sizes = (prod(a.shape[:-1]), _PACKED_INTO_INT32 * weight.shape[1], a.shape[-1])
    return product(1, sizes, element_bytes(a), a.dtype)


def _columns(call: Call) -> Counted:
    """Weights whose rows are packed: their columns are those of the result."""
    a, weight = call.tensor("a"), call.tensor("weight", 2)
    return product(1, (prod(a.shape[:-1]), weight.shape[1], a.shape[-1]), element_bytes(a), a.dtype)


def quantise(operations: int, steps: str) -> Count:
    """Every element of the input, once."""

    def count(call: Call) -> Counted:
        elements = call.tensor("input").elements
        return Counted(
            operations * elements, f"{operations} * {elements} elements: {steps}", output_bytes=elements
        )

    return count


_STATIC = quantise(1, "scale")
_DYNAMIC = quantise(3, "absolute value, maximum, scale")

FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _with_scales,
        "aten::_scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)",
        "trtllm::cublas_scaled_mm(self, mat2, scale_a, scale_b, bias, out_dtype)",
    ),
    *formulas(  # before torch 2.5
        _with_scales,
        "aten::_scaled_mm(self, mat2, bias, out_dtype, scale_a, scale_b, scale_result, use_fast_accum)",
    ),
    *formulas(
        plain("self", "mat2"),
        "aten::_scaled_mm_v2(self, mat2, scale_a~, recipe_a, swizzle_a, scale_b~, recipe_b, swizzle_b, bias, "
        "out_dtype, contraction_dim, use_fast_accum)",
    ),
    *formulas(
        scaled("A", "B"),
        "vllm::rocm_per_tensor_float_w8a8_scaled_mm_impl(A, B, out_dtype, As, Bs, bias)",
        "vllm::rocm_aiter_gemm_a8w8_blockscale*(A, B, As, Bs, out_dtype)",
        "vllm::rocm_aiter_triton_gemm_a8w8_blockscale(A, B, As, Bs, out_dtype)",
        "vllm::rocm_aiter_w8a8_gemm(A, B, As, Bs, bias, out_dtype)",
        "vllm::rocm_aiter_hipb_mm_fp8(A, B, As, Bs, bias, out_dtype)",
        "vllm::_rocm_aiter_preshuffled_per_token_w8a8_gemm(A, B, As, Bs, bias, out_dtype)",
        "vllm::w8a8_triton_block_scaled_mm*(A, B, As, Bs, block_size, out_dtype)",
        "vllm::w8a8_block_fp8_matmul*(A, B, As, Bs, block_size, out_dtype)",
        "vllm::apply_w8a8_block_fp8_linear(A, B, block_size, Bs, As, bias)",
        "vllm::padded_cutlass(A, B, As, Bs, block_size, out_dtype)",
        "sgl_kernel::int8_scaled_mm(A, B, As, Bs, out_dtype, bias)",
        "sgl_kernel::fp8_scaled_mm(A, B, As, Bs, out_dtype, bias)",
        "sgl_kernel::fp8_blockwise_scaled_mm(A, B, As, Bs, out_dtype)",
        "sglang::*w8a8*(A, B, As, Bs, ...)",
        "aiter::hipb_mm(A, B, solution_index, bias, out_dtype, scaleA, scaleB, scaleOut, bpreshuffle, "
        "use_gelu)",
        "aiter::rocb_mm(A, B, solution_index)",
        "aiter::gemm_a8w8(A, B, x_scale, w_scale, bias, out_dtype, splitK)",
        "aiter::gemm_a8w8_bpreshuffle(A, B, x_scale, w_scale, bias, out_dtype)",
        "aiter::gemm_a8w8_blockscale(A, B, x_scale, w_scale, out_dtype)",
        "aiter::gemm_a8w8_blockscale_bpreshuffle(A, B, x_scale, w_scale, out_dtype)",
        "aiter::gemm_a8w8_mxfp8(A, B, x_scale, w_scale, out_dtype)",
        "aiter::_gemm_a8w8_blockscale*(A, B, x_scale, w_scale, out_dtype, ...)",
        "primus_turbo*::hipblaslt_gemm_fp8(A, scale_a, B, scale_b, ...)",
        "bitsandbytes::int8_linear_matmul(A, B)",
        "torchao::*scaled_mm*(A, B, ...)",
    ),
    *formulas(
        into("out", "A"),
        "_C::cutlass_scaled_mm(out!, A, B, a_scales, b_scales, bias)",
        "_C::cutlass_scaled_mm_azp(out!, A, B, a_scales, b_scales, azp_adj, azp, bias)",
        "_rocm_C::wvSplitKQ(B, A, bias, out!, scale_a, scale_b, units)",
        "_rocm_C::wvSplitKQ(B, A, out!, scale_a, scale_b, units)",
        "aiter::gemm_a8w8_*(A, B, x_scale, w_scale, out!, ...)",
        "aiter::_gemm_a8w8_asm(A, B, x_scale, w_scale, out!, ...)",
        "aiter::flatmm_a8w8_blockscale_asm(A, B, x_scale, w_scale, out!)",
        "aiter::_flatmm_a8w8_blockscale_asm(A, B, x_scale, w_scale, out!)",
        "aiter::gemm_a8w8_blockscale_bpreshuffle_asm(A, B, out!, x_scale, w_scale, ...)",
        "aiter::_gemm_a8w8_blockscale_bpreshuffle_asm(A, B, out!, x_scale, w_scale, ...)",
        "aiter::batched_gemm_a8w8*(A, B, x_scale, w_scale, out!, ...)",
        "aiter::deepgemm*(A, B, out!, group_layout, x_scale, w_scale)",
        "sglang::deep_gemm*(A, x_scale, B, w_scale, out!, ...)",
    ),
    *formulas(
        into("out", "A", packed=_FOUR_BITS),
        "_C::cutlass_scaled_fp4_mm(out!, A, B, block_scale_a, block_scale_b, alpha)",
        "sgl_kernel::cutlass_scaled_fp4_mm(out!, A, B, block_scale_a, block_scale_b, alpha)",
        "aiter::_gemm_a4w4_asm(A, B, a_scale, b_scale, out!, ...)",
        "aiter::gemm_a4w4_asm(A, B, a_scale, b_scale, out!, ...)",
        "aiter::gemm_a4w4_blockscale*(A, B, x_scale, w_scale, out!, ...)",
        "aiter::_mxfp4_gemm_asm(A, B, a_scale, b_scale, out!, ...)",
    ),
    *formulas(
        packed("A", "B"),
        "aiter::gemm_a4w4(A, B, a_scale, b_scale, bias, out_dtype, ...)",
        "aiter::gemm_a8w4_mxfp8(A, B, a_scale, b_scale, out_dtype, ...)",
        "aiter::gemm_afp4wfp4*(A, B, a_scale, b_scale, out_dtype, ...)",
        "sglang::aiter_gemm_afp4wfp4*(A, B, ...)",
        "vllm::gemm_with_dynamic_quant(A, B, weight_scale, asm, out_dtype, x_scales)",
        "vllm::rocm_aiter_gemm_a8wfp4(A, B, x_scales, w_scales, out_dtype)",
        "vllm::matmul_mxf4_bf16(A, B, a_scale, b_scale, alpha)",
        "vllm::matmul_nvf4_bf16(A, B, a_scale, b_scale, alpha)",
        "primus_turbo*::hipblaslt_gemm_fp4(A, scale_a, B, scale_b, ...)",
    ),
    *formulas(
        _sized,
        "_C::marlin_gemm(a, c, weight, bias, b_scales, a_scales, global_scale, b_zeros, g_idx, perm, "
        "workspace~, b_type, size_m, size_n, size_k, ...)",
        "_C::gptq_marlin_gemm(a, c, weight, bias, b_scales, global_scale, b_zeros, g_idx, perm, workspace~, "
        "b_type, size_m, size_n, size_k, ...)",
    ),
    *formulas(_int4, "aten::_weight_int4pack_mm(self, mat2, group_size, scales)"),
    *formulas(
        _awq,
        "_C::awq_gemm(input, weight, scales, zeros, split_k)",
        "sgl_kernel::awq_gemm(input, weight, scales, zeros, split_k)",
    ),
    *formulas(
        _columns,
        "_C::gptq_gemm(a, weight, zeros, scales, g_idx, use_exllama, use_v2_format, bit)",
        "_C::machete_mm(a, weight, b_type, out_type, group_scales, group_zeros, group_size, channel_scales, "
        "token_scales, schedule)",
        "_C::allspark_w8a16_gemm(a, weight, scales, zeros, ...)",
    ),
    *formulas(
        _STATIC,
        "_C::static_scaled_fp8_quant(out!, input, scale, group_shape)",
        "_C::static_scaled_int8_quant(out!, input, scale, azp)",
        "aiter::static_per_tensor_quant(out!, input, scale)",
        "sgl_kernel::sgl_per_tensor_quant_fp8(input, out!, scale, is_static)",
    ),
    *formulas(
        _DYNAMIC,
        "_C::dynamic_scaled_fp8_quant(out!, input, scale!)",
        "_C::dynamic_scaled_int8_quant(out!, input, scale!, azp!)",
        "_C::dynamic_per_token_scaled_fp8_quant(out!, input, scale!, scale_ub)",
        "_C::per_token_group_fp8_quant*(input, out!, scale!, ...)",
        "_C::per_token_group_quant_int8(input, out!, scale!, ...)",
        "_C::scaled_fp4_quant(out!, input, scale!, input_scale)",
        "sgl_kernel::sgl_per_token_group_quant*(input, out!, scale!, ...)",
        "sgl_kernel::sgl_per_token_quant_fp8(input, out!, scale!)",
        "aiter::dynamic_per_tensor_quant(out!, input, scale!)",
        "aiter::dynamic_per_token_scaled_quant(out!, input, scale!, scale_ub, ...)",
        "aiter::dynamic_per_group_scaled_quant*(out!, input, scale!, ...)",
        "aiter::quant_mxfp4(input, out!, scale!, ...)",
        "vllm::rocm_aiter_group_fp8_quant(input, group_size, transpose_scale)",
        "vllm::rocm_aiter_per_t*_quant(input, ...)",
        "vllm::triton_per_token_group_quant_fp8(input, group_size)",
        "*::quantize_fp8_tensorwise(input, ...)",
    ),
)

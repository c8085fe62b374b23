"""Mixtures of experts: the products of every token with the experts it was sent to, and the routing around them.

Which experts were chosen is not recorded, but each token goes to `top_k` of them, so the FLOPs are known. The weights
that are read are at most those of every expert that could be chosen.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from rocm_perf.analysis.operators.work.call import (
    Call,
    Count,
    Counted,
    NoFormulaError,
    argument_bytes,
    element_bytes,
)
from rocm_perf.analysis.operators.work.products import into
from rocm_perf.analysis.operators.work.routed import CHOSEN, WEIGHTS
from rocm_perf.analysis.operators.work.signature import Formula, formulas


def top_k(call: Call) -> int:
    """Return how many experts a token goes to: the last size of the chosen ones or of their weights, or the argument
    that says it."""
    for name in ("topk_ids", "topk_weights"):
        chosen = call.given(name)
        if chosen is not None and len(chosen.shape) == 2:
            return chosen.shape[-1]
    return call.integer("topk")


def _both(call: Call) -> Counted:
    """Up and gate, then down: [tokens, H] x [E, rows, H], and the half or all of the rows x [E, H, I]."""
    hidden, up, down = call.tensor("hidden", 2), call.tensor("w1", 3), call.tensor("w2", 3)
    tokens, width = hidden.shape
    chosen = tokens * top_k(call)
    inner = down.shape[2] * _packed(width, up.shape[2])
    flops = 2 * chosen * width * (up.shape[1] + inner)
    text = f"2 * {tokens} tokens * {top_k(call)} experts * {width} * ({up.shape[1]} + {inner})"
    return _weighed(call, Counted(flops, text, argument_bytes(hidden)), chosen, "w1", "w2")


def _packed(width: int, kept: int) -> int:
    """How many values of the weights lie in one element."""
    if width % kept:
        raise NoFormulaError("the inner sizes differ")
    return width // kept


def _weighed(call: Call, products: Counted, chosen: int, *weights: str) -> Counted:
    """The products with the bytes of the weights that could be read."""
    experts = min(call.tensor(weights[0]).shape[0], chosen)
    read = sum(call.size(name) * experts // call.tensor(name).shape[0] for name in weights)
    return replace(
        products,
        touched_bytes=read,
        touched=f"of the weights those of {experts} experts",
        on_matrix=True,
        dtype=call.tensor("hidden").dtype,
        bytes_doubt=CHOSEN,
    )


def stage(weight: str, rows: int, columns: int) -> Count:
    """One product with [E, N, K] weights; `rows` and `columns` are the axes of N and K."""

    def count(call: Call) -> Counted:
        data, matrix = call.tensor("hidden"), call.tensor(weight, 3)
        tokens = prod(data.shape[:-1]) if len(data.shape) == 3 else data.shape[0] * top_k(call)
        n = matrix.shape[rows]
        k = max(data.shape[-1], matrix.shape[columns])  # either may be packed
        text = f"2 * {tokens} tokens sent * {n} * {k}"
        products = Counted(2 * tokens * n * k, text, tokens * n * element_bytes(data))
        return _weighed(call, products, tokens, weight)

    return count


def _missing(_: Call) -> Counted:
    return Counted(
        None,
        "2 * tokens * experts of a token * sizes",
        on_matrix=True,
        flops_missing=WEIGHTS,
        bytes_missing=WEIGHTS,
    )


def _routing(operations: int, steps: str) -> Count:
    def count(call: Call) -> Counted:
        logits = call.tensor("logits")
        return Counted(operations * logits.elements, f"{operations} * {logits.elements} scores: {steps}")

    return count


def _bookkeeping(_: Call) -> Counted:
    return Counted(0, "0: sorts and counts integers")


def _sum(call: Call) -> Counted:
    data = call.tensor("input")
    return Counted(
        data.elements,
        f"1 * {data.elements} elements: add",
        element_bytes(data) * data.elements // data.shape[-2],
    )


_EXPERTS = "hidden, w1~, w2~, topk_weights, topk_ids, ..."
_SORTED = "sorted_token_ids~, sorted_weights~, sorted_expert_ids~, num_valid_ids~"

FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _both,
        f"*::outplace_fused_experts({_EXPERTS})",
        f"*::inplace_fused_experts({_EXPERTS.replace('hidden', 'hidden&')})",
        f"*::fused_experts*({_EXPERTS})",
        f"vllm::rocm_aiter_fused_moe*({_EXPERTS})",
        f"vllm::rocm_aiter_asm_moe*({_EXPERTS})",
        f"vllm::fused_flydsl_moe*({_EXPERTS})",
        f"aiter::fused_moe*({_EXPERTS})",
        f"sglang::fused_moe*({_EXPERTS})",
        "aiter::fmoe*(out!, hidden, w1~, w2~, " + _SORTED + ", topk, ...)",
    ),
    *formulas(
        stage("w1", 1, 2),
        "aiter::ck_moe_stage1*(hidden, w1~, w2~, sorted_token_ids~, sorted_expert_ids~, num_valid_ids~, "
        "out!, topk, ...)",
        "aiter::moe_cktile2stages_gemm1*(hidden, w1~, out!, sorted_ids~, sorted_expert_ids~, max_token_ids~, "
        "topk, ...)",
    ),
    *formulas(
        stage("w2", 1, 2),
        "aiter::ck_moe_stage2*(hidden, w1~, w2~, sorted_token_ids~, sorted_expert_ids~, num_valid_ids~, "
        "out!, topk, ...)",
        "aiter::moe_cktile2stages_gemm2*(hidden, w2~, out!, sorted_ids~, sorted_expert_ids~, max_token_ids~, "
        "topk, ...)",
    ),
    *formulas(
        into("out", "hidden"),
        "_C::cutlass_moe_mm(out!, hidden, w1, a_scales, b_scales, ...)",
        "sgl_kernel::fp8_blockwise_scaled_grouped_mm(out!, a_ptrs, b_ptrs, out_ptrs, a_scales_ptrs, "
        "b_scales_ptrs, hidden, w1, ...)",
        "sgl_kernel::es_fp8_blockwise_scaled_grouped_mm(out!, hidden, w1, ...)",
        "*::cutlass_w4a8_moe_mm(out!, hidden, w1, ...)",
        "primus_turbo*::*grouped_gemm(hidden, w1, ...)",
    ),
    *formulas(
        into("out", "hidden", packed=2),
        "_C::cutlass_fp4_group_mm(out!, hidden, w1, ...)",
        "_C::cutlass_mxfp4_group_mm(out!, hidden, w1, ...)",
    ),
    *formulas(
        _missing,
        "vllm::transformers_moe_forward(...)",
        "sglang::moe_impl(...)",
    ),
    *formulas(
        _routing(5, "softmax; comparisons are not counted"),
        "TopK(logits, ...)",
        "_moe_C::topk_softmax(weights!, indices!, source!, logits, ...)",
        "aiter::topk_softmax*(weights!, indices!, source!, logits, ...)",
        "sgl_kernel::topk_softmax(weights!, indices!, logits, ...)",
        "aiter::grouped_topk(logits, weights!, ids!, ...)",
        "vllm::rocm_aiter_topk_softmax(weights!, indices!, source!, logits, ...)",
        "vllm::rocm_aiter_grouped_topk(logits, weights!, ids!, ...)",
    ),
    *formulas(
        _routing(4, "sigmoid; comparisons are not counted"),
        "_moe_C::topk_sigmoid(weights!, indices!, source!, logits, ...)",
        "aiter::topk_sigmoid(weights!, indices!, logits)",
        "sgl_kernel::topk_sigmoid(weights!, indices!, logits, ...)",
        "vllm::rocm_aiter_topk_sigmoid(weights!, indices!, logits, ...)",
        "aiter::biased_grouped_topk*(logits, bias, weights!, ids!, ...)",
        "vllm::rocm_aiter_biased_grouped_topk(logits, bias, weights!, ids!, ...)",
        "aiter::moe_fused_gate(logits, bias, weights!, ids!, ...)",
        "sgl_kernel::moe_fused_gate(logits, bias, ...)",
        "_moe_C::grouped_topk(logits, ...)",
    ),
    *formulas(
        _bookkeeping,
        "SortTokens(weights, indices, experts)",
        "*::moe_align_block_size(topk_ids, num_experts, block_size, sorted_token_ids!, expert_ids!, "
        "num_tokens!, ...)",
        "aiter::moe_sorting*(topk_ids, topk_weights, sorted_token_ids!, sorted_weights!, sorted_expert_ids!, "
        "num_valid_ids!, buffer!, ...)",
        "*::shuffle_rows(input, map, out!)",
        "_moe_C::moe_permute(input, topk_ids, source, expert_map, n_expert, n_local, topk, out!, offsets!, "
        "inverse!, index!)",
        "*::get_cutlass_*moe_mm_data(topk_ids, ...)",
        "sgl_kernel::prepare_moe_input(topk_ids, ...)",
    ),
    *formulas(_sum, "*::moe_sum(input, out!, ...)", "*::moe_sum_reduce(input, out!, factor)"),
)

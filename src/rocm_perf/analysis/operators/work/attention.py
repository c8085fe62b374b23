"""Attention whose sequences have recorded lengths: two products forward, five backward, over the pairs that are seen.

What is counted of them is said in `model/attention.py`.
"""

from __future__ import annotations

from msgspec.structs import astuple, replace

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, NoFormulaError, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas
from rocm_perf.model.attention import EVERYTHING, Sizes, products, seen_pairs

_PACKED_OR_PAGED = ("cu_seqlens_q", "seqused_k", "block_table", "page_table")
_FROM_FIRST, _FROM_LAST = ("1", "2")  # mask types of the memory-efficient attention


def dense(*, heads_first: bool, backward: bool = False, last: bool = True) -> Count:
    """Sequences of one length: [batch, heads, length, depth], or with the length before the heads."""

    def count(call: Call) -> Counted:
        sizes = _dense_sizes(call, heads_first)
        flops, text = products(sizes, _pairs(call, sizes.rows, sizes.columns, last), backward)
        return Counted(
            flops, text, _result_bytes(call, sizes, backward), on_matrix=True, sizes=astuple(sizes)
        )

    return count


def _dense_sizes(call: Call, heads_first: bool) -> Sizes:
    if any(call.given(name) for name in _PACKED_OR_PAGED):
        raise NoFormulaError("its sequences are packed or paged")
    query, key, value = (call.tensor(name, 4).shape for name in ("query", "key", "value"))
    seat = 2 if heads_first else 1
    return Sizes(
        batch=query[0],
        heads=query[3 - seat],
        rows=query[seat],
        columns=key[seat],
        depth=query[3],
        value_depth=value[3],
    )


def _pairs(call: Call, rows: int, columns: int, last: bool) -> int:
    mask = call.text("mask_type")
    causal = call.is_true("causal") or mask in (_FROM_FIRST, _FROM_LAST)
    return seen_pairs(
        rows,
        columns,
        left=_window(call, "window_left"),
        right=0 if causal else _window(call, "window_right"),
        last=mask == _FROM_LAST if mask else last,
    )


def _window(call: Call, name: str) -> int:
    values = call.integers(name)
    return values[0] if values else EVERYTHING


def _result_bytes(call: Call, sizes: Sizes, backward: bool) -> int:
    query = call.tensor("query")
    if backward:
        return sum(call.size(name) for name in ("query", "key", "value"))
    return element_bytes(query) * sizes.batch * sizes.heads * sizes.rows * sizes.value_depth


def varlen(*, backward: bool = False) -> Count:
    """Sequences one behind the other: [tokens, heads, depth]. Their lengths are values of a tensor; where all are as
    long as the longest, or there is one, they follow from the sizes."""

    def count(call: Call) -> Counted:
        query, key, value = (call.tensor(name, 3).shape for name in ("query", "key", "value"))
        if any(call.given(name) for name in _PACKED_OR_PAGED[1:]):
            raise NoFormulaError("its keys are paged")
        sequences = call.tensor("cu_seqlens_q", 1).shape[0] - 1
        longest = [_longest(call, "max_seqlen_q", query[0]), _longest(call, "max_seqlen_k", key[0])]
        if sequences < 1:
            raise NoFormulaError("it has no sequences")
        one = Sizes(sequences, query[1], query[0] // sequences, key[0] // sequences, query[2], value[2])
        result = _packed_bytes(call, backward)
        if sequences > 1 and [query[0], key[0]] != [sequences * size for size in longest]:
            stated = _by_step(call, one, backward, result)
            return stated or _between(call, one, longest, backward, result)
        flops, text = products(one, _pairs(call, one.rows, one.columns, last=True), backward)
        return Counted(flops, text, result, on_matrix=True, sizes=astuple(one))

    return count


def _by_step(call: Call, one: Sizes, backward: bool, result: int) -> Counted | None:
    """The work by the lengths that the serving step states; None where it states none, or of other queries."""
    queries = call.tensor("query").shape[0]
    if call.step is None or call.step.queries != queries or not call.is_true("causal"):
        return None
    if not call.step.all_context and call.tensor("key").shape[0] != queries:
        return None
    flops, text = products(replace(one, batch=1), call.step.pairs, backward)
    return Counted(flops, text, result, on_matrix=True)


def _longest(call: Call, name: str, otherwise: int) -> int:
    values = call.integers(name)
    return values[0] if values else otherwise


def _packed_bytes(call: Call, backward: bool) -> int:
    if backward:
        return sum(call.size(name) for name in ("query", "key", "value"))
    query, value = call.tensor("query"), call.tensor("value")
    return element_bytes(query) * query.shape[0] * query.shape[1] * value.shape[2]


def _between(call: Call, mean: Sizes, longest: list[int], backward: bool, result: int) -> Counted:
    """Sequences of unequal lengths: the work lies between that of equal ones and that of only the longest."""
    rows = mean.batch * mean.rows
    least, _ = products(mean, _pairs(call, mean.rows, mean.columns, last=True), backward)
    most, _ = products(
        Sizes(1, mean.heads, rows, longest[1], mean.depth, mean.value_depth), rows * longest[1], backward
    )
    why = (
        f"the lengths of its {mean.batch} sequences are values of a tensor, which are not recorded; between "
        f"{least:.3g} (all equal) and {most:.3g} FLOPs (all as long as the longest)"
    )
    return Counted(
        None,
        "2 * heads * sum of the pairs of each sequence * depths",
        result,
        on_matrix=True,
        flops_missing=why,
    )


_AFTER_FLASH = "dropout_p, softmax_scale, causal, window_left, window_right"
_FLASH_OF_8_BITS = (
    "query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, causal, "
    "return_debug_mask, q_descale, k_descale, v_descale, scale, window_left, window_right, seqused_k, alibi_slopes"
)
_FLASH_3 = (
    "fwd(query, key, value, k_new, v_new, q_v, out!, cu_seqlens_q, cu_seqlens_k, cu_seqlens_k_new, "
    "seqused_q, seqused_k, "
    "max_seqlen_q, max_seqlen_k, page_table, kv_batch_idx, leftpad_k, rotary_cos, rotary_sin, "
    "seqlens_rotary, q_descale, "
    "k_descale, v_descale, softmax_scale, causal, window_left, window_right, ...)"
)

FORMULAS: tuple[Formula, ...] = (
    *formulas(
        dense(heads_first=True, last=False),
        "aten::scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, causal, scale, "
        "enable_gqa)",
        "aten::_scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, causal, "
        "dropout_mask, scale, enable_gqa)",
        "aten::_scaled_dot_product_flash_attention(query, key, value, dropout_p, causal, return_debug_mask, "
        "scale)",
        "aten::_scaled_dot_product_flash_attention(query, key, value, q_descale, k_descale, v_descale, dropout_p, "
        "causal, return_debug_mask, scale)",
        "aten::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, causal, attn_mask, "
        "scale)",
        "aten::_scaled_dot_product_efficient_attention(query, key, value, attn_bias, compute_log_sumexp, "
        "dropout_p, causal, scale)",
        "aten::_scaled_dot_product_cudnn_attention(query, key, value, attn_bias, compute_log_sumexp, "
        "dropout_p, causal, return_debug_mask, scale)",
        "aten::_scaled_dot_product_fused_attention_overrideable(query, key, value, attn_bias, dropout_p, "
        "causal, return_debug_mask, scale)",
        "aten::_cudnn_attention_forward(query, key, value, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, "
        "compute_log_sumexp, "
        "dropout_p, causal, return_debug_mask, scale)",
    ),
    *formulas(
        dense(heads_first=True, backward=True, last=False),
        "aten::_scaled_dot_product_flash_attention_backward(grad_out, query, key, value, out, logsumexp, "
        "cum_seq_q, cum_seq_k, "
        "max_q, max_k, dropout_p, causal, philox_seed, philox_offset, scale)",
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward(grad_out, query, key, value, out, "
        "logsumexp, dropout_p, "
        "causal, attn_mask, scale)",
        "aten::_scaled_dot_product_efficient_attention_backward(grad_out, query, key, value, attn_bias, out, "
        "logsumexp, "
        "philox_seed, philox_offset, dropout_p, grad_input_mask, causal, scale)",
        "aten::_cudnn_attention_backward(grad_out, query, key, value, out, logsumexp, philox_seed, "
        "philox_offset, "
        "attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, causal, scale)",
        "aten::_scaled_dot_product_cudnn_attention_backward(grad_out, query, key, value, out, logsumexp, "
        "philox_seed, "
        "philox_offset, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, causal, scale)",
    ),
    *formulas(
        dense(heads_first=False),
        "aten::_flash_attention_forward(query, key, value, cu_seqlens_q, cu_seqlens_k, max_q, max_k, "
        "dropout_p, causal, "
        "return_debug_mask, scale, window_left, window_right, seqused_k, alibi_slopes, block_table, "
        "num_splits)",
        f"aten::_flash_attention_forward({_FLASH_OF_8_BITS})",
        "aten::_efficient_attention_forward(query, key, value, bias, cu_seqlens_q, cu_seqlens_k, "
        "max_seqlen_q, max_seqlen_k, "
        "dropout_p, mask_type, compute_log_sumexp, scale, seqused_k, window_size)",
        f"flash_attn::_flash_attn_forward(query, key, value, {_AFTER_FLASH}, softcap, alibi_slopes, "
        "return_softmax)",
        f"aiter::_flash_attn_forward(query, key, value, {_AFTER_FLASH}, ...)",
        f"aiter::mha_fwd(query, key, value, {_AFTER_FLASH}, sink_size, return_lse, return_random, cu_seqlens_q, "
        "cu_seqlens_k, out!, bias, alibi_slopes, q_descale, k_descale, v_descale, sink, generator)",
        f"aiter::mha_fwd(query, key, value, {_AFTER_FLASH}, return_lse, return_random, out!, bias, alibi_slopes, "
        "generator)",
        f"aiter::fmha_v3_fwd(query, key, value, {_AFTER_FLASH}, return_lse, return_random, cvt, out!, bias, "
        "alibi_slopes, q_descale, k_descale, v_descale, generator)",
        f"aiter::fmha_v3_fwd(query, key, value, {_AFTER_FLASH}, return_lse, return_random, cvt, out!, alibi_slopes, "
        "generator)",
        f"aiter::wrapper_fmha_v3_fwd(query, key, value, {_AFTER_FLASH}, ...)",
        f"aiter::wrapper_mha_fwd(query, key, value, {_AFTER_FLASH}, ...)",
        "aiter::fmha_fwd_bf16_opus_fwd(query, key, value, softmax_scale, causal, out!)",
        "aiter::fmha_fwd_with_sink_asm(query, key, value, softmax_scale, causal, return_lse, sink, out!)",
        f"flash_attn_3::{_FLASH_3}",
        f"sgl_kernel::{_FLASH_3}",
        f"_vllm_fa3_C::{_FLASH_3}",
        "FlashAttnFunc(query, key, value, dropout_p, softmax_scale, causal, ...)",
    ),
    *formulas(
        dense(heads_first=False, backward=True),
        "aten::_flash_attention_backward(grad_out, query, key, value, out, logsumexp, cu_seqlens_q, "
        "cu_seqlens_k, max_q, max_k, "
        "dropout_p, causal, rng_state, unused, scale, window_left, window_right)",
        "aten::_efficient_attention_backward(grad_out, query, key, value, bias, out, cu_seqlens_q, "
        "cu_seqlens_k, max_seqlen_q, "
        "max_seqlen_k, logsumexp, dropout_p, philox_seed, philox_offset, mask_type, bias_requires_grad, "
        "scale, num_splits, window_size, shared_storage)",
        "flash_attn::_flash_attn_backward(grad_out, query, key, value, out, softmax_lse, dq!, dk!, dv!, "
        f"{_AFTER_FLASH}, ...)",
        "aiter::_flash_attn_backward(grad_out, query, key, value, out, softmax_lse, dq!, dk!, dv!, dbias!, "
        f"{_AFTER_FLASH}, ...)",
        f"aiter::mha_bwd(grad_out, query, key, value, out, softmax_lse, {_AFTER_FLASH}, deterministic, dq!, "
        "dk!, dv!, ...)",
        f"aiter::fmha_v3_bwd(grad_out, query, key, value, out, softmax_lse, {_AFTER_FLASH}, deterministic, "
        "atomic, cvt, dq!, dk!, dv!, ...)",
        "aiter::wrapper_fmha_v3_bwd(grad_out, query, key, value, out, softmax_lse, dq!, dk!, dv!, dbias!, "
        f"{_AFTER_FLASH}, ...)",
    ),
    *formulas(
        varlen(),
        "aten::_flash_attention_forward(query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, "
        "max_seqlen_k, dropout_p, "
        "causal, return_debug_mask, scale, window_left, window_right, seqused_k, alibi_slopes, block_table, "
        "num_splits)",
        f"aten::_flash_attention_forward({_FLASH_OF_8_BITS})",
        "flash_attn::_flash_attn_varlen_forward(query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, "
        f"max_seqlen_k, {_AFTER_FLASH}, softcap, alibi_slopes, return_softmax, block_table, ...)",
        "aiter::_flash_attn_varlen_forward(query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, "
        "max_seqlen_k, min_seqlen_q, "
        "dropout_p, softmax_scale, logits_soft_cap, causal, window_left, window_right, ...)",
        "aiter::mha_varlen_fwd(query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, "
        "min_seqlen_q, dropout_p, "
        "softmax_scale, logits_soft_cap, zero_tensors, causal, window_left, window_right, ...)",
        "aiter::fmha_v3_varlen_fwd(query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, "
        "max_seqlen_k, min_seqlen_q, dropout_p, "
        "softmax_scale, logits_soft_cap, zero_tensors, causal, window_left, window_right, ...)",
        f"flash_attn_3::{_FLASH_3}",
        f"sgl_kernel::{_FLASH_3}",
        f"_vllm_fa3_C::{_FLASH_3}",
        "vllm::flash_attn_maxseqlen_wrapper(query, key, value, cu_seqlens_q, max_seqlen_q, ...)",
    ),
    *formulas(
        varlen(backward=True),
        "aten::_flash_attention_backward(grad_out, query, key, value, out, logsumexp, cu_seqlens_q, "
        "cu_seqlens_k, max_seqlen_q, "
        "max_seqlen_k, dropout_p, causal, rng_state, unused, scale, window_left, window_right)",
        "flash_attn::_flash_attn_varlen_backward(grad_out, query, key, value, out, softmax_lse, dq!, dk!, "
        "dv!, cu_seqlens_q, "
        f"cu_seqlens_k, max_seqlen_q, max_seqlen_k, {_AFTER_FLASH}, ...)",
        "aiter::_flash_attn_varlen_backward(grad_out, query, key, value, out, softmax_lse, dq!, dk!, dv!, "
        "cu_seqlens_q, "
        f"cu_seqlens_k, max_seqlen_q, max_seqlen_k, {_AFTER_FLASH}, ...)",
        "aiter::mha_varlen_bwd(grad_out, query, key, value, out, softmax_lse, cu_seqlens_q, cu_seqlens_k, "
        "max_seqlen_q, max_seqlen_k, "
        "dropout_p, softmax_scale, zero_tensors, causal, window_left, window_right, deterministic, dq!, dk!, "
        "dv!, ...)",
    ),
)

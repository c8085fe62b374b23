"""Attention over a cache of keys and values: its work is that of the context lengths, which are values of tensors.

The formula is `2 * heads * sum of (queries * context) * (depth of keys + of values)`; the bytes are those of the
queries, of the results and of the cached keys and values of every sequence. torch.profiler records neither block tables
nor lengths, so what can be said is the bound that a recorded largest length gives.
"""

from __future__ import annotations

from rocm_perf.analysis.operators.work.call import Call, Counted, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_FLOPS = "2 * heads * sum over queries of their context * (depth of keys + of values)"
_LENGTHS = "the context lengths of its sequences are values of a tensor, which are not recorded"


def _cached(call: Call) -> Counted:
    query = call.tensor("query")
    longest = call.integers("max_context")
    if not longest or len(query.shape) != 3:
        return Counted(None, _FLOPS, on_matrix=True, flops_missing=_LENGTHS, bytes_missing=_LENGTHS)
    tokens, heads, depth = query.shape
    most = 4 * tokens * heads * longest[0] * depth
    kept = _cached_bytes(call, tokens * longest[0])
    why = f"{_LENGTHS}; at most {{:.3g}} {{}}, if all were {longest[0]} tokens"
    return Counted(
        flops=None,
        formula=_FLOPS,
        on_matrix=True,
        flops_missing=why.format(most, "FLOPs"),
        bytes_missing=why.format(kept + 2 * call.size("query"), "bytes") if kept else _LENGTHS,
    )


def _cached_bytes(call: Call, tokens: int) -> int:
    """The bytes of the keys and values of so many tokens; 0 where the cache does not say how large one is."""
    heads = call.integers("kv_heads")
    cache = call.given("key_cache")
    if cache is None or not heads:
        return 0
    return 2 * tokens * heads[0] * call.tensor("query").shape[2] * element_bytes(cache)


def _of_a_layer(_: Call) -> Counted:
    why = f"the cache is not among its arguments, and {_LENGTHS}"
    return Counted(None, _FLOPS, on_matrix=True, flops_missing=why, bytes_missing=why)


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _of_a_layer,
        "vllm::unified_attention*(query, key, value, output, ...)",
        "vllm::unified_mla_attention*(query, key, value, output, ...)",
        "sglang::unified_attention*(query, key, value, output, ...)",
        "vllm::*attention_core*(...)",
        "vllm::linear_attention(...)",
    ),
    *formulas(
        _cached,
        "_rocm_C::paged_attention(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, value_cache~, "
        "kv_heads, scale, "
        "block_tables, seq_lens, query_start_loc, block_size, max_context, ...)",
        "_rocm_C::paged_attention(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, value_cache~, "
        "kv_heads, scale, "
        "block_tables, seq_lens, block_size, max_context, ...)",
        "aiter::paged_attention_rocm(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, "
        "value_cache~, kv_heads, scale, "
        "block_tables, context_lens, block_size, max_context, ...)",
        "_C::paged_attention_v1(out!, query, key_cache~, value_cache~, kv_heads, scale, block_tables, "
        "seq_lens, block_size, "
        "max_context, ...)",
        "_C::paged_attention_v2(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, value_cache~, "
        "kv_heads, scale, "
        "block_tables, seq_lens, block_size, max_context, ...)",
        "aiter::paged_attention_v1(out!, workspace~, query, key_cache~, value_cache~, scale, block_tables, "
        "cu_query_lens, "
        "context_lens, max_context, ...)",
        "aiter::paged_attention_ragged(out!, workspace~, query, key_cache~, value_cache~, ...)",
        "aiter::pa_fwd*(query, key_cache~, value_cache~, ...)",
        "aiter::_pa_*(query, key_cache~, value_cache~, ...)",
        "aiter::pa_*(query, key_cache~, value_cache~, ...)",
        "aiter::mha_batch_prefill(query, key_cache~, value_cache~, ...)",
        "aiter::mla_*(query, key_cache~, ...)",
        "aiter::_flash_attn_with_kvcache*(query, key_cache~, value_cache~, ...)",
        "vllm::rocm_aiter_mla_decode_fwd(query, key_cache~, out!, ...)",
        "_vllm_fa*_C::varlen_fwd(query, key_cache~, value_cache~, out!, ...)",
        "_vllm_fa*_C::fwd_kvcache(query, key_cache~, value_cache~, ...)",
        "_vllm_fa*_C::fwd(query, key_cache~, value_cache~, ...)",
        "sgl_kernel::fwd*(query, key_cache~, value_cache~, ...)",
        "flash_attn_3::fwd(query, key_cache~, value_cache~, ...)",
        "*::cutlass_mla_decode(out!, query, q_pe, key_cache~, ...)",
        "_C::sm100_cutlass_mla_decode(out!, lse!, query, q_pe, key_cache~, ...)",
        "*_decode_attention*(query, ...)",
    ),
)

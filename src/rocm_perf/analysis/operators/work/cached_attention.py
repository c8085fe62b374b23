"""Attention over a cache of keys and values: its work is that of the context lengths, which are values of tensors.

The FLOPs are `2 * heads * pairs * (depth of keys + of values)`; the bytes are those of the queries, of the results and
of the cached keys and values of every sequence. torch.profiler records neither block tables nor lengths, but the range
of a serving step may state their sums (step_lengths.py); otherwise a recorded largest length gives a bound.
"""

from __future__ import annotations

from rocm_perf.analysis.operators.work.call import Call, Counted, NoFormulaError, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas
from rocm_perf.analysis.operators.work.step_lengths import StepLengths
from rocm_perf.model.torch_call import Argument

_FLOPS = "2 * heads * pairs of a query and a key it sees * (depth of keys + of values)"
_LENGTHS = "the context lengths of its sequences are values of a tensor, which are not recorded"
_NO_STEP = "; the range of the serving step does not state their sums"
_NO_WINDOW = "at most: whether the layer has a sliding window is not recorded"
_NO_PREFIX = "at least: tokens that the cache held before the step are not stated by its range"


def _cached(call: Call) -> Counted:
    """Keys and values lie in a cache that is an argument."""
    query = call.tensor("query")
    if call.step is not None and len(query.shape) == 3:
        heads, width = _kept(call, query)
        return _known(call, call.step, heads * width)
    return _unknown(call, query)


def _kept(call: Call, query: Argument) -> tuple[int, int]:
    """The heads of the cached keys, and the bytes of one: [pages, tokens, heads, depth], or as an argument says."""
    cache = call.given("key_cache")
    given = call.integers("kv_heads")
    depth = query.shape[2]
    if cache is None:
        raise NoFormulaError("its cache is not the tensor that is expected")
    if given:
        return given[0], depth * element_bytes(cache)
    if cache.shape[-1:] != (depth,) or not (len(cache.shape) == 4 or _is_flat(call, cache)):
        raise NoFormulaError("the layout of its cache is not known")
    return cache.shape[-2], depth * element_bytes(cache)


def _is_flat(call: Call, cache: Argument) -> bool:
    """Whether it is [tokens, heads, depth], as in SGLang, whose pages hold one token, and where keys are packed. Values
    have the same shape there; latent attention (MLA), which has none, keeps something else."""
    values = call.given("value_cache")
    return len(cache.shape) == 3 and values is not None and values.shapes == cache.shapes


def _of_a_layer(call: Call) -> Counted:
    """The cache belongs to the layer: its keys are taken to have the type of those that are added to it."""
    query, key = call.tensor("query"), call.tensor("key")
    if call.step is None or len(query.shape) != 3 or len(key.shape) != 3:
        return _unknown(call, query)
    return _known(call, call.step, key.shape[1] * key.shape[2] * element_bytes(key))


def _other(_: Call) -> Counted:
    why = "neither its cache nor its layout is among its arguments"
    return Counted(None, _FLOPS, on_matrix=True, flops_missing=why, bytes_missing=why)


def _known(call: Call, step: StepLengths, key_bytes: int) -> Counted:
    """By the sums of the step; keys and values of one token take `key_bytes` each."""
    query = call.tensor("query")
    _, heads, depth = query.shape
    doubt = _NO_WINDOW if step.all_context else f"{_NO_PREFIX}; {_NO_WINDOW}"
    return Counted(
        flops=4 * heads * depth * step.pairs,
        formula=f"4 * {heads} heads * {depth} * {step.pairs} pairs",
        output_bytes=query.elements * element_bytes(query),
        touched_bytes=2 * step.context * key_bytes,
        touched=f"keys and values of {step.context} tokens",
        on_matrix=True,
        flops_doubt=doubt,
        bytes_doubt=doubt,
    )


def _unknown(call: Call, query: Argument) -> Counted:
    why = _LENGTHS + _NO_STEP
    longest = call.integers("max_context")
    if longest and len(query.shape) == 3:
        tokens, heads, depth = query.shape
        most = 4 * tokens * heads * longest[0] * depth
        why += f"; at most {most:.3g} FLOPs, if all were {longest[0]} tokens"
    return Counted(None, _FLOPS, on_matrix=True, flops_missing=why, bytes_missing=_LENGTHS + _NO_STEP)


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _of_a_layer,
        "vllm::unified_attention*(query, key~, value~, output!, ...~)",
        "sglang::unified_attention*(query, key~, value~, output!, ...~)",
    ),
    *formulas(
        _other,
        "vllm::unified_mla_attention*(...)",
        "vllm::*attention_core*(...)",
        "vllm::linear_attention(...)",
    ),
    *formulas(
        _cached,
        "_rocm_C::paged_attention(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, value_cache~, "
        "kv_heads, scale, "
        "block_tables, seq_lens, query_start_loc, block_size, max_context, ...~)",
        "_rocm_C::paged_attention(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, value_cache~, "
        "kv_heads, scale, "
        "block_tables, seq_lens, block_size, max_context, ...~)",
        "aiter::paged_attention_rocm(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, "
        "value_cache~, kv_heads, scale, "
        "block_tables, context_lens, block_size, max_context, ...~)",
        "_C::paged_attention_v1(out!, query, key_cache~, value_cache~, kv_heads, scale, block_tables, "
        "seq_lens, block_size, "
        "max_context, ...~)",
        "_C::paged_attention_v2(out!, exp_sums~, max_logits~, tmp_out~, query, key_cache~, value_cache~, "
        "kv_heads, scale, "
        "block_tables, seq_lens, block_size, max_context, ...~)",
        "aiter::paged_attention_v1(out!, workspace~, query, key_cache~, value_cache~, scale, block_tables, "
        "cu_query_lens, "
        "context_lens, max_context, ...~)",
        "aiter::paged_attention_ragged(out!, workspace~, query, key_cache~, value_cache~, ...~)",
        "aiter::pa_fwd*(query, key_cache~, value_cache~, ...~)",
        "aiter::_pa_*(query, key_cache~, value_cache~, ...~)",
        "aiter::pa_*(query, key_cache~, value_cache~, ...~)",
        "aiter::mha_batch_prefill(query, key_cache~, value_cache~, ...~)",
        "aiter::mha_varlen_fwd(query, key_cache~, value_cache~, ...~)",
        "aiter::fmha_v3_varlen_fwd(query, key_cache~, value_cache~, ...~)",
        "flash_attn::_flash_attn_varlen_forward(query, key_cache~, value_cache~, ...~)",
        "aiter::mla_*(query, key_cache~, ...~)",
        "aiter::_flash_attn_with_kvcache*(query, key_cache~, value_cache~, ...~)",
        "vllm::rocm_aiter_mla_decode_fwd(query, key_cache~, out!, ...~)",
        "_vllm_fa*_C::varlen_fwd(query, key_cache~, value_cache~, out!, ...~)",
        "_vllm_fa*_C::fwd_kvcache(query, key_cache~, value_cache~, ...~)",
        "_vllm_fa*_C::fwd(query, key_cache~, value_cache~, ...~)",
        "sgl_kernel::fwd*(query, key_cache~, value_cache~, ...~)",
        "flash_attn_3::fwd(query, key_cache~, value_cache~, ...~)",
        "*::cutlass_mla_decode(out!, query, q_pe, key_cache~, ...~)",
        "_C::sm100_cutlass_mla_decode(out!, lse!, query, q_pe, key_cache~, ...~)",
        "*_decode_attention*(query, ...~)",
    ),
)

"""Rotary embeddings, and what stores keys and values in a cache.

A pair of elements takes four multiplications and two additions: 3 operations for each element that is rotated.
"""

from __future__ import annotations

from math import prod

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_EACH = 3


def _counted(elements: int, touched: int, what: str) -> Counted:
    return Counted(
        flops=_EACH * elements,
        formula=f"{_EACH} * {elements} rotated elements",
        touched_bytes=touched,
        touched=what,
    )


def _in_place(call: Call) -> Counted:
    """Queries and keys of [tokens, heads * size]: the first `rotary` elements of each head are rotated in place."""
    size, table = call.integer("head_size"), call.tensor("cos_sin_cache")
    rotary = table.shape[-1]
    tokens = call.tensor("positions").elements
    elements, moved = 0, tokens * rotary * element_bytes(table)
    for name in ("query", "key"):
        states = call.given(name)
        if states is not None:
            rotated = states.elements // size * min(rotary, size)
            elements += rotated
            moved += 2 * rotated * element_bytes(states)
    return _counted(elements, moved, "queries and keys read and written, a row of the table for each token")


def _into(*inputs: str) -> Count:
    """Inputs of [..., heads, size] that are rotated into outputs; the tables are read a row for each position."""

    def count(call: Call) -> Counted:
        states = [call.tensor(name) for name in inputs]
        elements = sum(tensor.elements for tensor in states)
        tables = [
            table for table in map(call.given, ("cos", "sin", "freqs", "cos_sin_cache")) if table is not None
        ]
        rows = prod(states[0].shape[:-2])
        read = sum(min(table.elements, rows * table.shape[-1]) * element_bytes(table) for table in tables)
        return _counted(elements, read, "a row of the tables for each position")

    return count


def _store(call: Call) -> Counted:
    """Keys and values go to the places of their slots; slots of -1, which stand for padding, are not stored."""
    written = 0
    for source, cache in (("key", "key_cache"), ("value", "value_cache")):
        states, kept = call.given(source), call.given(cache)
        if states is not None and kept is not None:
            written += states.elements * element_bytes(kept)
    return Counted(
        0, "0: moves data", touched_bytes=written, touched="a row of the cache written for each token"
    )


def _store_latent(call: Call) -> Counted:
    elements = call.tensor("kv_c").elements + call.tensor("k_pe").elements
    written = elements * element_bytes(call.tensor("kv_cache"))
    return Counted(
        0, "0: moves data", touched_bytes=written, touched="a row of the cache written for each token"
    )


def _store_of_a_layer(call: Call) -> Counted:
    """The cache is not among the arguments: taken to have the type of the keys."""
    return Counted(0, "0: moves data", output_bytes=call.size("key") + call.size("value"))


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _in_place,
        "*::rotary_embedding(positions, query~, key~, head_size, cos_sin_cache~, ...)",
        "vllm::*rotary_embedding(positions, query~, key~, head_size, cos_sin_cache~, ...)",
    ),
    *formulas(
        _into("input"),
        "aiter::rope_fwd_impl(out!, input, freqs~, ...)",
        "aiter::rope_bwd_impl(out!, input, freqs~, ...)",
        "aiter::rope_cached_fwd_impl(out!, input, cos~, sin~, ...)",
        "aiter::rope_cached_bwd_impl(out!, input, cos~, sin~, ...)",
        "aiter::rope_cached_positions_fwd_impl(out!, input, cos~, sin~, positions, ...)",
        "aiter::rope_thd_fwd_impl(out!, input, cu_seqlens, freqs~, ...)",
    ),
    *formulas(
        _into("input_x", "input_y"),
        "aiter::rope_2c_fwd_impl(out_x!, out_y!, input_x, input_y, freqs~, ...)",
        "aiter::rope_cached_2c_fwd_impl(out_x!, out_y!, input_x, input_y, cos~, sin~, ...)",
        "aiter::rope_cached_2c_bwd_impl(out_x!, out_y!, input_x, input_y, cos~, sin~, ...)",
        "aiter::rope_cached_positions_2c_fwd_impl(out_x!, out_y!, input_x, input_y, cos~, sin~, positions, "
        "...)",
        "aiter::rope_cached_positions_offsets_2c_fwd_impl(out_x!, out_y!, input_x, input_y, cos~, sin~, "
        "positions, offsets, ...)",
        "*::apply_rope_pos_ids_cos_sin_cache(input_x, input_y, out_x!, out_y!, cos_sin_cache~, positions, ...)",
    ),
    *formulas(
        _store,
        "*::reshape_and_cache*(key, value, key_cache~, value_cache~, ...)",
        "sglang::store_cache(key, value, key_cache~, value_cache~, indices, row_bytes, splits)",
        "sgl_kernel::set_kv_buffer*(key_cache~, value_cache~, indices, key, value, ...)",
    ),
    *formulas(
        _store_latent, "*::concat_and_cache_mla*(kv_c, k_pe, kv_cache~, slot_mapping, kv_cache_dtype, scale)"
    ),
    *formulas(
        _store_of_a_layer,
        "vllm::unified_kv_cache_update(key, value, layer_name)",
    ),
)

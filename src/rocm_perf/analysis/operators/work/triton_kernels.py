"""Triton kernels that a user wrote and torch.compile calls, such as `sage_fwd_1`: it records their tensors without
parameters, so what they compute follows from the words of their names and the shapes of their tensors."""

from __future__ import annotations

from rocm_perf.analysis.operators.work.call import Call, Counted, NoFormulaError
from rocm_perf.analysis.operators.work.signature import Formula, formulas
from rocm_perf.model.attention import Sizes, products

_AT_MOST = "at most: whether it is causal, and which axis of its tensors holds the heads, is not recorded"
_DEPTH, _AXES = 3, (1, 2)


def _attention(call: Call) -> Counted:
    """Queries, keys and values come first, [batch, heads, length, depth] or with the length before the heads."""
    query, key, value = (call.tensor(name, 4) for name in ("query", "key", "value"))
    if query.shape[_DEPTH] != key.shape[_DEPTH] or query.shape[0] != key.shape[0]:
        raise NoFormulaError("its first tensors are not queries, keys and values")
    heads, length = sorted(_AXES, key=lambda axis: key.shape[axis])
    if value.shape[length] != key.shape[length]:
        raise NoFormulaError("there are not as many keys as values")
    sizes = Sizes(
        batch=query.shape[0],
        heads=query.shape[heads],
        rows=query.shape[length],
        columns=key.shape[length],
        depth=key.shape[_DEPTH],
        value_depth=value.shape[_DEPTH],
    )
    flops, text = products(sizes, sizes.rows * sizes.columns, backward=False)
    return Counted(flops, text, on_matrix=True, dtype=query.dtype, flops_doubt=_AT_MOST)


def _quantised(call: Call) -> Counted:
    """Every tensor is read or written once; how many operations that takes is the kernel's own affair."""
    call.tensor("first")
    return Counted(0, "0: converts and moves data")


# Looked for where nothing else is known of a name: it belongs to no library.
FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _attention,
        "*sage_fwd*(query, key, value, ...)",
        "*attn_fwd*(query, key, value, ...)",
        "*attn_forward*(query, key, value, ...)",
        "*attention_fwd*(query, key, value, ...)",
        "*attention_forward*(query, key, value, ...)",
    ),
    *formulas(_quantised, "*quant_kernel*(first, ...)", "*quantize_kernel*(first, ...)"),
)

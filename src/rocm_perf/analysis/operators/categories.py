"""Kinds of framework operators, recognised by name."""

from __future__ import annotations

import re
from functools import lru_cache

# The first that fits. Names are torch's, without `aten::` and a trailing underscore.
_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        "collective",
        r"^(c10d|nccl|rccl|gloo|record_param_comms)|all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|broadcast_$"
        r"|^(ragged-)?all-to-all|^collective-(permute|broadcast)",
    ),
    # What XLA calls its operations, and the libraries that it calls.
    ("GEMM", r"^gemm_fusion|^triton_gemm|^dot(\.\d+)+$|__cublas\$"),
    ("convolution", r"^cudnn-conv|__cudnn\$conv"),
    ("attention", r"__cudnn\$fmha|fused_attn"),
    ("compiled", r"fusion(\.\d+)*$|^wrapped_"),
    ("autograd", r"^autograd::|^torch::autograd|Backward\d*$"),
    (
        "compiled",
        r"^triton_|^## Call CompiledFxGraph|^CompiledFunction|^Torch-Compiled|^TorchDynamo|^inductor",
    ),
    ("optimizer", r"^Optimizer\.|_foreach_|_fused_(adam|adamw|sgd|adagrad)|^_amp_"),
    (
        "mixture of experts",
        r"(^|_)(f?moe|experts)(_|$)|grouped_topk|topk_(softmax|sigmoid)|^(TopK|SortTokens)$",
    ),
    ("cache", r"reshape_and_cache|store_cache|kv_cache|concat_and_cache"),
    ("attention", r"attention|flash_attn|fmha|paged_attn|(^|_)mha_|(^|_)mla_|(^|_)(attn|sage)_(fwd|bwd)"),
    ("rotary embedding", r"rotary|(^|_)rope(_|$)"),
    ("convolution", r"conv(olution)?([123]d)?(_transpose)?(_|$)|_convolution"),
    ("GEMM", r"(^|_)(mm|bmm|addmm|baddbmm|addbmm|linear|matmul|mv|addmv|dot|vdot|einsum|gemm)(_|$)"),
    ("normalisation", r"(layer|batch|group|instance|rms)_?norm"),
    ("quantisation", r"(^|_)quant|quant(ize|ise)?(_|$)"),
    ("softmax", r"softmax"),
    ("loss", r"_loss|cross_entropy|nll_"),
    ("pooling", r"pool[123]d|_pool"),
    ("dropout", r"dropout|bernoulli"),
    ("random", r"^(normal|uniform|rand\w*|random|multinomial|exponential)$"),
    ("sort", r"^(sort|argsort|topk|unique\w*|_unique\w*|kthvalue|msort)$"),
    (
        "indexing",
        r"index|gather|scatter|embedding|masked_|where|nonzero|take|one_hot|^(tril|triu|roll|flip|put|_assert_async)$",
    ),
    (
        "reduction",
        r"^(sum|mean|max|min|amax|amin|any|all|prod|var|std|norm|linalg_(vector_)?norm|logsumexp|argmax|argmin|"
        r"cumsum|cumprod|count_nonzero|aminmax|item|_local_scalar_dense|var_mean|std_mean)$",
    ),
    (
        "copy",
        r"^(copy|_to_copy|to|clone|contiguous|cat|stack|repeat|pin_memory|_pin_memory|type_as|cpu|cuda)$",
    ),
    (
        "allocation and views",
        r"^(empty\w*|new_\w+|zeros\w*|ones\w*|full\w*|resize\w*|view\w*|_unsafe_view|reshape\w*|_reshape_alias|"
        r"transpose|t|permute|expand\w*|slice|select|unsqueeze|squeeze|as_strided\w*|detach\w*|alias|flatten|split\w*|"
        r"chunk|narrow|unbind|set|lift_fresh|arange|is_\w+|result_type|size|stride|numel|movedim|unfold|scalar_tensor)$",
    ),
    (
        "elementwise",
        r"^(fill|zero|add|sub|rsub|mul|div|pow|neg|abs|sqrt|rsqrt|exp|log|tanh|sigmoid|gelu|silu|relu|threshold|sin|cos|"
        r"clamp\w*|maximum|minimum|eq|ne|lt|le|gt|ge|logical_\w+|bitwise_\w+|addc\w+|lerp|floor\w*|ceil|round|erf|"
        r"reciprocal|square|isnan|isinf|isfinite|remainder|fmod|sign|\w+_and_mul\w*|leaky_relu|hardtanh|mish|elu|glu|__\w+__)"
        r"(_backward)?$",
    ),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS)

OTHER = "other"


@lru_cache(maxsize=65_536)
def operator_category(name: str) -> str:
    """`aten::add_` -> elementwise. Operators of other libraries are recognised without their library, too."""
    named = _category(name.removeprefix("aten::"))
    return named if named != OTHER else _category(name.rsplit("::", maxsplit=1)[-1])


def _category(name: str) -> str:
    plain = name.rstrip("_") or name
    return next((kind for kind, pattern in _COMPILED if pattern.search(plain)), OTHER)

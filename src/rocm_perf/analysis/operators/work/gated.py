"""Activations that multiply one half of their input by a function of the other: `silu(a) * b`."""

from __future__ import annotations

from rocm_perf.analysis.operators.work.call import Call, Count, Counted, element_bytes
from rocm_perf.analysis.operators.work.signature import Formula, formulas

_QUANTISE = 3  # absolute value, maximum, scale


def _gated(more: int = 0) -> Count:
    """Two operations for each element of the result, the function counted as one, and `more`."""

    def count(call: Call) -> Counted:
        data = call.tensor("input")
        results = data.elements // 2
        steps = "activation, multiply" + (", quantise" if more else "")
        width = 1 if more else element_bytes(data)
        return Counted((2 + more) * results, f"{2 + more} * {results} results: {steps}", width * results)

    return count


def _separate(call: Call) -> Counted:
    data = call.tensor("input")
    return Counted(
        2 * data.elements,
        f"2 * {data.elements} results: activation, multiply",
        element_bytes(data) * data.elements,
    )


def _plain(call: Call) -> Counted:
    data = call.tensor("input")
    return Counted(
        data.elements, f"1 * {data.elements} elements: activation", element_bytes(data) * data.elements
    )


FORMULAS: tuple[Formula, ...] = (
    *formulas(
        _gated(),
        "*::silu_and_mul(out!, input, ...)",
        "*::mul_and_silu(out!, input)",
        "*::gelu_and_mul(out!, input)",
        "*::gelu_tanh_and_mul(out!, input)",
        "*::fatrelu_and_mul(out!, input, threshold)",
        "*::swiglu*_and_mul(out!, input, ...)",
        "*::situ_and_mul(out!, input, ...)",
        "*::silu_and_mul_with_clamp(out!, input, ...)",
        "*::scaled_silu_and_mul(out!, input, scale)",
        "*::silu_and_mul_bias(out!, input, expert_ids, bias~)",
        "*::silu_and_mul_quant(out!, input, scale)",
        "aten::glu(input, dim)",
    ),
    *formulas(
        _gated(_QUANTISE),
        "*::silu_and_mul_per_block_quant(out!, input, scales!, ...)",
        "*::silu_and_mul_nvfp4_quant(out!, scales!, input, input_scale)",
        "vllm::rocm_aiter_act_mul_and_fp8_group_quant(input, group_size)",
    ),
    *formulas(_separate, "LigerSiLUMulFunction(input, other)", "LigerGELUMulFunction(input, other)"),
    *formulas(
        _plain,
        "_C::gelu_new(out!, input)",
        "_C::gelu_fast(out!, input)",
        "_C::gelu_quick(out!, input)",
        "_C::relu_squared(out!, input)",
        "sgl_kernel::gelu_quick(out!, input)",
        "aiter::gelu_fast(out!, input)",
    ),
)

"""Arguments of operators as torch.profiler writes them."""

from __future__ import annotations

from rocm_perf.model.torch_call import Argument, arguments


def test_tensors_scalars_lists_and_what_is_absent() -> None:
    decoded = arguments(
        "[[4, 8], [], [], [[2], [3, 1]], [], []]",
        '["c10::BFloat16", "long int", "Scalar", "TensorList", "", "TensorList"]',
        "[[1, 4], [], [], [[1], [1, 1]], [], []]",
        '["", "", "0.5", "", "", ""]',
    )
    assert decoded == (
        Argument("tensor", ((4, 8),), ((1, 4),), "bfloat16", 2),
        Argument("tensor", ((),), ((),), "int64", 8),
        Argument("value", text="0.5"),
        Argument("tensors", ((2,), (3, 1)), ((1,), (1, 1))),
        Argument("none"),
        Argument("unknown", text="TensorList"),
    )
    assert (decoded[0].shape, decoded[0].elements, decoded[3].elements) == ((4, 8), 32, 5)


def test_strides_may_be_missing() -> None:
    assert arguments("[[4]]", '["float"]') == (Argument("tensor", ((4,),), (), "float32", 4),)


def test_nothing_recorded_or_nothing_readable_is_none() -> None:
    assert arguments(None, None) is None
    assert arguments("[[4", "{}") is None


def test_types_by_the_names_of_torch_itself() -> None:
    """Some tools write `BFloat16`; `Int` without sizes is what old releases call a number."""
    tensor, integers, number = (
        arguments("[[4], [2], []]", '["BFloat16", "Long", "Int"]', None, '["", "", "3"]') or ()
    )
    assert tensor == Argument("tensor", ((4,),), (), "bfloat16", 2)
    assert (integers.dtype, integers.element_bytes) == ("int64", 8)
    assert number == Argument("value", text="3")

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


def test_scalars_behind_the_shapes_that_were_written_are_read() -> None:
    """Some writers list shapes and types of the tensors alone, and the scalars of all arguments."""
    decoded = arguments(
        "[[1, 3, 8, 8], [4, 3, 3, 3]]", '["Float", "Float"]', None, '["", "", "", "(2,2)", "1"]'
    )

    assert decoded is not None
    assert [argument.kind for argument in decoded] == ["tensor", "tensor", "none", "value", "value"]
    assert decoded[3].text == "(2,2)"


def test_a_step_of_one_along_every_axis_is_no_stride() -> None:
    """A row with a window slid over it has two axes of step 1; a tensor of images has one."""
    placeholder, window = (
        arguments("[[64, 3, 1, 1], [5, 4]]", '["Float", "Float"]', "[[1, 1, 1, 1], [1, 1]]") or ()
    )

    assert placeholder.strides == ()
    assert window.strides == ((1, 1),)

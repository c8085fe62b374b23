"""FLOPs and bytes from shapes, against sums worked out by counting."""

from __future__ import annotations

import json
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.analysis.operators.work import operator_work

SIZE = st.integers(1, 5)


def work(
    name: str, shapes: list[object], dtypes: list[str], inputs: list[str] | None = None
) -> tuple[object, object]:
    cost = operator_work(name, json.dumps(shapes), json.dumps(dtypes), json.dumps(inputs) if inputs else None)
    assert cost.flops.known == cost.bytes.known
    return cost.flops.value, cost.bytes.value


@given(SIZE, SIZE, SIZE, SIZE)
def test_products_count_every_multiply_and_add(b: int, m: int, n: int, k: int) -> None:
    flops = sum(2 for _ in product(range(m), range(n), range(k)))
    f4 = "float"
    assert work("aten::mm", [[m, k], [k, n]], [f4, f4]) == (flops, 4 * (m * k + k * n + m * n))
    assert work("aten::addmm", [[n], [m, k], [k, n]], [f4] * 3) == (flops, 4 * (n + m * k + k * n + m * n))
    assert work("aten::linear", [[b, m, k], [n, k], []], [f4, f4, ""])[0] == b * flops
    assert work("aten::bmm", [[b, m, k], [b, k, n]], ["c10::Half"] * 2) == (
        b * flops,
        2 * b * (m * k + k * n + m * n),
    )
    assert work("aten::baddbmm", [[b, m, n], [b, m, k], [b, k, n]], [f4] * 3)[0] == b * flops
    assert work("aten::matmul", [[b, 1, m, k], [k, n]], [f4, f4])[0] == b * flops
    assert work("aten::matmul", [[k], [k]], [f4, f4])[0] == 2 * k


@given(
    SIZE,
    st.integers(1, 2),
    SIZE,
    SIZE,
    st.integers(3, 6),
    st.integers(1, 3),
    st.integers(1, 2),
    st.integers(0, 1),
)
def test_a_convolution_counts_every_tap(  # noqa: PLR0917  (as many as a convolution has)
    batch: int, groups: int, inputs: int, outputs: int, size: int, taps: int, stride: int, pad: int
) -> None:
    channels, filters = groups * inputs, groups * outputs
    positions = len(range(0, size + 2 * pad - taps + 1, stride))
    counted = sum(
        2 for _ in product(range(batch), range(filters), range(positions**2), range(inputs * taps**2))
    )
    shapes: list[object] = [[batch, channels, size, size], [filters, inputs, taps, taps], [], [], [], [], []]
    types = ["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar"]
    texts = ["", "", "", f"[{stride}, {stride}]", f"[{pad}]", "[1, 1]", str(groups)]
    cost = work("aten::conv2d", shapes, types, texts)
    moved = 4 * (
        batch * channels * size**2 + prod([filters, inputs, taps, taps]) + batch * filters * positions**2
    )
    assert cost == (counted, moved)
    swapped = ["", "", "", texts[4], texts[3], "[1, 1]", str(groups), "False", "False"]
    assert work("aten::miopen_convolution", [*shapes, [], []], [*types, "Scalar", "Scalar"], swapped) == cost
    out = [batch, filters, positions, positions]
    backward: list[object] = [out, *shapes[:2], [], [], [], [], [], [], [], []]
    words = ["", "", "", "[0]", texts[3], texts[4], "[1, 1]", "False", "[0, 0]", str(groups)]
    both = work(
        "aten::convolution_backward", backward, ["float"] * 3 + [""] * 8, [*words, "[True, True, False]"]
    )
    one = work(
        "aten::convolution_backward", backward, ["float"] * 3 + [""] * 8, [*words, "[False, True, False]"]
    )
    assert (both[0], one[0]) == (2 * counted, counted)


@given(SIZE, SIZE, SIZE, SIZE, st.integers(1, 4))
def test_attention_counts_the_pairs_it_looks_at(
    batch: int, heads: int, rows: int, columns: int, depth: int
) -> None:
    shapes: list[object] = [[batch, heads, rows, depth], *([[batch, heads, columns, depth]] * 2), [], [], []]
    types = ["c10::BFloat16"] * 3 + ["", "Scalar", "Scalar"]
    full = work("aten::scaled_dot_product_attention", shapes, types, ["", "", "", "", "0.", "False"])
    causal = work("aten::scaled_dot_product_attention", shapes, types, ["", "", "", "", "0.", "True"])
    seen = sum(1 for i, j in product(range(rows), range(columns)) if j <= i)
    assert full[0] == batch * heads * rows * columns * 4 * depth
    assert causal[0] == batch * heads * seen * 4 * depth
    swapped: list[object] = [
        [batch, rows, heads, depth],
        *([[batch, columns, heads, depth]] * 2),
        *([[]] * 7),
    ]
    flash = work(
        "aten::_flash_attention_forward", swapped, types[:3] + [""] * 7, [""] * 8 + ["False", "False"]
    )
    assert flash == full


def test_attention_backward_is_five_products_of_which_the_forward_is_two() -> None:
    qkv: list[object] = [[2, 4, 8, 16]] * 3
    forward = work(
        "aten::_scaled_dot_product_flash_attention", [*qkv, [], []], ["float"] * 3 + ["Scalar"] * 2
    )
    backward = work(
        "aten::_scaled_dot_product_flash_attention_backward", [[2, 4, 8, 16], *qkv], ["float"] * 4
    )
    assert isinstance(forward[0], int)
    assert backward[0] == 5 * forward[0] // 2


@pytest.mark.parametrize(
    ("name", "per_element"),
    [("aten::native_layer_norm", 5), ("aten::rms_norm", 3), ("aten::_softmax", 5), ("aten::gelu", 1)],
)
def test_row_operators_read_and_write_once(name: str, per_element: int) -> None:
    assert work(name, [[4, 8]], ["c10::Half"]) == (per_element * 32, 2 * 2 * 32)


def test_batch_norm_knows_training_from_inference() -> None:
    shapes: list[object] = [[2, 3, 4, 4], [3], [3], [3], [3], []]
    types = ["float"] * 5 + ["Scalar"]
    training, inference = (
        work("aten::batch_norm", shapes, types, ["", "", "", "", "", flag])[0] for flag in ("True", "False")
    )
    assert (training, inference) == (7 * 96, 4 * 96)


def test_elementwise_broadcasts_and_copies_compute_nothing() -> None:
    assert work("aten::add", [[4, 1, 3], [5, 1], []], ["float", "c10::Half", "Scalar"]) == (
        60,
        4 * 12 + 2 * 5 + 4 * 60,
    )
    assert work("aten::eq", [[4], []], ["float", "Scalar"]) == (4, 4 * 4 + 4)
    assert work("aten::copy_", [[4, 3], [3], []], ["c10::Half", "float", "Scalar"]) == (0, 2 * 12 + 4 * 3)


@pytest.mark.parametrize(
    ("name", "shapes", "types", "reason"),
    [
        ("aten::mm", None, None, "record_shapes=True"),
        ("aten::frobnicate", "[[2]]", '["float"]', "no formula for aten::frobnicate"),
        ("aten::mm", "[[2, 3], [4, 5]]", '["float", "float"]', "do not fit its formula"),
        ("aten::mm", "[[2, 3]]", '["float"]', "do not fit its formula"),
        ("aten::add", "[[2], [3]]", '["float", "float"]', "do not broadcast"),
        (
            "aten::_flash_attention_forward",
            "[[8, 2, 4], [8, 2, 4], [8, 2, 4], [3]]",
            '["float","float","float","int"]',
            "the lengths of its 2 sequences are values of a tensor",
        ),
        ("aten::conv2d", "[[1, 1, 4, 4], [1, 1, 3, 3], []]", '["float", "float", ""]', "do not fit"),
        ("_C::moe_sum", "[[4, 0, 8], [4, 8]]", '["float", "float"]', "one of its sizes is zero"),
    ],
)
def test_what_is_not_known_says_why(name: str, shapes: str | None, types: str | None, reason: str) -> None:
    cost = operator_work(name, shapes, types)
    assert cost.flops.value is None
    assert reason in str(cost.flops.unavailable)


HALF, FLOAT, NUMBER = (
    "c10::BFloat16",
    "float",
    "double",
)  # a Python number is written as a double without dimensions


@pytest.mark.parametrize(
    ("name", "shapes", "dtypes", "moved"),
    [
        ("aten::mul", [[8, 4], []], [HALF, NUMBER], 2 * 32 + 8 + 2 * 32),
        ("aten::add", [[8, 4], [], []], ["int", "long int", "Scalar"], 4 * 32 + 8 + 4 * 32),
        ("aten::mul", [[8, 4], []], ["int", NUMBER], 4 * 32 + 8 + 4 * 32),
        ("aten::add", [[8, 4], [8, 4], []], [HALF, "c10::Half", "Scalar"], 2 * 2 * 32 + 4 * 32),
        ("aten::mul", [[8, 4], []], ["bool", "long int"], 32 + 8 + 8 * 32),
        ("aten::div", [[8, 4], []], ["long int", "long int"], 8 * 32 + 8 + 4 * 32),
        ("aten::sqrt", [[8, 4]], ["short"], 2 * 32 + 4 * 32),
        ("aten::gt", [[8, 4], []], [HALF, NUMBER], 2 * 32 + 8 + 32),
        ("aten::mul", [[], []], [HALF, "float"], 2 + 4 + 4),
    ],
)
def test_a_number_beside_a_tensor_does_not_widen_the_result(
    name: str, shapes: list[object], dtypes: list[str], moved: int
) -> None:
    """The result has the type that torch.result_type names."""
    assert work(name, shapes, dtypes)[1] == moved


@pytest.mark.parametrize(
    ("name", "inputs", "out"),
    [
        ("aten::mm", [[8, 4], [4, 2]], [8, 2]),
        ("aten::bmm", [[3, 8, 4], [3, 4, 2]], [3, 8, 2]),
        ("aten::addmm", [[2], [8, 4], [4, 2], [], []], [8, 2]),
        ("aten::add", [[8, 4], [1, 4], []], [8, 4]),
        ("aten::mul", [[8, 4], [4]], [8, 4]),
        ("aten::relu", [[8, 4]], [8, 4]),
        ("aten::_softmax", [[8, 4], [], []], [8, 4]),
    ],
)
def test_a_tensor_given_as_out_is_only_written(name: str, inputs: list[object], out: list[int]) -> None:
    """The same call with and without `out=` does the same work."""
    dtypes = [HALF if shape else "Scalar" for shape in inputs]
    assert work(name, [*inputs, out], [*dtypes, HALF]) == work(name, inputs, dtypes)
    wider = work(name, [*inputs, out], [*dtypes, FLOAT])[1]
    assert wider == work(name, inputs, dtypes)[1] + 2 * prod(out)  # type: ignore[operator]


def test_what_is_changed_in_place_keeps_its_type() -> None:
    assert work("aten::add_", [[8, 4], [8, 4], []], [HALF, FLOAT, "Scalar"])[1] == (2 + 4 + 2) * 32
    assert work("aten::mul_", [[8, 4], []], ["int", NUMBER])[1] == 4 * 32 + 8 + 4 * 32


def test_the_type_that_a_call_asks_for_is_written() -> None:
    eight = "c10::Float8_e4m3fnuz"
    shapes: list[object] = [[8, 4], [4, 2], [], [], [], [], [], []]
    types = [eight, eight, FLOAT, FLOAT, "", "", "Scalar", "Scalar"]
    new = work("aten::_scaled_mm", shapes, types, ["", "", "", "", "", "", "15", "True"])
    assert new == (2 * 8 * 4 * 2, 32 + 8 + 4 + 4 + 2 * 16)
    older = [eight, eight, "", "Scalar", FLOAT, FLOAT, "", "Scalar"]
    assert work("aten::_scaled_mm", shapes, older, ["", "", "", "15", "", "", "", "True"]) == new
    halves = work("aten::_softmax", [[8, 4], [], []], [HALF, "Scalar", "Scalar"], ["", "-1", "True"])
    assert halves[1] == (2 + 4) * 32

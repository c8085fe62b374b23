"""FLOPs and bytes of HLO operations, against what one counts by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocm_perf.ingest.io.protobuf import BrokenMessageError
from rocm_perf.ingest.xplane.hlo import Instruction, Program
from rocm_perf.ingest.xplane.hlo_cost import Cost, cost_of, holds_products
from rocm_perf.ingest.xplane.messages import hlo_messages

F32, BF16, S8, TUPLE = 11, 16, 2, 13


class Made:
    """A program that is put together instruction by instruction; computation 1 is what runs."""

    def __init__(self) -> None:
        self.proto = hlo_messages()["HloProto"]()
        self.proto.hlo_module.name = b"jit_f"
        self._ids = 0

    def computation(self, number: int) -> Any:
        found = [c for c in self.proto.hlo_module.computations if c.id == number]
        return found[0] if found else self.proto.hlo_module.computations.add(id=number)

    def add(
        self, opcode: str, shape: tuple[int, ...] | list[tuple[int, ...]], *operands: int, **more: Any
    ) -> int:
        """The id of a new instruction; `dtype`, `into` (a computation) and `calls` go before the message's fields."""
        self._ids += 1
        dtype, computation = more.pop("dtype", F32), self.computation(more.pop("into", 1))
        one = computation.instructions.add(
            id=self._ids, name=f"{opcode}.{self._ids}".encode(), opcode=opcode.encode()
        )
        if isinstance(shape, list):
            one.shape.element_type = TUPLE
            for size, kind in zip(shape, dtype, strict=True):
                one.shape.tuple_shapes.add(element_type=kind, dimensions=size)
        else:
            one.shape.element_type = dtype
            one.shape.dimensions.extend(shape)
        one.operand_ids.extend(operands)
        one.called_computation_ids.extend(more.pop("calls", ()))
        for name, value in more.items():
            setattr(one, name, value)
        return self._ids

    def message(self, number: int) -> Any:
        return next(i for c in self.proto.hlo_module.computations for i in c.instructions if i.id == number)

    def found(self, number: int) -> tuple[Program, Instruction]:
        program = Program(self.proto.SerializeToString())
        return program, program.instructions[self.message(number).name.decode()]

    def cost(self, number: int) -> Cost:
        return cost_of(*self.found(number))


def parameters(made: Made, *shapes: tuple[int, ...], into: int = 1, dtype: int = F32) -> list[int]:
    return [made.add("parameter", shape, into=into, dtype=dtype) for shape in shapes]


def test_a_product() -> None:
    """[4, 8, 16] x [4, 16, 32], batched, in bf16: 2 * 4 * 8 * 32 * 16, and 2 bytes of each element once."""
    made = Made()
    a, b = parameters(made, (4, 8, 16), (4, 16, 32), dtype=BF16)
    dot = made.add("dot", (4, 8, 32), a, b, dtype=BF16)
    made.message(dot).dot_dimension_numbers.lhs_contracting_dimensions.append(2)
    assert made.cost(dot)[:2] == (2 * 4 * 8 * 32 * 16, 2 * (4 * 8 * 16 + 4 * 16 * 32 + 4 * 8 * 32))


@pytest.mark.parametrize("axis", [1, "1"])
def test_a_product_by_a_library(axis: object) -> None:
    """The workspace at the end of the tuple is not a result."""
    made = Made()
    a, b = parameters(made, (4096, 6144), (2048, 6144), dtype=BF16)
    config = {"gemm_backend_config": {"dot_dimension_numbers": {"lhs_contracting_dimensions": [axis]}}}
    call = made.add("custom-call", [(4096, 2048), (1 << 20,)], a, b, dtype=(BF16, S8),
                    custom_call_target=b"__cublas$gemm", backend_config=json.dumps(config).encode())  # fmt: skip
    assert made.cost(call)[:2] == (2 * 4096 * 2048 * 6144, 2 * (4096 * 6144 + 2048 * 6144 + 4096 * 2048))


FORWARD = 2 * (2 * 8 * 6 * 6) * (3 * 5 * 5)  # outputs, and weights of each


@pytest.mark.parametrize(
    ("target", "data", "weights", "result"),
    [
        ("__cudnn$convForward", (2, 3, 10, 10), (8, 3, 5, 5), (2, 8, 6, 6)),
        ("__cudnn$convBackwardInput", (2, 8, 6, 6), (8, 3, 5, 5), (2, 3, 10, 10)),
        ("__cudnn$convBackwardFilter", (2, 3, 10, 10), (2, 8, 6, 6), (8, 3, 5, 5)),
    ],
)
def test_a_convolution_and_its_gradients(
    target: str, data: tuple[int, ...], weights: tuple[int, ...], result: tuple[int, ...]
) -> None:
    made = Made()
    operands = parameters(made, data, weights)
    call = made.add("custom-call", result, *operands, custom_call_target=target.encode())
    made.message(call).convolution_dimension_numbers.kernel_output_feature_dimension = 0
    assert made.cost(call).flops == FORWARD


# What Transformer Engine states of a call: 2 sequences of 16 heads, 2,048 queries and keys of 128 values.
STATED = {"input_batch": 2, "attn_heads": 16, "q_max_seqlen": 2048, "kv_max_seqlen": 2048, "qk_head_dim": 128,
          "v_head_dim": 128, "mask_type": 2, "max_segments_per_seq": 1, "window_size_left": -1}  # fmt: skip
NONE, PADDED, CAUSAL, TO_THE_LAST = 0, 1, 2, 4  # mask types
CAUSAL_PAIRS = 2048 * 2049 // 2


def attention(direction: str, **changed: int | None) -> Cost:
    made = Made()
    queries = parameters(made, (2, 2048, 16, 128), dtype=BF16)
    stated = {name: value for name, value in {**STATED, **changed}.items() if value is not None}
    config = (
        "{" + ", ".join(f"{name} = {value} : i64" for name, value in stated.items()) + ", is_training = true}"
    )
    target = f"te_fused_attn_{direction}_ffi"
    call = made.add("custom-call", [(2, 2048, 16, 128), (1 << 20,)], *queries, dtype=(BF16, S8),
                    custom_call_target=target.encode(), backend_config=config.encode())  # fmt: skip
    assert holds_products(*made.found(call))
    return made.cost(call)


@pytest.mark.parametrize(
    ("changed", "pairs"),
    [
        ({}, CAUSAL_PAIRS),
        ({"mask_type": NONE}, 2048 * 2048),
        ({"mask_type": TO_THE_LAST, "kv_max_seqlen": 4096}, CAUSAL_PAIRS + 2048 * 2048),
        ({"mask_type": CAUSAL, "kv_max_seqlen": 4096}, CAUSAL_PAIRS),
        ({"window_size_left": 0}, 2048),
    ],
)
def test_attention_of_transformer_engine(changed: dict[str, int], pairs: int) -> None:
    forward, backward = (attention(direction, **changed) for direction in ("forward", "backward"))
    assert forward.flops == 2 * 2 * 16 * pairs * (128 + 128)
    assert backward.flops == 2 * 2 * 16 * pairs * (3 * 128 + 2 * 128)
    assert not forward.doubt


def test_attention_moves_its_tensors_and_not_its_scratch_memory() -> None:
    assert attention("forward").bytes == 2 * (2 * 2048 * 16 * 128) * 2


@pytest.mark.parametrize("changed", [{"mask_type": PADDED}, {"max_segments_per_seq": 2}])
def test_attention_of_sequences_whose_lengths_are_not_recorded_is_a_bound(changed: dict[str, int]) -> None:
    assert attention("forward", **changed).doubt.startswith("at most: how long its sequences are")


def test_attention_that_does_not_state_its_sizes() -> None:
    assert attention("forward", attn_heads=None)[::2] == (
        None,
        "te_fused_attn_forward_ffi does not state its attn_heads",
    )
    older = attention("forward", qk_head_dim=None, v_head_dim=None, head_dim=64)
    assert older.flops == 2 * 2 * 16 * CAUSAL_PAIRS * (64 + 64)


def test_a_fusion_computes_what_is_inside_and_moves_its_ends() -> None:
    """tanh(a + b): two FLOPs for each element, two operands in, one result out."""
    made = Made()
    a, b = parameters(made, (100,), (100,), into=2)
    total = made.add("add", (100,), a, b, into=2)
    made.add("tanh", (100,), total, into=2)
    outer = parameters(made, (100,), (100,))
    fusion = made.add("fusion", (100,), *outer, calls=(2,))
    assert made.cost(fusion)[:2] == (200, 3 * 400)


def test_a_fusion_that_slices_reads_the_slice() -> None:
    """One layer of stacked weights: [24, 1000] -> [1, 1000]."""
    made = Made()
    stack, place = parameters(made, (24, 1000), (), into=2)
    layer = made.add("dynamic-slice", (1, 1000), stack, place, into=2)
    made.add("negate", (1, 1000), layer, into=2)
    fusion = made.add("fusion", (1, 1000), *parameters(made, (24, 1000), ()), calls=(2,))
    assert made.cost(fusion).bytes == 4000 + 4 + 4000


def test_a_fusion_that_writes_into_its_operand_moves_the_update() -> None:
    made = Made()
    cache, update, place = parameters(made, (512, 1000), (1, 1000), (), into=2)
    made.add("dynamic-update-slice", (512, 1000), cache, update, place, into=2)
    fusion = made.add("fusion", (512, 1000), *parameters(made, (512, 1000), (1, 1000), ()), calls=(2,))
    assert made.cost(fusion).bytes == 4000 + 4 + 4000


def test_a_reduction_takes_one_step_less_than_it_has_elements() -> None:
    made = Made()
    reduce = made.add("reduce", (10,), *parameters(made, (10, 32), ()))
    assert made.cost(reduce)[:2] == (320 - 10, 4 * (320 + 1 + 10))


def test_what_only_a_library_knows_says_so() -> None:
    made = Made()
    call = made.add("custom-call", (8,), *parameters(made, (8,)), custom_call_target=b"my_kernel")
    assert made.cost(call) == Cost(None, 64, "no formula for the custom call my_kernel")


def test_a_program_that_calls_itself_comes_to_an_end() -> None:
    made = Made()
    a, b = parameters(made, (8,), (8,), into=2)
    made.add("add", (8,), a, b, into=2)
    fusion = made.add("fusion", (8,), into=2, calls=(2,))
    assert made.cost(fusion).flops is not None


def test_sizes_beyond_every_memory_do_not_overflow() -> None:
    made = Made()
    big = (1 << 62, 1 << 62)
    a, b = parameters(made, big, big)
    cost = made.cost(made.add("add", big, a, b))
    assert (cost.flops, cost.bytes) == (None, None)
    assert "none that a machine could hold" in cost.formula


def test_operations_that_call_what_holds_them_are_counted_once() -> None:
    made = Made()
    ids = [made.add("fusion", (2,), into=2, calls=[2]) for _ in range(100)]
    fusion = made.add("fusion", (2,), calls=[2])
    assert len(ids) == 100
    assert made.cost(fusion).flops == 0
    assert not holds_products(*made.found(fusion))


def test_operations_that_refer_to_one_another_too_often_are_refused() -> None:
    made = Made()
    for _ in range(2_000):
        made.add("add", (2,), into=2)
        made.add("fusion", (2,), calls=[2])
    with pytest.raises(BrokenMessageError, match="refer to one another too often"):
        Program(made.proto.SerializeToString())


@pytest.mark.parametrize("opcode", ["dot", "reduce"])
def test_a_first_operand_without_a_shape(opcode: str) -> None:
    made = Made()
    nothing, array = made.add("parameter", (2,), dtype=99), made.add("parameter", (2,))
    product = made.add(opcode, (2,), nothing, array)
    made.message(product).dot_dimension_numbers.lhs_contracting_dimensions.append(0)
    assert made.cost(product).flops == (None if opcode == "dot" else 0)


def test_an_axis_is_contracted_once() -> None:
    made = Made()
    array = made.add("parameter", (1 << 62,))
    product = made.add("dot", (2,), array, array)
    made.message(product).dot_dimension_numbers.lhs_contracting_dimensions.extend([0] * 5000)
    assert made.cost(product).flops is None


def test_an_attention_that_states_numbers_of_thousands_of_digits() -> None:
    names = ("input_batch", "attn_heads", "q_max_seqlen", "kv_max_seqlen", "head_dim", "mask_type")
    made = Made()
    for digits in (18, 5000):
        config = " ".join(f"{name} = {'9' * digits} : i64" for name in names).encode()
        target = b"te_fused_attn_forward_ffi"
        call = made.add("custom-call", (2,), custom_call_target=target, backend_config=config)
        assert made.cost(call).flops is None

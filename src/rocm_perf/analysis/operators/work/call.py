"""One call of an operator with its arguments by name, and what a formula counts of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import msgspec

from rocm_perf.analysis.operators.work.routed import Routed
from rocm_perf.analysis.operators.work.step_lengths import StepLengths
from rocm_perf.model.torch_call import Argument

Shape = tuple[int, ...]

# Element types as torch numbers them in recorded arguments (c10/core/ScalarType.h), and their bytes.
_TYPE_BYTES = {
    **dict.fromkeys((0, 1, 11, 23, 24, 25, 26, 44, 45), 1),  # 8 bits, bool, fp8, e8m0, two of fp4
    **dict.fromkeys((2, 5, 15), 2),  # int16, half, bfloat16
    **dict.fromkeys((3, 6), 4),
    **dict.fromkeys((4, 7, 9), 8),  # int64, double, complex64
    10: 16,
}


class NoFormulaError(ValueError):
    """The recorded arguments are not those that the formula needs."""


class NotRecordedError(ValueError):
    """The work depends on something that the profiler does not record."""


class Counted(msgspec.Struct, frozen=True):
    """The operations of a call, and what it moves beside the tensors of its arguments."""

    flops: int | None
    formula: str
    output_bytes: int = 0  # results that are not among the arguments
    touched_bytes: int = 0  # of arguments of which only a part is read or written
    touched: str = ""  # what that part is
    on_matrix: bool = False  # it runs on the matrix units
    dtype: str | None = (
        None  # torch's name of the type it multiplies in, where that is not the type of most elements
    )
    sizes: tuple[int, ...] | None = None  # of a product or of attention: see `Work`
    flops_missing: str = ""  # why the operations are not known
    bytes_missing: str = ""
    flops_doubt: str | None = None
    bytes_doubt: str | None = None


class Call(msgspec.Struct, frozen=True):
    """The arguments by the names of the operator's schema; those that were not given are absent."""

    arguments: Mapping[str, Argument]
    list_element_bytes: int | None = None  # of the tensors in lists, whose type is not recorded
    step: StepLengths | None = None  # of the sequences of the serving step in which it ran
    routed: Routed | None = None  # of a mixture of experts

    def given(self, name: str) -> Argument | None:
        """The tensor of that name; None where there is none."""
        argument = self.arguments.get(name)
        return argument if argument is not None and argument.kind == "tensor" else None

    def tensor(self, name: str, dimensions: int | None = None) -> Argument:
        """The tensor of that name, with so many dimensions where that matters."""
        argument = self.given(name)
        if argument is None or (dimensions is not None and len(argument.shape) != dimensions):
            raise NoFormulaError(f"{name} is not the tensor that is expected")
        return argument

    def tensors(self, name: str) -> tuple[Shape, ...]:
        """The shapes of a list of tensors."""
        argument = self.arguments.get(name)
        if argument is None or argument.kind != "tensors":
            raise NoFormulaError(f"{name} is not a list of tensors")
        return argument.shapes

    def text(self, name: str) -> str:
        """A value as it is printed; empty where it was not given or not recorded."""
        argument = self.arguments.get(name)
        return argument.text.strip() if argument is not None and argument.kind == "value" else ""

    def integers(self, name: str) -> list[int]:
        """A list of integers; empty where there is none."""
        words = self.text(name).strip("[]() ").split(",")
        return [int(word) for word in words if word.strip()]

    def integer(self, name: str) -> int:
        """An integer that must be there."""
        values = self.integers(name)
        if len(values) != 1:
            raise NoFormulaError(f"{name} is not recorded as an integer")
        return values[0]

    def each(self, name: str, count: int) -> list[int]:
        """One integer for each of `count` axes; a single one stands for all, as in torch."""
        values = self.integers(name)
        if len(values) not in (1, count):
            raise NoFormulaError(f"{name} is not a list of {count}")
        return values * count if len(values) == 1 else values

    def flags(self, name: str) -> list[bool]:
        """A list of truth values; empty where there is none."""
        words = self.text(name).strip("[]() ").split(",")
        return [word.strip() in ("True", "1") for word in words if word.strip()]

    def is_true(self, name: str) -> bool:
        """A truth value; false where it was not given."""
        return self.text(name) in ("True", "1")

    def asked_bytes(self, name: str) -> int | None:
        """The element size of the type that an argument asks for; None where it asks for none."""
        text = self.text(name)
        return _TYPE_BYTES.get(int(text)) if text.isdigit() else None

    def size(self, name: str) -> int:
        """The bytes of a tensor, or of a list of them; 0 where there is none."""
        argument = self.arguments.get(name)
        return 0 if argument is None else argument_bytes(argument, self.list_element_bytes)


Count = Callable[[Call], Counted]


def argument_bytes(argument: Argument, list_element_bytes: int | None = None) -> int:
    """The bytes of what an argument refers to: elements that lie at one place in memory count once."""
    if argument.kind == "tensor":
        return (argument.element_bytes or 0) * distinct_elements(argument)
    if argument.kind != "tensors":
        return 0
    if list_element_bytes is None:
        raise NotRecordedError("the element type of the tensors in a list is not recorded")
    return list_element_bytes * argument.elements


def distinct_elements(tensor: Argument) -> int:
    """The elements of a tensor that are at places of their own: an expanded axis repeats one place."""
    if not tensor.strides or 0 in tensor.shape:
        return tensor.elements
    places = [(size, stride) for size, stride in zip(tensor.shape, tensor.strides[0], strict=True) if stride]
    extent = 1 + sum((size - 1) * stride for size, stride in places)
    return min(prod(size for size, _ in places), extent)


def element_bytes(tensor: Argument) -> int:
    """The bytes of one element."""
    return tensor.element_bytes or 0


def broadcast(*shapes: Shape) -> Shape:
    """The common shape of tensors that are combined element by element."""
    longest = max((len(shape) for shape in shapes), default=0)
    aligned = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    sizes = []
    for column in zip(*aligned, strict=True):
        wide = {size for size in column if size != 1}
        if len(wide) > 1:
            raise NoFormulaError("the shapes do not broadcast")
        sizes.append(wide.pop() if wide else 1)
    return tuple(sizes)

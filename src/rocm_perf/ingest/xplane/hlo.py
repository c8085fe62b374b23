"""The compiled programs (HLO modules) inside an XPlane file: what each operation computes, where in the model and in
the source it comes from, and which collective it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import msgspec

from rocm_perf.ingest.io.protobuf import BrokenMessageError, decoded
from rocm_perf.ingest.xplane.messages import hlo_messages

# PrimitiveType of xla_data.proto: the type as torch.profiler names it, which is what analyses know, and its bits.
TYPES: dict[int, tuple[str, int]] = {
    1: ("bool", 8), 2: ("signed char", 8), 3: ("short", 16), 4: ("int", 32), 5: ("long", 64),
    6: ("unsigned char", 8), 7: ("unsigned short", 16), 8: ("unsigned int", 32), 9: ("unsigned long", 64),
    10: ("c10::Half", 16), 11: ("float", 32), 12: ("double", 64), 15: ("c10::complex<float>", 64),
    16: ("c10::BFloat16", 16), 18: ("c10::complex<double>", 128), 19: ("c10::Float8_e5m2", 8),
    20: ("c10::Float8_e4m3fn", 8), 21: ("s4", 4), 22: ("u4", 4), 23: ("f8e4m3b11fnuz", 8),
    24: ("c10::Float8_e5m2fnuz", 8), 25: ("c10::Float8_e4m3fnuz", 8), 28: ("f8e4m3", 8), 29: ("f8e3m4", 8),
    32: ("f4e2m1fn", 4), 33: ("f8e8m0fnu", 8), 35: ("f6e3m2fn", 6), 36: ("f6e2m3fn", 6),
}  # fmt: skip
COLLECTIVES = {
    "all-reduce": "all_reduce",
    "all-gather": "all_gather",
    "reduce-scatter": "reduce_scatter",
    "all-to-all": "all_to_all",
    "ragged-all-to-all": "all_to_all",
    "collective-permute": "send_recv",
    "collective-broadcast": "broadcast",
}
_BYTES = ("signed char", "unsigned char")
_PACKAGES = "-packages/"
_MOST_FRAMES = 64
_MOST_AXES = 64  # of an array; XLA's have a dozen
_MOST_SHARED = (
    64  # operations inside those that call them, and shapes of operands, for each operation and shape
)
_SHARED_FREE = 100_000


class Shape(msgspec.Struct, frozen=True):
    """One array: its element type, and its sizes."""

    dtype: str
    bits: int
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.sizes)

    @property
    def size_bytes(self) -> int:
        return (self.elements * self.bits + 7) // 8


@dataclass(frozen=True, eq=False)
class Instruction:
    """One operation of a program."""

    name: str
    opcode: str
    result: tuple[Shape, ...]  # several if it is a tuple
    operands: tuple[Instruction, ...] = field(repr=False)
    called: tuple[int, ...]
    message: Any = field(repr=False)  # the rest, as it was decoded

    @property
    def target(self) -> str:
        """The library function that a custom call calls."""
        return _text(self.message.custom_call_target)

    @property
    def op_name(self) -> str:
        """The scopes and the JAX primitive that it comes from: jit(step)/layer0/dot_general."""
        return _text(self.message.metadata.op_name)

    @property
    def arguments(self) -> tuple[Shape, ...]:
        if self.opcode == "get-tuple-element":
            return self.result
        return tuple(shape for operand in self.operands for shape in operand.result)

    @property
    def written(self) -> tuple[Shape, ...]:
        """What it computes: without the scratch memory that a library asked for, which ends the tuple as bytes."""
        shapes = self.result
        while self.opcode == "custom-call" and len(shapes) > 1 and _is_scratch(shapes[-1]):
            shapes = shapes[:-1]
        return shapes


class Collective(msgspec.Struct, frozen=True):
    """A communication: its name, and how many devices take part; None where that is all of them."""

    name: str
    group_size: int | None


class Program:
    """One compiled program."""

    def __init__(self, data: bytes) -> None:
        self._module = decoded(hlo_messages()["HloProto"], data).hlo_module
        self.name = _text(self._module.name)
        self.computations = {c.id: tuple(_instructions(c)) for c in self._module.computations}
        self.instructions: Mapping[str, Instruction] = {
            each.name: each for computation in self.computations.values() for each in computation
        }
        self.flops: dict[tuple[Instruction, int], tuple[int | None, str]] = {}  # counted once for each depth
        self.products: dict[tuple[Instruction, int], bool] = {}
        self._check_size()

    def _check_size(self) -> None:
        """Raise where operations refer to one another so often that to follow them takes for ever: a real program
        calls each of its computations about once."""
        every = [each for computation in self.computations.values() for each in computation]
        inside = sum(len(self.computations.get(number, ())) for each in every for number in each.called)
        taken = sum(
            len(operand.result)
            for each in every
            if each.opcode != "get-tuple-element"
            for operand in each.operands
        )
        written = sum(len(each.result) for each in every)
        if inside + taken > _SHARED_FREE + _MOST_SHARED * (len(every) + written):
            raise BrokenMessageError("its operations refer to one another too often")

    def inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """The operations of the computations that it calls: what a fusion fuses."""
        for number in instruction.called:
            yield from self.computations.get(number, ())

    def op_name(self, instruction: Instruction) -> str:
        """Its own name in JAX, or that of the last operation inside it that has one."""
        inner = (each.op_name for each in reversed(tuple(self.inside(instruction))))
        return next((name for name in (instruction.op_name, *inner) if "/" in name), "")

    def site(self, instruction: Instruction) -> str:
        """Where the program asks for it, as `file(line): function`; empty where that is not recorded."""
        metadata = [
            instruction.message.metadata,
            *(each.message.metadata for each in self.inside(instruction)),
        ]
        return next((site for site in map(self._site, metadata) if site), "")

    def _site(self, metadata: Any) -> str:
        """The innermost frame outside installed packages, or the innermost of all."""
        frames = list(self._frames(metadata.stack_frame_id))
        own = [frame for frame in frames if _PACKAGES not in frame]
        file = _text(metadata.source_file)
        named = [f"{file}({metadata.source_line}): <unknown>"] if file else []
        return next(iter([*own, *frames, *named]), "")

    def _frames(self, number: int) -> Iterator[str]:
        """A frame and those that called it, as `file(line): function`."""
        index = self._module.stack_frame_index
        for _ in range(_MOST_FRAMES):
            frame = _nth(index.stack_frames, number)
            location = _nth(index.file_locations, frame.file_location_id) if frame else None
            if location is None:
                return
            file = _nth(index.file_names, location.file_name_id)
            function = _nth(index.function_names, location.function_name_id)
            if file:
                yield f"{_text(file)}({location.line}): {_text(function or b'<unknown>')}"
            number = frame.parent_frame_id

    def collective(self, instruction: Instruction) -> Collective | None:
        """The communication that it is, or that it starts."""
        for each in (instruction, *self.inside(instruction)):
            name = COLLECTIVES.get(each.opcode.removesuffix("-start"))
            if name is not None:
                return Collective(name, _group_size(each.message))
        return None


def _instructions(computation: Any) -> Iterator[Instruction]:
    """The operations in their order; operands come before what uses them."""
    by_id: dict[int, Instruction] = {}
    for message in computation.instructions:
        operands = tuple(by_id[number] for number in message.operand_ids if number in by_id)
        instruction = Instruction(
            name=_text(message.name),
            opcode=_text(message.opcode),
            result=tuple(_shapes(message.shape)),
            operands=operands,
            called=tuple(dict.fromkeys(message.called_computation_ids)),
            message=message,
        )
        by_id[message.id] = instruction
        yield instruction


def _shapes(shape: Any) -> Iterator[Shape]:
    """The arrays of a shape, which may be a tuple of tuples; sizes below zero are dynamic and count as none."""
    if shape.element_type in TYPES and len(shape.dimensions) <= _MOST_AXES:
        dtype, bits = TYPES[shape.element_type]
        yield Shape(dtype, bits, tuple(max(0, size) for size in shape.dimensions))
    for inner in shape.tuple_shapes:
        yield from _shapes(inner)


def _is_scratch(shape: Shape) -> bool:
    return shape.dtype in _BYTES and len(shape.sizes) == 1


def _group_size(message: Any) -> int | None:
    groups = [*message.collective_device_list.replica_groups, *message.replica_groups]
    sizes = [len(group.replica_ids) for group in groups]
    return max(sizes, default=0) or message.iota_collective_device_list.num_devices_per_group or None


def _nth(entries: Any, number: int) -> Any:
    """The entry of a list that is counted from 1, where 0 is none."""
    return entries[number - 1] if 0 < number <= len(entries) else None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")

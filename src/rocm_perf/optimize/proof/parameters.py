"""Which memory a kernel's arguments point to, and what lies there: types come from the kernel's own symbol, which C++
writes them into, or from its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rocm_perf.arch.codeobject import reader
from rocm_perf.replay import reading
from rocm_perf.replay.overwritten import Span, argument_spans
from rocm_perf.replay.replayer import Replayer
from rocm_perf.replay.snapshot import KERNARG

Place = tuple[int, int]  # offset and size in the block of arguments
Element = Literal["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64"]
_ADDRESS_BYTES = 8
# Elements that values can be drawn for or permuted. What is not here (structures, pointers to pointers) is left alone.
_ELEMENTS: Mapping[str, Element] = {
    **dict.fromkeys(("half", "__half", "_Float16", "half2", "__half2"), "f16"),
    **dict.fromkeys(("__nv_bfloat16", "__hip_bfloat16", "hip_bfloat16", "__nv_bfloat162"), "bf16"),
    **dict.fromkeys(("float", "float2", "float3", "float4", "HIP_vector_type<float, 2u>"), "f32"),
    **dict.fromkeys(("HIP_vector_type<float, 3u>", "HIP_vector_type<float, 4u>"), "f32"),
    **dict.fromkeys(("double", "double2", "HIP_vector_type<double, 2u>"), "f64"),
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t"), "i8"),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t"), "i16"),
    **dict.fromkeys(("int", "unsigned", "unsigned int", "int32_t", "uint32_t"), "i32"),
    **dict.fromkeys(("long", "long long", "int64_t", "size_t"), "i64"),
    **dict.fromkeys(("unsigned long", "unsigned long long", "uint64_t"), "i64"),
}
_OPEN, _CLOSE = "<([{", ">)]}"


@dataclass(frozen=True)
class Buffer:
    """Memory that an argument points to, up to where the next one does, or to the end of its allocation."""

    span: Span
    element: Element

    @property
    def is_float(self) -> bool:
        return not self.element.startswith("i")

    @property
    def element_bytes(self) -> int:
        return int(self.element.lstrip("bfi")) // 8


@dataclass(frozen=True)
class Integer:
    """An argument that is a whole number itself."""

    number: int  # of the argument, from 1
    place: Place
    value: int  # as it was captured


def integers(replayer: Replayer, types: Sequence[str] = ()) -> tuple[Integer, ...]:
    """The arguments that are integers of four or eight bytes. `types` as for `buffers`."""
    kernarg, where = replayer.files[KERNARG].read_bytes(), places(replayer)
    names = signature(replayer.snapshot.dispatch.name) or tuple(types)
    if len(where) != len(names):
        return ()
    return tuple(
        Integer(
            number, (offset, size), int.from_bytes(kernarg[offset : offset + size], "little", signed=True)
        )
        for number, ((offset, size), name) in enumerate(zip(where, names, strict=True), 1)
        if _ELEMENTS.get(name.removeprefix("const ").strip()) in ("i32", "i64")
    )


def buffers(replayer: Replayer, types: Sequence[str] = ()) -> tuple[Buffer, ...]:
    """The buffers among the arguments whose elements are numbers. `types` are those of the source's parameters, for a
    kernel whose symbol does not hold them."""
    arguments = replayer.files[KERNARG]
    kernarg = reading.contents(arguments.parent, arguments.name, replayer.snapshot.dispatch.kernarg.size)
    elements = _elements_by_address(
        kernarg, places(replayer), signature(replayer.snapshot.dispatch.name) or types
    )
    spans = argument_spans(replayer.snapshot, kernarg)
    known = ((span, elements.get(span.region.base + span.offset)) for span in spans)
    return tuple(Buffer(span, element) for span, element in known if element is not None)


def places(replayer: Replayer) -> tuple[Place, ...]:
    """Where each argument lies in the block, in their order; none where neither the capture nor the code says."""
    dispatch = replayer.snapshot.dispatch
    if dispatch.parameters:
        return tuple((one.offset, one.size) for one in dispatch.parameters)
    objects = reader.read(replayer.files[dispatch.code_object])
    kernels = (kernel for code in objects for kernel in code.kernels if kernel.name == dispatch.kernel)
    arguments = next((kernel.arguments for kernel in kernels), ())
    return tuple((one.offset, one.size_bytes) for one in arguments if not one.hidden)


def signature(name: str) -> tuple[str, ...]:
    """The types of the parameters in a demangled name; none where it has no list of them."""
    if not name.endswith(")"):
        return ()
    start = _opening(name)
    return tuple(part.strip() for part in _split(name[start + 1 : -1])) if start >= 0 else ()


def pointed(type_name: str) -> Element | None:
    """The elements behind a parameter that is a plain pointer; None for anything else."""
    words = type_name.replace("*", " * ").replace("&", " & ").split()
    plain = [word for word in words if word not in ("const", "volatile", "__restrict__", "__restrict")]
    return _ELEMENTS.get(" ".join(plain[:-1])) if plain[-1:] == ["*"] else None


def _elements_by_address(kernarg: bytes, where: Sequence[Place], types: Sequence[str]) -> dict[int, Element]:
    if len(where) != len(types):
        return {}
    elements: dict[int, Element] = {}
    for (offset, size), type_name in zip(where, types, strict=True):
        element = pointed(type_name)
        if element and size == _ADDRESS_BYTES:
            elements.setdefault(int.from_bytes(kernarg[offset : offset + size], "little"), element)
    return elements


def _opening(name: str) -> int:
    """Where the parenthesis was opened that the name ends with."""
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += (name[place] in _CLOSE) - (name[place] in _OPEN)
        if depth == 0:
            return place
    return -1


def _split(text: str) -> list[str]:
    """The parts between commas that no bracket encloses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts if text else []

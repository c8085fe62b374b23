"""The parts of a source file that transforms, guards and proofs speak of. Positions are bytes of the text; lines
count from one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tree_sitter import Node


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of the source text."""

    start: int
    end: int

    def holds(self, other: Span) -> bool:
        """Whether the other lies wholly inside."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel as it is declared."""

    name: str  # "" where it has none
    type: str  # "const float*", as it is written, without the name
    element: str  # "float": without qualifiers, pointers and arrays
    depth: int  # how many pointers; an array counts as one, as in C
    const: bool  # the pointee of a pointer is const; of any other parameter, the parameter itself
    restrict: bool
    reference: bool
    volatile: bool
    packed: bool  # "Ts... rest"
    opaque: bool  # a macro stands in its declaration: `float* RESTRICT x`
    span: Span
    name_at: int  # where its name begins; where the declaration ends, if it has none
    node: Node = field(repr=False, compare=False)

    @property
    def element_bytes(self) -> int | None:
        """Size of an element. None: a type that is not built in."""
        return ELEMENT_BYTES.get(self.element)


@dataclass(frozen=True)
class TemplateParameter:
    """`typename T`, `int N = 4`."""

    name: str
    kind: str  # "typename", "class", or the type of a value: "int"
    default: str | None


@dataclass(frozen=True)
class Attribute:
    """`__launch_bounds__(256, 2)`, `amdgpu_waves_per_eu(2, 4)`."""

    name: str
    arguments: tuple[str, ...]
    span: Span


@dataclass(frozen=True)
class Function:
    """A `__device__` function that is defined in the file."""

    name: str
    span: Span
    body: Span
    parameters: tuple[Parameter, ...]
    node: Node = field(repr=False, compare=False)


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function that is defined in the file."""

    name: str  # "scale", or "scale<int>" for a specialisation
    namespaces: tuple[str, ...]  # "" for an anonymous one
    extern_c: bool
    template: tuple[TemplateParameter, ...] | None  # None: not a template
    parameters: tuple[Parameter, ...]
    attributes: tuple[Attribute, ...]
    macros: tuple[str, ...]  # that stand among its attributes; what they mean is not known here
    line: int
    span: Span  # the whole definition, from `template` or the first specifier to the closing brace
    body: Span  # from brace to brace
    parameter_list: Span
    attributes_at: int  # where an attribute may be inserted: before the name
    calls: tuple[Function, ...]  # device functions of the file that it calls, and those that these call
    node: Node = field(repr=False, compare=False)  # the function_definition

    @property
    def qualified(self) -> str:
        """The name with its namespaces."""
        return "::".join((*(name for name in self.namespaces if name), self.name))

    @property
    def base(self) -> str:
        """The name alone, without namespaces or the arguments of a specialisation."""
        return self.name.split("<", 1)[0]

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name."""
        return next((each for each in self.attributes if each.name == name), None)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name."""
        return next((each for each in self.parameters if each.name == name), None)

    @property
    def pointers(self) -> tuple[Parameter, ...]:
        """Parameters that point to memory."""
        return tuple(each for each in self.parameters if each.depth)


@dataclass(frozen=True)
class Unreadable:
    """A kernel that is left alone, because its text could not be understood."""

    name: str
    line: int
    reason: str


LoopKind = Literal["for", "while", "do", "range"]

# Bytes of the built-in types: CUDA C++ Programming Guide, "Built-in Vector Types"; HIP has the same.
ELEMENT_BYTES = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char", "int8_t", "uint8_t"), 1),
    **dict.fromkeys(("short", "unsigned short", "short int", "int16_t", "uint16_t", "half", "__half"), 2),
    **dict.fromkeys(("_Float16", "__nv_bfloat16", "__hip_bfloat16", "hip_bfloat16"), 2),
    **dict.fromkeys(("int", "unsigned", "unsigned int", "float", "int32_t", "uint32_t"), 4),
    **dict.fromkeys(("half2", "__half2", "__nv_bfloat162", "char4", "uchar4", "short2", "ushort2"), 4),
    **dict.fromkeys(("double", "long long", "unsigned long long", "int64_t", "uint64_t", "size_t"), 8),
    **dict.fromkeys(("long", "unsigned long", "float2", "int2", "uint2"), 8),  # long: Linux has LP64
    **dict.fromkeys(("float4", "int4", "uint4", "double2", "longlong2", "ulonglong2"), 16),
}

"""What a loop visits one element after the other: `x[i]`, `x[first + i]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from rocm_perf.optimize.source.accesses import Access, accesses_of
from rocm_perf.optimize.source.loops import Loop
from rocm_perf.optimize.source.model import Kernel, Parameter
from rocm_perf.optimize.source.tree import below, mentions, span_of, text_of

VECTORS = {"float": "float4", "int": "int4", "unsigned": "uint4", "unsigned int": "uint4"}


@dataclass(frozen=True)
class Row:
    """Elements that a loop visits one after the other: `pointer[offset + i]`."""

    pointer: str
    offset: str  # "" where there is none
    parameter: str  # from which the pointer is made
    element: str
    places: tuple[Node, ...]
    read: bool
    written: bool

    @property
    def address(self) -> str:
        """Where the first element lies."""
        return f"{self.pointer} + ({self.offset})" if self.offset else self.pointer


def rows_of(kernel: Kernel, loop: Loop) -> list[Row]:
    """What a loop visits of the memory of each parameter, where that is one element after the other."""
    return [
        row
        for parameter in kernel.pointers
        if parameter.element in VECTORS and parameter.depth == 1 and not parameter.volatile
        for row in _rows_of(kernel, loop, parameter)
    ]


def _rows_of(kernel: Kernel, loop: Loop, parameter: Parameter) -> Iterator[Row]:
    assert loop.induction is not None
    groups: dict[tuple[str, str], list[Access]] = {}
    for access in accesses_of(parameter.name, kernel.node, ()).by("read", "write"):
        if access.element is None or not loop.body.holds(span_of(access.element)):
            continue
        offset = _offset(access.element, loop.induction.name)
        pointer = text_of(access.element.child_by_field_name("argument"))
        if offset is not None and _has_elements_of(parameter, pointer, kernel):
            groups.setdefault((pointer, offset), []).append(access)
    for (pointer, offset), accesses in groups.items():
        yield Row(
            pointer=pointer,
            offset=offset,
            parameter=parameter.name,
            element=parameter.element,
            places=tuple({each.element.id: each.element for each in accesses if each.element}.values()),
            read=any(each.use == "read" for each in accesses),
            written=any(each.use == "write" for each in accesses),
        )


def _has_elements_of(parameter: Parameter, pointer: str, kernel: Kernel) -> bool:
    """Whether an expression is the parameter, or a local pointer to the same type: a cast one has other elements."""
    types = {
        text_of(declaration.child_by_field_name("type"))
        for declaration in below(kernel.node, "declaration")
        for declarator in below(declaration, "pointer_declarator")
        if text_of(declarator.child_by_field_name("declarator")) == pointer
    }
    return types == {parameter.element} or (not types and pointer == parameter.name)


def _offset(element: Node, variable: str) -> str | None:
    """What is added to the loop's variable in an index; "" for nothing, None where the index is something else."""
    indices = element.child_by_field_name("indices")
    named = indices.named_children if indices and element.type == "subscript_expression" else []
    if len(named) != 1:
        return None
    if text_of(named[0]) == variable:
        return ""
    left, right = (named[0].child_by_field_name(side) for side in ("left", "right"))
    if named[0].type != "binary_expression" or text_of(named[0].child_by_field_name("operator")) != "+":
        return None
    for one, other in ((left, right), (right, left)):
        if text_of(one) == variable and other is not None and not mentions(other, variable):
            return text_of(other)
    return None

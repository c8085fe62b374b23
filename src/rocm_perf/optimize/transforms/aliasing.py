"""Whether the memory behind two pointers of a kernel can be the same, from the text and from captured dispatches."""

from __future__ import annotations

from collections.abc import Mapping

from tree_sitter import Node

from rocm_perf.optimize.source.accesses import Accesses, accesses_of
from rocm_perf.optimize.source.launches import launches_of
from rocm_perf.optimize.source.model import ELEMENT_BYTES, Kernel, Parameter
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import below, children, line_of, text_of
from rocm_perf.optimize.transforms.setting import CapturedLaunch, Setting

_PLAIN = frozenset(("short int", "long int", "long long int", "unsigned long int", "ptrdiff_t", "ssize_t"))


def reason_kernel_hides_pointers(source: Source, kernel: Kernel, setting: Setting) -> str | None:
    """Why pointers of a kernel cannot be told apart at all: some are not parameters, or no dispatch shows them."""
    types = {each.name for each in kernel.template or () if each.kind in ("typename", "class")}
    for parameter in kernel.parameters:
        is_plain = parameter.element in {*ELEMENT_BYTES, *_PLAIN}
        is_generic = (
            parameter.element in types and parameter.depth == 1 and not _holds_parts(kernel, parameter)
        )
        if parameter.depth > 1 or not (is_plain or is_generic):
            return f"{parameter.name} may hold pointers of its own ({parameter.type})"
    if (name := _pointer_of_the_file(source, kernel)) is not None:
        return f"the kernel reads {name}, a pointer that is not one of its parameters"
    if not setting.launches:
        return "no captured dispatch shows which buffers the pointers name"
    return None


def _holds_parts(kernel: Kernel, parameter: Parameter) -> bool:
    """Whether elements are used as more than numbers: `x[i].y`, `x[i][j]`, `x->y`."""
    return any(
        each.element is None
        or each.element.type == "field_expression"
        or _argument_type(each.element) in ("subscript_expression", "field_expression")
        for each in accesses_of(parameter.name, kernel.node, kernel.calls).by("read", "write")
    )


def _argument_type(element: Node) -> str:
    argument = element.child_by_field_name("argument")
    return argument.type if argument else ""


def _pointer_of_the_file(source: Source, kernel: Kernel) -> str | None:
    mentioned = {text_of(each) for each in below(kernel.node, "identifier")}
    for declaration in source.tree.root_node.named_children:
        if declaration.type == "declaration" and children(
            declaration, "__device__", "__constant__", "__managed__"
        ):
            for pointer in below(declaration, "pointer_declarator"):
                name = text_of(next(below(pointer, "identifier"), None))
                if name in mentioned:
                    return name
    return None


def meets_another(
    source: Source, kernel: Kernel, setting: Setting, *, parameter: Parameter, uses: Mapping[str, Accesses]
) -> str | None:
    """Why a pointer may meet another one, of which at least one is written. None: it meets none."""
    for other in kernel.pointers:
        if other.name == parameter.name or not (uses[parameter.name].written or uses[other.name].written):
            continue
        for launch in setting.launches:
            if (reason := _reason_in(launch, parameter.name, other.name)) is not None:
                return reason
        if (line := _passed_twice(source, kernel, parameter, other)) is not None:
            return f"the launch in line {line} gives {parameter.name} and {other.name} pointers of one origin"
    return None


def _reason_in(launch: CapturedLaunch, one: str, other: str) -> str | None:
    mine, theirs = launch.pointers.get(one), launch.pointers.get(other)
    if mine is None or theirs is None or mine.allocation is None or theirs.allocation is None:
        return f"no captured dispatch shows that {one} and {other} lie in different buffers"
    if mine.allocation == theirs.allocation:
        return f"{one} and {other} point into one buffer in a captured dispatch"
    return None


def _passed_twice(source: Source, kernel: Kernel, one: Parameter, other: Parameter) -> int | None:
    first, second = kernel.parameters.index(one), kernel.parameters.index(other)
    for launch in launches_of(source, kernel):
        if max(first, second) < len(launch.arguments):
            given = launch.arguments[first], launch.arguments[second]
            bases = [text_of(next(below(each, "identifier"), None)) for each in given]  # of `p` and `p + n`
            if bases[0] == bases[1]:
                return line_of(given[0])
    return None

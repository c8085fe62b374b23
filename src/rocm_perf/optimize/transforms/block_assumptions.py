"""What a kernel assumes about the size of its blocks."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rocm_perf.optimize.source.accesses import accesses_of
from rocm_perf.optimize.source.constants import constants_at, integer, value_of
from rocm_perf.optimize.source.contents import contents_of
from rocm_perf.optimize.source.loops import loops_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.thread_values import depends_on
from rocm_perf.optimize.source.tree import ancestors, below, line_of, text_of
from rocm_perf.optimize.transforms.block_origin import BlockOrigin
from rocm_perf.optimize.transforms.lds_padding import shared_arrays
from rocm_perf.optimize.transforms.setting import Setting

_BOUNDS = ("__launch_bounds__", "amdgpu_flat_work_group_size", "launch_bounds")


def reason_against_any(source: Source, kernel: Kernel, setting: Setting, origin: BlockOrigin) -> str | None:
    """Why no other size may be tried. None: some may."""
    captured = {each.block for each in setting.launches}
    if captured - {(origin.size, 1, 1)}:
        return f"it was captured with other blocks than the {origin.size} of the text"
    contents = contents_of(kernel.node, kernel.calls, frozenset())
    if contents.lane_operations:
        return f"threads of a wave exchange values ({contents.lane_operations[0]}): the number of waves may be assumed"
    if contents.unknown_calls:
        return f"it calls {contents.unknown_calls[0]}, which is not in this file and may assume the size"
    if kernel.macros:
        return f"the macro {kernel.macros[0]} may fix the size"
    if (place := _same_number(source, kernel, origin)) is not None:
        return f"{text_of(place)} in line {line_of(place)} may be the size of the block, and would stay"
    return _reason_of_division(source, kernel, origin)


def reason_against_size(source: Source, kernel: Kernel, origin: BlockOrigin, size: int) -> str | None:
    """Why one size may not be tried."""
    constants = constants_at(source.tree.root_node, kernel.node)
    for attribute in kernel.attributes:
        if attribute.name in _BOUNDS and not (origin.name and origin.name in " ".join(attribute.arguments)):
            most = integer(attribute.arguments[-1 if attribute.name.startswith("amdgpu") else 0])
            if most is None or most < size:
                return f"{attribute.name} does not allow it"
    for _, name, sizes in shared_arrays(kernel):
        if _follows(sizes, origin) or not _is_by_thread(source, kernel, name):
            continue
        length = value_of(sizes[-1], constants)
        if size > origin.size and (length is None or length < size):
            return f"the shared array {name} has fewer elements"
    if size > origin.size and origin.keeps_items and not _is_guarded(kernel):
        return "no comparison keeps the threads behind the last item from working"
    return None


def _same_number(source: Source, kernel: Kernel, origin: BlockOrigin) -> Node | None:
    """A number, or another constant, that may stand for the size of the block: it itself, one less, or half of it."""
    constants = constants_at(source.tree.root_node, kernel.node)
    sizes = (origin.size, origin.size - 1, origin.size // 2)
    for node in below(kernel.node, "number_literal", "identifier"):
        if text_of(node) == origin.name or (node.type == "identifier" and _is_size_of_data(node)):
            continue
        if value_of(node, constants) in sizes:
            return node
    return None


def _is_size_of_data(node: Node) -> bool:
    """Whether a constant is only how long an array is, or how far a loop goes whose step is the block."""
    for each in ancestors(node):
        if each.type == "array_declarator":
            return True
        if each.type == "for_statement":
            condition, update = each.child_by_field_name("condition"), each.child_by_field_name("update")
            inside = condition is not None and condition.start_byte <= node.start_byte < condition.end_byte
            return inside and "blockDim.x" in text_of(update)
    return False


def _reason_of_division(source: Source, kernel: Kernel, origin: BlockOrigin) -> str | None:
    """How work is divided among blocks and threads must not depend on the size, or not matter."""
    body = kernel.node
    block = ("blockDim.x", *((origin.name,) if origin.name else ()))
    strides = [
        text_of(each.induction.step)
        for each in loops_of(source, kernel)
        if each.induction and each.induction.step
    ]
    is_strided = any(name in step for step in strides for name in block)
    is_divided = any(_multiplies(each, block) for each in below(body, "binary_expression"))
    if not origin.keeps_items and not is_strided:
        return "the grid does not follow the block, and no loop goes by its size: threads would be missing"
    if not is_strided and not is_divided:
        return "its threads do not divide the work by the size of the block"
    if is_divided and (element := _written_by_block(kernel)) is not None:
        return (
            f"{text_of(element)} in line {line_of(element)} is a result of a whole block, which would differ"
        )
    return None


def _multiplies(expression: Node, names: tuple[str, ...]) -> bool:
    """Whether it is blockIdx.x times the size of a block."""
    sides = {text_of(expression.child_by_field_name(side)) for side in ("left", "right")}
    return (
        text_of(expression.child_by_field_name("operator")) == "*"
        and "blockIdx.x" in sides
        and bool(sides & {*names})
    )


def _written_by_block(kernel: Kernel) -> Node | None:
    for parameter in kernel.pointers:
        for access in accesses_of(parameter.name, kernel.node, kernel.calls).by("write", "escape"):
            if access.element is None or not depends_on(kernel.node, access.element, "threadIdx.x"):
                return access.element or parameter.node
    return None


def _follows(sizes: list[Node], origin: BlockOrigin) -> bool:
    return origin.name is not None and any(
        text_of(each) == origin.name for size in sizes for each in below(size, "identifier")
    )


def _is_by_thread(source: Source, kernel: Kernel, name: str) -> bool:
    """Whether an array has an element for each thread. A loop's own variable is not one: the loop's bound limits it."""
    counters = {each.induction.name for each in loops_of(source, kernel) if each.induction}
    elements = [each.element for each in accesses_of(name, kernel.node, kernel.calls).all]
    return any(each is None or _follows_thread(kernel, each, counters) for each in elements)


def _follows_thread(kernel: Kernel, element: Node, counters: set[str]) -> bool:
    indices = element.child_by_field_name("indices")
    if indices is None or "threadIdx.x" in text_of(indices):
        return True
    names = [each for each in below(indices, "identifier") if text_of(each) not in counters]
    return any(depends_on(kernel.node, each, "threadIdx.x") for each in names)


def _is_guarded(kernel: Kernel) -> bool:
    """Whether threads compare where they are with how much there is."""
    return any(
        depends_on(kernel.node, condition, "threadIdx.x") and _names_parameter(kernel, condition)
        for condition in _conditions(kernel.node)
    )


def _names_parameter(kernel: Kernel, condition: Node) -> bool:
    return any(kernel.parameter(text_of(each)) is not None for each in below(condition, "identifier"))


def _conditions(body: Node) -> Iterator[Node]:
    for statement in below(body, "if_statement", "for_statement", "while_statement"):
        condition = statement.child_by_field_name("condition")
        if condition is not None:
            yield condition

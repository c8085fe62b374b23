"""A column more for arrays in shared memory: `tile[32][32]` becomes `tile[32][32 + 1]`. Elements of a column then lie
in different banks (there are 32 of four bytes on both vendors' GPUs), where before they all lay in one."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.accesses import accesses_of
from rocm_perf.optimize.source.constants import constants_at, value_of
from rocm_perf.optimize.source.model import ELEMENT_BYTES, Kernel
from rocm_perf.optimize.source.parameters import declared_name
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.thread_values import depends_on
from rocm_perf.optimize.source.tree import below, children, text_of
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform

_BANKS = 32  # CUDA C++ Programming Guide, "Shared Memory"; AMD's CDNA3 ISA guide, "Local Data Share"
_MOST_BYTES = 48 * 1024  # of static shared memory that nvcc allows; a workgroup of AMD has 64 KiB
_WIDEST = 8  # bytes assumed for elements of a type that is not known


def propose(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """One change for each array whose columns threads read side by side."""
    constants = constants_at(source.tree.root_node, kernel.node)
    arrays = list(shared_arrays(kernel))
    total = sum(_bytes(type_, [value_of(each, constants) for each in sizes]) for type_, _, sizes in arrays)
    for type_, name, sizes in arrays:
        values = [value_of(each, constants) for each in sizes]
        if len(sizes) < 2 or not (values[-1] is None or values[-1] % (_BANKS // 2) == 0):
            continue
        rows = _bytes(type_, values[:-1])
        reason = _reason_against(kernel, setting, name=name, dimensions=len(sizes), padded_bytes=total + rows)
        title = f"padding of {name}"
        if reason is not None:
            proposals.refuse(title, reason)
        else:
            proposals.propose(title, *_one_more(sizes[-1]))


def _one_more(size: Node) -> tuple[Edit, ...]:
    """The size plus one, in parentheses where it is not a single word."""
    if size.type in ("identifier", "number_literal"):
        return (Edit(size.end_byte, size.end_byte, b" + 1"),)
    return (Edit(size.start_byte, size.start_byte, b"("), Edit(size.end_byte, size.end_byte, b") + 1"))


def shared_arrays(kernel: Kernel) -> Iterator[tuple[str, str, list[Node]]]:
    """Type, name and sizes of every static shared array of a kernel."""
    for declaration in below(kernel.node, "declaration"):
        qualifiers = {
            text_of(each) for each in children(declaration, "type_qualifier", "storage_class_specifier")
        }
        if "__shared__" not in qualifiers or "extern" in qualifiers:
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            sizes = [
                size
                for each in below(declarator, "array_declarator")
                if (size := each.child_by_field_name("size"))
            ]
            name = text_of(declared_name(declarator))
            if sizes and name:
                yield text_of(declaration.child_by_field_name("type")), name, sizes[::-1]


def _bytes(type_: str, sizes: list[int | None]) -> int:
    total = ELEMENT_BYTES.get(type_, _WIDEST)
    for each in sizes:
        total *= each if each is not None else 1024
    return total


def _reason_against(
    kernel: Kernel, setting: Setting, *, name: str, dimensions: int, padded_bytes: int
) -> str | None:
    accesses = accesses_of(name, kernel.node, kernel.calls).all
    for access in accesses:
        if (
            access.use != "derive"
            and access.element is not None
            and _subscripts(access.element, name) == dimensions
        ):
            continue
        return f"it is used as a whole, or as memory without rows ({access.mention})"
    elements = [each.element for each in accesses if each.element is not None]
    shows = bool(setting.bank_conflicts) or any(_is_column(kernel, each) for each in elements)
    if not shows:
        return "no two threads of a wave read one column, and no counter shows bank conflicts"
    if _is_measured(kernel, name):
        return "its size is used (sizeof)"
    if padded_bytes > _MOST_BYTES:
        return f"the arrays would need {padded_bytes} bytes of shared memory, more than a block may have"
    return None


def _subscripts(element: Node, name: str) -> int:
    count = 0
    while element.type == "subscript_expression":
        argument = element.child_by_field_name("argument")
        count += 1
        if argument is None:
            return 0
        element = argument
    return count if text_of(element) == name else 0


def _is_column(kernel: Kernel, element: Node) -> bool:
    """Whether the row follows `threadIdx.x` and the column does not: neighbours in a wave then meet in one bank."""
    column, row = element.child_by_field_name("indices"), element.child_by_field_name("argument")
    row_index = row.child_by_field_name("indices") if row else None
    if column is None or row_index is None:
        return False
    return depends_on(kernel.node, row_index, "threadIdx.x") and not depends_on(
        kernel.node, column, "threadIdx.x"
    )


def _is_measured(kernel: Kernel, name: str) -> bool:
    return any(
        text_of(each) == name
        for size in below(kernel.node, "sizeof_expression")
        for each in below(size, "identifier")
    )


TRANSFORM = Transform(
    name="LDS padding", ranks={"lds": 1, "memory": 6, "latency": 7, "unknown": 4}, propose=propose
)

"""Whether iterations of a loop may be put beside one another: the reason against it, or none where that is proven."""

from __future__ import annotations

from tree_sitter import Node

from rocm_perf.optimize.source.accesses import accesses_of
from rocm_perf.optimize.source.contents import dynamic_shared_names
from rocm_perf.optimize.source.kernels import plain_name
from rocm_perf.optimize.source.loops import Loop
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import below, text_of
from rocm_perf.optimize.source.vocabulary import is_atomic
from rocm_perf.optimize.transforms.types import element_type

# Their results do not depend on the order: CUDA C++ Programming Guide, "Atomic Functions".
_COMMUTE = frozenset(
    ("atomicAdd", "atomicSub", "atomicMin", "atomicMax", "atomicAnd", "atomicOr", "atomicXor")
)
_INTEGERS = frozenset(
    ("int", "unsigned", "unsigned int", "unsigned long long", "long long", "uint32_t", "int32_t")
)


def reason_against(source: Source, kernel: Kernel, loop: Loop, factor: int) -> str | None:
    """Why a loop must not be unrolled by a factor. None: proven safe."""
    contents = loop.contents
    if loop.induction is None:
        return "it does not count with one variable that only its head changes"
    if contents.exits:
        return f"it may end early ({contents.exits[0]}): what follows must not run before that is known"
    if contents.assembly:
        return f"it has inline assembly (line {contents.assembly[0].line})"
    if contents.unknown_calls:
        call = contents.unknown_calls[0]
        return f"it calls {call}, which is not in this file and may synchronise"
    together = contents.barriers + contents.fences + contents.lane_operations
    if together and (loop.trips is None or loop.trips % factor):
        return (
            f"threads wait or exchange in it ({together[0]}), and that all run a multiple of "
            f"{factor} iterations is not proven"
        )
    if contents.atomics and not _atomics_commute(kernel, loop):
        return f"it has an atomic whose order may matter ({contents.atomics[0]})"
    if contents.dynamic_shared and not _own_elements(source, kernel, loop):
        where = contents.dynamic_shared[0]
        return f"it uses dynamic shared memory ({where}), and that every iteration has its own elements is not proven"
    return None


def _atomics_commute(kernel: Kernel, loop: Loop) -> bool:
    """Whether every atomic is on integers, commutes with itself, and its result is not used."""
    calls = [each for each in below(loop.node, "call_expression") if is_atomic(_called(each))]
    return len(calls) == len(loop.contents.atomics) and all(_commutes(kernel, each) for each in calls)


def _commutes(kernel: Kernel, call: Node) -> bool:
    arguments = call.child_by_field_name("arguments")
    is_unused = call.parent is not None and call.parent.type == "expression_statement"
    if arguments is None or not arguments.named_children or not is_unused or _called(call) not in _COMMUTE:
        return False
    target = next(below(arguments.named_children[0], "identifier"), None)
    return target is not None and element_type(kernel, text_of(target)) in _INTEGERS


def _called(call: Node) -> str:
    function = call.child_by_field_name("function")
    return plain_name(function) if function else ""


def _own_elements(source: Source, kernel: Kernel, loop: Loop) -> bool:
    """Whether dynamic shared memory is touched at the loop's own variable alone: `staged[i]`."""
    assert loop.induction is not None
    for name in dynamic_shared_names(source.tree.root_node, kernel.node):
        for access in accesses_of(name, loop.node, kernel.calls).all:
            if (
                access.use == "derive"
                or access.element is None
                or not _is_at(access.element, loop.induction.name)
            ):
                return False
    return loop.induction.change in ("+=", "-=")


def _is_at(element: Node, variable: str) -> bool:
    indices = element.child_by_field_name("indices")
    return element.type == "subscript_expression" and text_of(indices) == f"[{variable}]"

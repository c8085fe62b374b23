"""Whether a loop may visit four elements at once: the reason against it, or none where that is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

from tree_sitter import Node

from rocm_perf.optimize.source.accesses import Accesses, accesses_of
from rocm_perf.optimize.source.constants import constants_at, value_of
from rocm_perf.optimize.source.loops import Loop, is_changed
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parameters import declared_name
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import ancestors, below, children, mentions, span_of, text_of
from rocm_perf.optimize.transforms.aliasing import meets_another, reason_kernel_hides_pointers
from rocm_perf.optimize.transforms.loop_results import reason_of_results
from rocm_perf.optimize.transforms.loop_text import head_of, reason_not_rewritten
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.vector_rows import Row

# Start and step with which the threads of a block, or all threads, share a loop.
_OF_BLOCK = {("threadIdx.x", "blockDim.x")}
_OF_GRID = {
    (start, step)
    for start in (
        "blockIdx.x*blockDim.x+threadIdx.x",
        "blockDim.x*blockIdx.x+threadIdx.x",
        "threadIdx.x+blockIdx.x*blockDim.x",
        "threadIdx.x+blockDim.x*blockIdx.x",
    )
    for step in ("blockDim.x*gridDim.x", "gridDim.x*blockDim.x")
}
_CONDITIONS = ("if_statement", "conditional_expression", "switch_statement", "lambda_expression")
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Visit:
    """A loop, what it visits, and all that is known around it."""

    source: Source
    kernel: Kernel
    setting: Setting
    loop: Loop
    rows: list[Row]

    @property
    def variable(self) -> str:
        """What the loop counts with."""
        return self.loop.induction.name if self.loop.induction else ""

    @cached_property
    def uses(self) -> dict[str, Accesses]:
        """How the kernel uses each of its pointers."""
        return {
            each.name: accesses_of(each.name, self.kernel.node, self.kernel.calls)
            for each in self.kernel.pointers
        }


def own_start(source: Source, kernel: Kernel, loop: Loop) -> int | None:
    """Where each thread begins, where it counts by itself: by one, from a multiple of four. None: threads share it."""
    assert loop.induction is not None
    start = value_of(loop.induction.start, constants_at(source.tree.root_node, kernel.node))
    is_alone = head_of(loop.induction).step == "1" and start is not None and start >= 0 and start % 4 == 0
    return start if is_alone else None


def reason_against(visit: Visit) -> str | None:
    """The first reason against four elements at once. None: it is proven to be right."""
    is_shared = own_start(visit.source, visit.kernel, visit.loop) is None
    checks = (*_OF_EVERY_LOOP, *(_OF_SHARED_LOOPS if is_shared else ()))
    return next((reason for check in checks if (reason := check(visit)) is not None), None)


def _of_text(visit: Visit) -> str | None:
    shared = visit.loop.contents.dynamic_shared
    if shared:
        return f"it uses dynamic shared memory ({shared[0]}), which other threads would then touch"
    return reason_not_rewritten(visit.loop)


def _of_offsets(visit: Visit) -> str | None:
    for row in visit.rows:
        for name in {row.pointer, *_names(row)} - {visit.variable}:
            if is_changed(name, visit.loop.node):
                return f"{name} changes within it"
    return None


def _of_conditions(visit: Visit) -> str | None:
    """All four elements are read at once, so every iteration must touch its own whatever it finds."""
    for row in visit.rows:
        for place in row.places:
            if _is_conditional(place, visit.loop.node):
                return f"{text_of(place)} is touched only under a condition: it may not exist"
    return None


def _is_conditional(place: Node, loop: Node) -> bool:
    """Whether an iteration may end without a place having been reached."""
    path = [place, *takewhile(lambda node: node.id != loop.id, ancestors(place))]
    return any(_skips(parent, child) for child, parent in pairwise(path))


def _skips(parent: Node, child: Node) -> bool:
    """Whether a statement or operator may leave out one of its parts."""
    if parent.type in _CONDITIONS:
        condition = parent.child_by_field_name("condition")
        return condition is None or condition.id != child.id
    right = parent.child_by_field_name("right")
    is_lazy = text_of(parent.child_by_field_name("operator")) in ("&&", "||")
    return is_lazy and right is not None and right.id == child.id


def _names(row: Row) -> Iterator[str]:
    for place in row.places[:1]:
        indices = place.child_by_field_name("indices")
        yield from (text_of(each) for each in below(indices, "identifier")) if indices else ()


def _of_sharing(visit: Visit) -> str | None:
    """Threads share the loop: whose element is whose changes, so nothing else may rely on it."""
    if _way(visit) not in _OF_BLOCK | _OF_GRID:
        return "it counts neither from a constant by one, nor so that the threads of a block or grid share it"
    visited = {node.id for row in visit.rows for node in row.places}
    for name in {row.parameter for row in visit.rows}:
        accesses = visit.uses[name]
        is_written = any(row.written for row in visit.rows if row.parameter == name)
        for access in accesses.by("read", "write", "atomic", "escape"):
            is_visited = access.element is not None and access.element.id in visited
            if is_visited or (access.use == "read" and not is_written):
                continue
            if _way(visit) not in _OF_BLOCK or not _is_behind_barrier(visit, access.element):
                return f"{name} is also used in line {access.mention.line}, by the thread that had the element before"
    return None


def _is_behind_barrier(visit: Visit, element: Node | None) -> bool:
    """Whether all threads of the block wait for one another between the loop and another use of its memory."""
    kernel, loop = visit.kernel, visit.loop
    body = loop.node.parent
    if (
        element is None
        or body is None
        or span_of(body) != kernel.body
        or not kernel.body.holds(span_of(element))
    ):
        return False
    first, last = sorted((span_of(loop.node), span_of(element)))
    return any(
        first.end <= each.start_byte and each.end_byte <= last.start
        for each in map(_barrier, body.children)
        if each
    )


def _barrier(statement: Node) -> Node | None:
    is_barrier = statement.type == "expression_statement" and text_of(statement) == "__syncthreads();"
    return statement if is_barrier else None


def _way(visit: Visit) -> tuple[str, str]:
    """Start and step of a loop, without spaces."""
    assert visit.loop.induction is not None
    head = head_of(visit.loop.induction)
    return "".join(head.start.split()), "".join(head.step.split())


def _of_shared_memory(visit: Visit) -> str | None:
    for declaration in below(visit.kernel.node, "declaration"):
        if "__shared__" not in {text_of(each) for each in children(declaration, "type_qualifier")}:
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            name = text_of(declared_name(declarator))
            for access in accesses_of(name, visit.loop.node, ()).all:
                if access.element is None or mentions(access.element, visit.variable):
                    return f"it uses shared memory ({access.mention}), which other threads would then touch"
    return None


def _of_results(visit: Visit) -> str | None:
    is_of_grid = _way(visit) in _OF_GRID
    return reason_of_results(visit.source, visit.kernel, visit.loop, may_reduce=not is_of_grid)


def _of_same_memory(visit: Visit) -> str | None:
    """Elements of memory that the loop writes are touched at one place alone: loads come before all stores."""
    visited = {node.id: row for row in visit.rows for node in row.places}
    written = {
        name
        for name, accesses in visit.uses.items()
        for access in accesses.written
        if access.element is not None and visit.loop.body.holds(span_of(access.element))
    }
    for name in written:
        rows = [row for row in visit.rows if row.parameter == name]
        touched = [
            each
            for each in visit.uses[name].by("read", "write")
            if each.element is not None and visit.loop.body.holds(span_of(each.element))
        ]
        if rows and (
            len(rows) > 1 or any(each.element.id not in visited for each in touched if each.element)
        ):
            return f"it touches {name} at several places, of which one is written"
    return None


def _of_aliases(visit: Visit) -> str | None:
    """Loads move before stores of other pointers: these must be proven to lie elsewhere."""
    uses = visit.uses
    written = [
        each
        for each in visit.kernel.pointers
        if any(visit.loop.body.holds(span_of(a.element)) for a in uses[each.name].written if a.element)
    ]
    read = {row.parameter for row in visit.rows}
    for parameter in written:
        if parameter.restrict or read <= {parameter.name}:
            continue
        hidden = reason_kernel_hides_pointers(visit.source, visit.kernel, visit.setting)
        met = hidden or meets_another(
            visit.source, visit.kernel, visit.setting, parameter=parameter, uses=uses
        )
        if met is not None:
            return f"{parameter.name} is written in it and may overlap what is read: {met}"
    return None


def _of_alignment(visit: Visit) -> str | None:
    for row in visit.rows:
        for launch in visit.setting.launches:
            pointer = launch.pointers.get(row.parameter)
            is_direct = row.pointer == row.parameter and not row.offset
            if pointer is not None and is_direct and not pointer.is_aligned(VECTOR_BYTES):
                return f"{row.parameter} was not aligned to {VECTOR_BYTES} bytes in a captured dispatch"
    return None


_OF_EVERY_LOOP: tuple[Callable[[Visit], str | None], ...] = (
    _of_text,
    _of_offsets,
    _of_conditions,
    _of_same_memory,
    _of_aliases,
    _of_alignment,
)
_OF_SHARED_LOOPS: tuple[Callable[[Visit], str | None], ...] = (_of_sharing, _of_shared_memory, _of_results)

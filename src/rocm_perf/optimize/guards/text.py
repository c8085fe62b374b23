"""The gate `text`: only the kernel's own definition differs, and the device functions of the file that it alone calls;
and nothing comes in that reaches beyond it: directives, assembly, variables that outlive a launch, output, unknown
functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tree_sitter import Node

from rocm_perf.optimize.gates import Passage
from rocm_perf.optimize.guards.changed_kernel import ChangedKernel, KernelText, changed_kernel
from rocm_perf.optimize.source.kernels import plain_name
from rocm_perf.optimize.source.model import ELEMENT_BYTES, Kernel
from rocm_perf.optimize.source.parameters import declared_name
from rocm_perf.optimize.source.tree import below, children, line_of, text_of, walk
from rocm_perf.optimize.source.vocabulary import CLOCKS, is_known

# Attributes that only say how registers are to be planned.
_ATTRIBUTES = frozenset(
    (
        "__launch_bounds__",
        "launch_bounds",
        "amdgpu_waves_per_eu",
        "amdgpu_flat_work_group_size",
        "amdgpu_num_vgpr",
        "amdgpu_num_sgpr",
        "amdgpu_max_num_work_groups",
    )
)
_CONDITIONALS = ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else")
_OUTLIVING = frozenset(("static", "extern", "thread_local", "__device__", "__constant__", "__managed__"))


def text_passage(original: bytes, candidate: bytes, kernel: str) -> Passage:
    """Whether nothing but the kernel's own text differs."""
    change = changed_kernel(original, candidate, kernel)
    if isinstance(change, str):
        return Passage("text", False, change)
    reason = next((each for check in _CHECKS if (each := check(change)) is not None), None)
    own = [each.name for each in change.new.own]
    words = f"only {kernel}{' and ' + ', '.join(own) if own else ''} may differ, and nothing else does"
    return Passage("text", reason is None, reason or words)


def _outside(change: ChangedKernel) -> str | None:
    """Everything between and around the definitions is the same, byte for byte."""
    old, new = _pieces(change.old), _pieces(change.new)
    for before, after, line in zip(old, new, _lines(change.old), strict=True):
        if before != after:
            same = next(
                (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
                min(map(len, (before, after))),
            )
            at = line + before[:same].count(b"\n")
            return f"the text outside of the kernel differs, from line {at} on"
    return None


def _pieces(text: KernelText) -> list[bytes]:
    """The text without the kernel and its functions, in pieces."""
    edges = [0, *(edge for span in text.spans for edge in (span.start, span.end)), len(text.source.text)]
    return [text.source.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _lines(text: KernelText) -> list[int]:
    """The lines in which the pieces begin."""
    starts = [0, *(span.end for span in text.spans)]
    return [text.source.text[:start].count(b"\n") + 1 for start in starts]


def _signature(change: ChangedKernel) -> str | None:
    old, new = change.old.kernel, change.new.kernel
    if _shape(old) != _shape(new):
        return "the kernel has another signature"
    if old.macros != new.macros:
        return "macros among the attributes of the kernel differ"
    added = {each.name for each in new.attributes} - {each.name for each in old.attributes} - _ATTRIBUTES
    return f"a new attribute: {min(added)}" if added else None


def _shape(kernel: Kernel) -> tuple[object, ...]:
    parameters = tuple(
        (each.name, each.element, each.depth, each.reference, each.packed) for each in kernel.parameters
    )
    return kernel.qualified, kernel.extern_c, kernel.template, parameters


def _directives(change: ChangedKernel) -> str | None:
    added = _added(change, _is_directive)
    if added is not None:
        return f"a new directive of the preprocessor in line {line_of(added)}"
    removed = _added(ChangedKernel(old=change.new, new=change.old), _is_directive)
    if removed is not None:
        return f"the directive of the preprocessor in line {line_of(removed)} is gone"
    splices = [text.source.text.count(b"\\\n") for text in (change.old, change.new)]
    return "a line that is continued by a backslash" if splices[1] > splices[0] else None


def _is_directive(node: Node) -> bool:
    return node.type.startswith("preproc") and not _is_unroll(node)


def _is_unroll(node: Node) -> bool:
    """`#pragma unroll`, with a number or without, and the nodes of which it consists."""
    call = node if node.type == "preproc_call" else node.parent
    if call is None or call.type != "preproc_call":
        return False
    words = text_of(call).split()
    is_counted = len(words) == 2 or (len(words) == 3 and words[2].strip("()").isalnum())
    return words[:2] == ["#pragma", "unroll"] and is_counted


def _assembly(change: ChangedKernel) -> str | None:
    added = _added(change, lambda node: node.type in ("gnu_asm_expression", "asm_statement", "ms_asm_block"))
    return f"inline assembly in line {line_of(added)}" if added else None


def _outliving(change: ChangedKernel) -> str | None:
    added = _added(change, _outlives)
    return f"a variable that outlives a launch, in line {line_of(added)}" if added else None


def _outlives(node: Node) -> bool:
    if node.type != "declaration":
        return False
    words = {text_of(each) for each in node.children if each.type not in ("init_declarator",)}
    return bool(words & _OUTLIVING) and "constexpr" not in words


def _allocations(change: ChangedKernel) -> str | None:
    added = _added(change, lambda node: node.type in ("new_expression", "delete_expression"))
    return f"memory is allocated in line {line_of(added)}" if added else None


def _added(change: ChangedKernel, is_meant: Callable[[Node], bool]) -> Node | None:
    """The first node of a kind that was not there before, word for word."""
    before = Counter(_words(each) for node in change.old.nodes for each in walk(node) if is_meant(each))
    for each in (each for node in change.new.nodes for each in walk(node) if is_meant(each)):
        before[_words(each)] -= 1
        if before[_words(each)] < 0:
            return each
    return None


def _words(node: Node) -> str:
    """The text of a node; of an `#if`, only what it asks for, because what it holds may change."""
    if node.type in _CONDITIONALS:
        return " ".join(
            (node.type, *(text_of(node.child_by_field_name(each)) for each in ("condition", "name")))
        )
    return " ".join(text_of(node).split())


def _calls(change: ChangedKernel) -> str | None:
    """Calls of functions that the kernel did not call before: only those of the vocabulary, and of the file."""
    known = (
        {plain_name(each) for each in change.old.called}
        | set(_functions(change.old))
        | set(_lambdas(change.new))
    )
    for function in change.new.called:
        name = plain_name(function)
        if name not in known and name not in ELEMENT_BYTES and (not is_known(name) or name in CLOCKS):
            return f"it calls {name} in line {line_of(function)}, which it did not before"
    return None


def _functions(text: KernelText) -> Iterator[str]:
    return (each.name for each in text.kernel.calls)


def _lambdas(text: KernelText) -> Iterator[str]:
    for declarator in text.below("init_declarator"):
        value = declarator.child_by_field_name("value")
        if value is not None and value.type == "lambda_expression":
            yield text_of(declarator.child_by_field_name("declarator"))


def _variables(change: ChangedKernel) -> str | None:
    """Variables of the file that the kernel did not use before: they could carry results from launch to launch."""
    used = {text_of(each) for each in change.old.below("identifier")}
    for declaration in below(change.new.source.tree.root_node, "declaration"):
        if declaration.parent is None or declaration.parent.type == "compound_statement":
            continue
        if not children(declaration, "__device__", "__constant__", "__managed__"):
            continue
        names = {text_of(declared_name(each)) for each in declaration.children_by_field_name("declarator")}
        for identifier in change.new.below("identifier"):
            if text_of(identifier) in names - used:
                return f"it uses {text_of(identifier)} in line {line_of(identifier)}, which it did not before"
    return None


_CHECKS = (_outside, _signature, _directives, _assembly, _outliving, _allocations, _calls, _variables)

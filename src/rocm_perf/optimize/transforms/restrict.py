"""`__restrict__` where no two pointers can meet, and `const` where nothing is written. The promise is the programmer's
to keep, so it is made only where text and captured dispatches together show that it holds."""

from __future__ import annotations

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.accesses import Accesses, Use, accesses_of, based_on
from rocm_perf.optimize.source.contents import contents_of
from rocm_perf.optimize.source.launches import is_declared
from rocm_perf.optimize.source.model import Kernel, Parameter
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import below, children, text_of
from rocm_perf.optimize.transforms.aliasing import meets_another, reason_kernel_hides_pointers
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform


def propose(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """One change with every pointer for which the promise holds; for `extern "C"`, another with `const`."""
    uses = {each.name: accesses_of(each.name, kernel.node, kernel.calls) for each in kernel.pointers}
    _propose_restrict(source, kernel, setting, proposals=proposals, uses=uses)
    _propose_const(source, kernel, proposals, uses)


def _propose_restrict(
    source: Source, kernel: Kernel, setting: Setting, *, proposals: Proposals, uses: dict[str, Accesses]
) -> None:
    open_ = [each for each in kernel.pointers if not each.restrict]
    if len(kernel.pointers) < 2 or not open_:
        return
    hidden = reason_kernel_hides_pointers(source, kernel, setting)
    if hidden is not None:
        proposals.refuse("__restrict__", hidden)
        return
    kept = []
    for parameter in open_:
        reason = _reason_against(source, kernel, setting, parameter=parameter, uses=uses)
        if reason is None:
            kept.append(parameter)
        else:
            proposals.refuse(f"__restrict__ on {parameter.name}", reason)
    if kept:
        proposals.propose(f"__restrict__ on {', '.join(each.name for each in kept)}", *map(_restricted, kept))


def _reason_against(
    source: Source, kernel: Kernel, setting: Setting, *, parameter: Parameter, uses: dict[str, Accesses]
) -> str | None:
    own = uses[parameter.name]
    if (reason := _reason_of_declaration(parameter)) is not None:
        return reason
    for use, why in _SHARED_USES:
        if (accesses := own.by(use)) != ():
            return f"{why} ({accesses[0].mention})"
    if own.by("write") and own.by("read") and _synchronises(kernel):
        return "it is written and read in a kernel with barriers or fences: other threads may read what one wrote"
    return meets_another(source, kernel, setting, parameter=parameter, uses=uses)


_SHARED_USES: tuple[tuple[Use, str], ...] = (
    ("reassign", "it is made to point elsewhere"),
    ("escape", "it is handed on to where its use is not known"),
    ("atomic", "other threads change what it points to, by atomics"),
)


def _reason_of_declaration(parameter: Parameter) -> str | None:
    declarator = parameter.node.child_by_field_name("declarator")
    if parameter.opaque:
        return "a macro in its declaration may say so already"
    if parameter.volatile:
        return "it is volatile: other threads change it"
    if (
        declarator is None
        or declarator.type != "pointer_declarator"
        or parameter.reference
        or parameter.packed
    ):
        return "it is not declared as a plain pointer"
    return None


def _synchronises(kernel: Kernel) -> bool:
    contents = contents_of(kernel.node, kernel.calls, frozenset())
    return bool(contents.barriers or contents.fences or contents.lane_operations or contents.unknown_calls)


def _restricted(parameter: Parameter) -> Edit:
    return Edit(parameter.name_at, parameter.name_at, b"__restrict__ ")


def _propose_const(source: Source, kernel: Kernel, proposals: Proposals, uses: dict[str, Accesses]) -> None:
    unwritten = [each for each in kernel.pointers if not each.const and _is_only_read(uses[each.name])]
    for parameter in unwritten:
        reason = _reason_against_const(source, kernel, parameter)
        if reason is None:
            start = parameter.span.start
            proposals.propose(f"const on {parameter.name}", Edit(start, start, b"const "))
        else:
            proposals.refuse(f"const on {parameter.name}", reason)


def _is_only_read(accesses: Accesses) -> bool:
    return bool(accesses.by("read")) and not accesses.by("write", "atomic", "escape", "reassign")


def _reason_against_const(source: Source, kernel: Kernel, parameter: Parameter) -> str | None:
    if not kernel.extern_c:
        return "it would change the symbol of the kernel, which C++ makes from the types of its parameters"
    if parameter.depth != 1 or _reason_of_declaration(parameter) is not None:
        return "it is not declared as a plain pointer"
    if based_on(parameter.name, kernel.node) != {parameter.name}:
        return "a local pointer without const is made from it"
    if _is_handed_on(kernel, parameter) or is_declared(source, kernel):
        return "a declaration without const would no longer fit"
    return None


def _is_handed_on(kernel: Kernel, parameter: Parameter) -> bool:
    """Whether the pointer itself is an argument of a device function that does not take it as const."""
    return any(
        text_of(argument) == parameter.name
        for call in below(kernel.node, "call_expression")
        for arguments in children(call, "argument_list")
        for argument in arguments.named_children
    )


TRANSFORM = Transform(
    name="restrict",
    ranks={"memory": 2, "latency": 2, "unknown": 2, "compute": 4, "lds": 5},
    propose=propose,
)

"""The types of the elements that names of a kernel stand for."""

from __future__ import annotations

from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parameters import declared_name
from rocm_perf.optimize.source.tree import below, text_of


def element_type(kernel: Kernel, name: str) -> str | None:
    """The type of a variable, or of the elements that it points to. None: not declared in the kernel, or twice."""
    parameter = kernel.parameter(name)
    if parameter is not None:
        return parameter.element
    declared = {
        text_of(declaration.child_by_field_name("type"))
        for declaration in below(kernel.node, "declaration")
        for declarator in declaration.children_by_field_name("declarator")
        if text_of(declared_name(declarator)) == name
    }
    return declared.pop() if len(declared) == 1 else None

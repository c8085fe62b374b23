"""Where a file launches its kernels, with `<<<>>>` or `hipLaunchKernelGGL`, and from which numbers the block size
comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from rocm_perf.optimize.source.constants import Constant, constants_at, value_of
from rocm_perf.optimize.source.kernels import plain_name
from rocm_perf.optimize.source.model import Kernel, Span
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import ancestors, below, children, line_of, span_of, text_of

_GGL = "hipLaunchKernelGGL"
_NAMES = ("identifier", "type_identifier")


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel."""

    line: int
    span: Span
    grid: tuple[Node, ...] = field(
        repr=False
    )  # the expressions for x, y, z; variables of type dim3 are followed
    block: tuple[Node, ...] = field(repr=False)
    block_size: tuple[int | None, ...]  # as many as are given; None: not known from the text
    shared: Node | None = field(repr=False)
    stream: Node | None = field(repr=False)
    arguments: tuple[Node, ...] = field(repr=False)
    template_arguments: str  # "<float, 256>"
    names: frozenset[str]  # every name that its grid, block and shared memory come from


def launches_of(source: Source, kernel: Kernel) -> tuple[Launch, ...]:
    """Launches of a kernel in its own file."""
    root = source.tree.root_node
    launches = []
    for call in below(root, "call_expression"):
        parts = _by_chevrons(call) or _by_macro(call)
        if parts is not None and plain_name(parts.kernel) == kernel.base:
            launches.append(_launch(call, parts, constants_at(root, call)))
    return tuple(launches)


def other_mentions(source: Source, kernel: Kernel) -> tuple[int, ...]:
    """Lines in which the kernel's name stands outside of its definition and of launches: its address is taken, or it
    is launched in another way."""
    known = [kernel.span, *(each.span for each in launches_of(source, kernel))]
    return tuple(
        line_of(each)
        for each in below(source.tree.root_node, *_NAMES)
        if text_of(each) == kernel.base
        and not any(span.holds(span_of(each)) for span in known)
        and not any(
            parent.type in ("declaration", "function_definition") and children(parent, "__global__")
            for parent in ancestors(each)
        )
    )


def is_declared(source: Source, kernel: Kernel) -> bool:
    """Whether the file declares the kernel somewhere else too."""
    return any(
        children(each, "__global__")
        and any(text_of(name) == kernel.base for name in below(each, "identifier"))
        for each in below(source.tree.root_node, "declaration")
    )


@dataclass(frozen=True)
class _Parts:
    kernel: Node
    configuration: list[Node]
    arguments: list[Node]


def _by_chevrons(call: Node) -> _Parts | None:
    syntax, function, arguments = (
        next(iter(children(call, "kernel_call_syntax")), None),
        call.child_by_field_name("function"),
        call.child_by_field_name("arguments"),
    )
    if syntax is None or function is None or arguments is None:
        return None
    return _Parts(function, _without_comments(syntax), _without_comments(arguments))


def _by_macro(call: Node) -> _Parts | None:
    arguments = call.child_by_field_name("arguments")
    if text_of(call.child_by_field_name("function")) != _GGL or arguments is None:
        return None
    kernel, *rest = _without_comments(arguments) or [call]
    return _Parts(_unwrapped(kernel), rest[:4], rest[4:])


def _unwrapped(kernel: Node) -> Node:
    """The kernel in `(k<float>)` and `HIP_KERNEL_NAME(k<float>)`."""
    while kernel.type in ("parenthesized_expression", "call_expression"):
        inside = kernel.child_by_field_name("arguments") if kernel.type == "call_expression" else kernel
        named = _without_comments(inside) if inside else []
        if len(named) != 1:
            break
        kernel = named[0]
    return kernel


def _without_comments(node: Node) -> list[Node]:
    return [each for each in node.named_children if each.type != "comment"]


def _launch(call: Node, parts: _Parts, constants: Mapping[str, Constant]) -> Launch:
    configuration: list[Node | None] = [*parts.configuration, None, None, None, None]
    grid, block = (_dimensions(each, call) for each in configuration[:2])
    named = [*grid, *block, *(each for each in configuration[:3] if each)]
    template = next(below(parts.kernel, "template_argument_list"), None)
    return Launch(
        line=line_of(call),
        span=span_of(call),
        grid=grid,
        block=block,
        block_size=tuple(value_of(each, constants) for each in block),
        shared=configuration[2],
        stream=configuration[3],
        arguments=tuple(parts.arguments),
        template_arguments=text_of(template),
        names=frozenset(text_of(name) for each in named for name in below(each, *_NAMES)),
    )


def _dimensions(expression: Node | None, call: Node) -> tuple[Node, ...]:
    """The numbers of a `dim3`, of a variable that is one, or the expression itself."""
    if expression is None:
        return ()
    if expression.type == "call_expression" and text_of(expression.child_by_field_name("function")) == "dim3":
        arguments = expression.child_by_field_name("arguments")
        return tuple(_without_comments(arguments)) if arguments else ()
    if expression.type == "compound_literal_expression":
        inside = expression.child_by_field_name("value")
        return tuple(_without_comments(inside)) if inside else ()
    if expression.type == "identifier":
        declared = list(_dim3_variables(text_of(expression), call))
        return declared[0] if len(declared) == 1 else (expression,)
    return (expression,)


def _dim3_variables(name: str, call: Node) -> Iterator[tuple[Node, ...]]:
    """What the variables of that name in the function around a launch are made of."""
    function = next((each for each in ancestors(call) if each.type == "function_definition"), None)
    for declaration in below(function, "declaration") if function else ():
        if text_of(declaration.child_by_field_name("type")) != "dim3":
            continue
        for declarator in declaration.children_by_field_name("declarator"):
            if text_of(declarator.child_by_field_name("declarator")) == name:
                inside = declarator.child_by_field_name("value") or declarator.child_by_field_name(
                    "parameters"
                )
                if inside is not None and inside.type == "call_expression":
                    inside = inside.child_by_field_name("arguments")
                yield tuple(_without_comments(inside)) if inside else ()

"""The kernels and device functions of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tree_sitter import Node

from rocm_perf.optimize.source.model import Attribute, Function, Kernel, Span, Unreadable
from rocm_perf.optimize.source.parameters import parameters_of, template_parameters_of
from rocm_perf.optimize.source.tree import (
    ancestors,
    below,
    children,
    first_error,
    leaves,
    line_of,
    span_of,
    text_of,
    walk,
)

_SCOPES = ("namespace_definition", "class_specifier", "struct_specifier")


def kernels_of(root: Node, macros: Sequence[Span], text: bytes) -> tuple[list[Kernel], list[Unreadable]]:
    """Every kernel that is defined, and those that are left alone with the reason."""
    kernels, unreadable = [], []
    functions = functions_of(root)
    for mark in (each for each in walk(root) if each.type == "__global__"):
        definition = mark.parent
        if definition is None or _is_declaration(definition):
            continue
        reason = _reason_against(definition)
        if reason:
            unreadable.append(Unreadable(name=_nearest_name(mark), line=line_of(mark), reason=reason))
        else:
            kernels.append(_kernel(definition, macros, text=text, functions=functions))
    return kernels, [*unreadable, *_made_by_macros(root)]


def functions_of(root: Node) -> dict[str, Function]:
    """Device functions by name. One that is overloaded or a method is left out: a call could mean another."""
    functions: dict[str, Function] = {}
    overloaded = set()
    for node in below(root, "function_definition"):
        declarator, body = _declarator(node), node.child_by_field_name("body")
        if declarator is None or body is None or not children(node, "__device__"):
            continue
        name = text_of(declarator.child_by_field_name("declarator"))
        overloaded.update({name} & functions.keys())
        functions[name] = Function(
            name=name,
            span=span_of(_whole(node)),
            body=span_of(body),
            parameters=parameters_of(declarator.child_by_field_name("parameters"), ()),
            node=node,
        )
    return {name: each for name, each in functions.items() if name not in overloaded}


def called_names(node: Node) -> Iterator[str]:
    """Names of the functions that are called below a node, without template arguments."""
    return (plain_name(each) for each in called(node))


def called(node: Node) -> Iterator[Node]:
    """What is called below a node, as it is written; `__attribute__((a(2)))` is not a call."""
    for call in below(node, "call_expression"):
        function = call.child_by_field_name("function")
        if function is not None and not any(each.type == "attribute_specifier" for each in ancestors(call)):
            yield function


def plain_name(function: Node) -> str:
    """`a::f<float>` as `f`; a method `g.sync` as `sync`."""
    if function.type in ("qualified_identifier", "template_function"):
        inner = function.child_by_field_name("name")
        return plain_name(inner) if inner else text_of(function)
    if function.type == "field_expression":
        return text_of(function.child_by_field_name("field"))
    return text_of(function)


def _kernel(
    definition: Node, macros: Sequence[Span], *, text: bytes, functions: dict[str, Function]
) -> Kernel:
    name, parameter_list, body = _parts(definition)
    whole = _whole(definition)
    head = [
        each for each in macros if each.end <= name.start_byte and _is_in_head(each, whole=whole, text=text)
    ]
    return Kernel(
        name=text_of(name),
        namespaces=_namespaces(definition),
        extern_c=any(_is_extern_c(each) for each in ancestors(definition)),
        template=template_parameters_of(whole),
        parameters=parameters_of(parameter_list, macros),
        attributes=tuple(_attributes(definition)),
        macros=tuple(text[each.start : each.end].decode(errors="replace") for each in head),
        line=line_of(whole),
        span=Span(min([whole.start_byte, *(each.start for each in head)]), whole.end_byte),
        body=span_of(body),
        parameter_list=span_of(parameter_list),
        attributes_at=name.start_byte,
        calls=_called(definition, functions),
        node=definition,
    )


def _parts(definition: Node) -> tuple[Node, Node, Node]:
    """Name, parameter list and body of a function that parsed without an error."""
    declarator = _declarator(definition)
    assert declarator is not None
    parts = (
        declarator.child_by_field_name("declarator"),
        declarator.child_by_field_name("parameters"),
        definition.child_by_field_name("body"),
    )
    name, parameter_list, body = parts
    assert name is not None
    assert parameter_list is not None
    assert body is not None
    return name, parameter_list, body


def _declarator(definition: Node) -> Node | None:
    declarator = definition.child_by_field_name("declarator")
    return declarator if declarator is not None and declarator.type == "function_declarator" else None


def _whole(definition: Node) -> Node:
    """The definition with its `template <...>` and its `extern "C"`."""
    node = definition
    while (parent := node.parent) is not None and (
        parent.type == "template_declaration"
        or (parent.type == "linkage_specification" and not _is_list(parent))
    ):
        node = parent
    return node


def _is_list(linkage: Node) -> bool:
    body = linkage.child_by_field_name("body")
    return body is not None and body.type == "declaration_list"


def _is_in_head(macro: Span, *, whole: Node, text: bytes) -> bool:
    """Whether a macro stands within a definition, or right before it."""
    return whole.start_byte <= macro.start or not text[macro.end : whole.start_byte].strip()


def _is_extern_c(node: Node) -> bool:
    return node.type == "linkage_specification" and text_of(node.child_by_field_name("value")) == '"C"'


def _namespaces(definition: Node) -> tuple[str, ...]:
    """Namespaces and classes around a function, outermost first."""
    scopes = [each for each in ancestors(definition) if each.type in _SCOPES]
    return tuple(
        part for each in reversed(scopes) for part in text_of(each.child_by_field_name("name")).split("::")
    )


def _attributes(definition: Node) -> Iterator[Attribute]:
    for node in definition.children:
        if node.type == "launch_bounds":
            arguments = tuple(text_of(each) for each in node.named_children if each.type != "comment")
            yield Attribute(name="__launch_bounds__", arguments=arguments, span=span_of(node))
        elif node.type == "attribute_specifier":
            yield from (_attribute(each) for each in _listed(node))


def _listed(specifier: Node) -> Iterator[Node]:
    """The attributes in `__attribute__((one, two(2)))`."""
    for arguments in children(specifier, "argument_list"):
        yield from (each for each in arguments.named_children if each.type != "comment")


def _attribute(node: Node) -> Attribute:
    if node.type != "call_expression":
        return Attribute(name=text_of(node), arguments=(), span=span_of(node))
    arguments = node.child_by_field_name("arguments")
    return Attribute(
        name=text_of(node.child_by_field_name("function")),
        arguments=tuple(text_of(each) for each in arguments.named_children) if arguments else (),
        span=span_of(node),
    )


def _called(definition: Node, functions: dict[str, Function]) -> tuple[Function, ...]:
    """Device functions of the file that are reached from a function, in the order in which they are met."""
    reached: dict[str, Function] = {}
    pending = [definition]
    while pending:
        for name in called_names(pending.pop(0)):
            function = functions.get(name)
            if function is not None and name not in reached:
                reached[name] = function
                pending.append(function.node)
    return tuple(reached.values())


def _is_declaration(node: Node) -> bool:
    return node.type in ("declaration", "field_declaration", "friend_declaration") and not node.has_error


def _reason_against(definition: Node) -> str | None:
    """Why a kernel must be left alone. None: it is understood."""
    around = list(ancestors(definition))
    if definition.type != "function_definition" or any(each.is_error for each in around):
        error = first_error(definition.parent or definition)
        return f"the text around it is not understood{_where(error)}"
    if (error := first_error(definition)) is not None:
        return f"its text is not understood{_where(error)}"
    if any(each.type in ("compound_statement", "function_definition") for each in around):
        return "it stands inside another function: a brace before it may be missing"
    body = definition.child_by_field_name("body")
    if body is None or body.type != "compound_statement" or _declarator(definition) is None:
        return "its definition is not a plain block of statements"
    return None


def _where(error: Node | None) -> str:
    return f" (line {line_of(error)})" if error else ""


def _nearest_name(mark: Node) -> str:
    """The name before the first parenthesis behind `__global__`."""
    tokens = [each for each in leaves(mark.parent or mark) if each.start_byte >= mark.end_byte]
    return next((text_of(name) for name, follower in pairwise(tokens) if text_of(follower) == "("), "?")


def _made_by_macros(root: Node) -> Iterator[Unreadable]:
    for definition in below(root, "preproc_def", "preproc_function_def"):
        if "__global__" in text_of(definition.child_by_field_name("value")):
            macro = text_of(definition.child_by_field_name("name"))
            yield Unreadable(name=macro, line=line_of(definition), reason=f"it is made by the macro {macro}")

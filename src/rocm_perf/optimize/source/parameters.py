"""The parameters of a function, from their declarations."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from rocm_perf.optimize.source.model import Parameter, Span, TemplateParameter
from rocm_perf.optimize.source.tree import children, span_of, text_of, walk

_DECLARATIONS = ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration")
_POINTERS = (
    "pointer_declarator",
    "abstract_pointer_declarator",
    "array_declarator",
    "abstract_array_declarator",
)
_NESTED = (*_POINTERS, "parenthesized_declarator", "reference_declarator", "variadic_declarator")
_RESTRICT = {"__restrict__", "__restrict", "restrict"}


def parameters_of(parameter_list: Node | None, macros: Sequence[Span]) -> tuple[Parameter, ...]:
    """Every parameter of a list, with the macros that were blanked in the text."""
    if parameter_list is None:
        return ()
    return tuple(_parameter(each, macros) for each in children(parameter_list, *_DECLARATIONS))


def _parameter(node: Node, macros: Sequence[Span]) -> Parameter:
    declarator = node.child_by_field_name("declarator")
    name = declared_name(declarator)
    chain = _declarators(declarator)
    type_node = node.child_by_field_name("type")
    qualifiers = {text_of(each) for each in (*children(node, "type_qualifier"), *_within(type_node))}
    on_pointers = {text_of(q) for each in chain for q in children(each, "type_qualifier")}
    return Parameter(
        name=text_of(name),
        type=_type_text(node, name),
        element=_element(type_node),
        depth=sum(each.type in _POINTERS for each in chain),
        const="const" in qualifiers,
        restrict=bool(on_pointers & _RESTRICT),
        reference=any(each.type == "reference_declarator" for each in chain),
        volatile="volatile" in qualifiers,
        packed=node.type == "variadic_parameter_declaration",
        opaque=any(span_of(node).holds(each) for each in macros),
        span=span_of(node),
        name_at=name.start_byte if name else node.end_byte,
        node=node,
    )


def declared_name(declarator: Node | None) -> Node | None:
    """The identifier that a declarator declares."""
    while declarator is not None and declarator.type in (*_NESTED, "init_declarator", "function_declarator"):
        inner = declarator.child_by_field_name("declarator")
        declarator = inner or next(
            (
                each
                for each in declarator.named_children
                if "declarator" in each.type or each.type == "identifier"
            ),
            None,
        )
    return (
        declarator
        if declarator is not None and declarator.type in ("identifier", "field_identifier")
        else None
    )


def _declarators(declarator: Node | None) -> list[Node]:
    return [each for each in walk(declarator) if each.type in _NESTED] if declarator else []


def _within(type_node: Node | None) -> tuple[Node, ...]:
    return children(type_node, "type_qualifier") if type_node else ()


def _element(type_node: Node | None) -> str:
    if type_node is None:
        return ""
    if type_node.type != "sized_type_specifier":
        return text_of(type_node)
    return " ".join(text_of(each) for each in type_node.children if each.type != "type_qualifier")


def _type_text(node: Node, name: Node | None) -> str:
    """The declaration without its name and its default."""
    default = node.child_by_field_name("default_value")
    whole = text_of(node)
    if default is not None:
        whole = whole[: default.start_byte - node.start_byte].rstrip().removesuffix("=")
    if name is not None:
        start, end = name.start_byte - node.start_byte, name.end_byte - node.start_byte
        whole = whole[:start] + whole[end:]
    return " ".join(whole.split())


def template_parameters_of(definition: Node) -> tuple[TemplateParameter, ...] | None:
    """The parameters of a template, in order. None: it is not one."""
    if definition.type != "template_declaration":
        return None
    listed = definition.child_by_field_name("parameters")
    named = listed.named_children if listed else []
    return tuple(_template_parameter(each) for each in named if "parameter" in each.type)


def _template_parameter(node: Node) -> TemplateParameter:
    default = node.child_by_field_name("default_type") or node.child_by_field_name("default_value")
    named = [each for each in walk(node) if each.type in ("identifier", "type_identifier")]
    type_node = node.child_by_field_name("type")
    name = next(
        (each for each in reversed(named) if default is None or each.end_byte <= default.start_byte), None
    )
    kind = text_of(type_node) if type_node else text_of(node.children[0] if node.children else None)
    return TemplateParameter(name=text_of(name), kind=kind, default=text_of(default) or None)

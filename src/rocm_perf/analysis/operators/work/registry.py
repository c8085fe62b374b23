"""Every operator with a formula: by name, by the pattern of a name, and without its library."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain

from rocm_perf.analysis.operators.work import (
    attention,
    cached_attention,
    convolutions,
    elementwise,
    fourier,
    gated,
    grouped,
    indexing,
    moe,
    movement,
    norms,
    optimisers,
    products,
    quantised,
    recurrent,
    reductions,
    resizing,
    rotary,
    transformer_engine,
    triton_kernels,
)
from rocm_perf.analysis.operators.work.signature import Formula

FAMILIES = (
    products,
    quantised,
    transformer_engine,
    convolutions,
    recurrent,
    attention,
    cached_attention,
    moe,
    grouped,
    norms,
    gated,
    rotary,
    reductions,
    fourier,
    elementwise,
    movement,
    indexing,
    resizing,
    optimisers,
)
_ALL: tuple[Formula, ...] = tuple(chain.from_iterable(family.FORMULAS for family in FAMILIES))

# SGLang wraps Python functions: `sglang_profiler::attention_paged_attention_ragged_100` is paged_attention_ragged of
# attention.py, called in line 100.
_TORCH = "aten::"
_WRAPPED = re.compile(r"\w+_profiler::(\w+?)(?:_\d+)?")


def _named() -> tuple[dict[str, list[Formula]], dict[str, list[Formula]]]:
    full: dict[str, list[Formula]] = {}
    bare: dict[str, list[Formula]] = {}
    for formula in _ALL:
        if "*" not in formula.operator:
            full.setdefault(formula.operator, []).append(formula)
        if "*" not in formula.operator and not formula.operator.startswith(_TORCH):
            bare.setdefault(_without_library(formula.operator), []).append(formula)
    return full, bare


@cache
def _pattern(operator: str) -> re.Pattern[str]:
    return re.compile(re.escape(operator).replace(r"\*", r"\w*"))


def _without_library(name: str) -> str:
    return name.rsplit("::", maxsplit=1)[-1]


_FULL, _BARE = _named()
# With how they begin: most patterns are never compiled.
_PATTERNS = tuple(
    (formula.operator.partition("*")[0], formula) for formula in _ALL if "*" in formula.operator
)
_OF_KERNELS = tuple(("", formula) for formula in triton_kernels.FORMULAS)


@lru_cache(maxsize=65_536)
def formulas_of(name: str) -> tuple[Formula, ...]:
    """The formulas that may fit the calls of an operator, the likeliest first; those of other schemas follow.

    A name is looked up as it is, by pattern, as that of the in-place variant (`add_`), and without its library, which
    torch's own operators have always; what nothing is known of may be a Triton kernel.
    """
    wrapped = _WRAPPED.fullmatch(name)
    if wrapped:
        return _wrapped(wrapped[1])
    return (
        _exactly(name)
        or _without_underscore(name)
        or tuple(_BARE.get(_without_library(name), ()))
        or tuple(_by_pattern(name, _OF_KERNELS))
    )


def _exactly(name: str) -> tuple[Formula, ...]:
    return (*_FULL.get(name, ()), *_by_pattern(name))


def _by_pattern(name: str, patterns: tuple[tuple[str, Formula], ...] = _PATTERNS) -> list[Formula]:
    return [
        formula
        for beginning, formula in patterns
        if name.startswith(beginning) and _pattern(formula.operator).fullmatch(name)
    ]


def _without_underscore(name: str) -> tuple[Formula, ...]:
    if not name.endswith("_"):
        return ()
    plain = _exactly(name[:-1]) or tuple(_BARE.get(_without_library(name[:-1]), ()))
    return tuple(formula.in_place() for formula in plain)


def _wrapped(name: str) -> tuple[Formula, ...]:
    """The formulas of the function that ends the name, whatever module it is of."""
    words = name.split("_")
    for start in range(len(words)):
        function = "_".join(words[start:])
        named = _BARE.get(function) or _by_pattern(f"aiter::{function}")
        if named:
            return tuple(named)
    return ()

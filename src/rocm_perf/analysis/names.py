"""Kernel names that fit on a line: demangled, without return type, template arguments and parameters."""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

_ANONYMOUS = "(anonymous namespace)"
_LAMBDA = re.compile(r"\{lambda\([^{}]*\)(#\d+)?\}")
_OPERATOR = re.compile(r"operator\s*(\(\)|<<|>>|<=|>=|<|>|->)")


@lru_cache(maxsize=65_536)
def demangle(name: str) -> str:
    """`_Z3fooi` -> `foo(int)`, by the platform's own demangler; other names are returned as they are."""
    if not name.startswith("_Z"):
        return name
    try:
        import cxxfilt

        return str(cxxfilt.demangle(name))
    except Exception:  # noqa: BLE001  (no demangler on this machine, or a name it cannot read)
        return name


@lru_cache(maxsize=65_536)
def short_name(name: str) -> str:
    """`void at::native::reduce_kernel<512, 1>(...)` -> `reduce_kernel`."""
    text = demangle(name).strip()
    plain = _OPERATOR.sub("operator", _LAMBDA.sub("lambda", text.replace(_ANONYMOUS, "")))
    bare = _outside_brackets(plain).strip()
    word = bare.split(" ")[-1] if (" " in bare and "::" in bare) or bare.startswith("void ") else bare
    parts = [part for part in word.split("::") if part]
    return parts[-1] if parts else text


def short_names(names: pl.Series) -> pl.Series:
    """The short name of each; distinct names are worked out once."""
    distinct = names.unique()
    mapping = {name: short_name(name) for name in distinct if name is not None}
    return names.replace_strict(mapping, default=None, return_dtype=pl.String).alias(names.name)


def _outside_brackets(text: str) -> str:
    """What stands before the parameters, outside of template arguments."""
    kept: list[str] = []
    depth = 0
    for character in text:
        if character == "<":
            depth += 1
        elif character == ">":
            depth = max(0, depth - 1)
        elif depth == 0:
            if character == "(":
                break
            kept.append(character)
    return "".join(kept)

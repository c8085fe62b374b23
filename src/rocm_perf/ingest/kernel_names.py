"""Which names of kernels, as different tools spell them, are of one kernel.

Demanglers differ in spaces and in how they write values; Nsight Compute names template parameters (`T2 *`) and leaves
namespaces out. A key that all spellings share tells which names may be one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

from rocm_perf.ingest.nvidia.spelling import LONGEST, demangled_spelling

_BUILD_SUFFIX = re.compile(r"(\.kd|\.llvm\.\d+| \[clone [^\]]*\])+$")
_OPERATOR = re.compile(r"\boperator\s*(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[-+*/%^&|~!=<>]=?)")
# What a demangler writes another way, or Nsight Compute leaves out, in the order in which it goes.
_DIFFERENCES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(\(anonymous namespace\)|\b_GLOBAL__N__\w+)::"), ""),
    (re.compile(r"\)(\s*(const|volatile|noexcept|&&?))+\s*::"), ")::"),
    (re.compile(r"\([A-Za-z_][\w: ]*\)(?=-?\d)"), ""),  # the type of a value: (short)-3
    (re.compile(r"\b(\d+)[uUlL]+\b"), r"\1"),
    (re.compile(r"\btrue\b"), "1"),
    (re.compile(r"\bfalse\b"), "0"),
    (re.compile(r"\b[A-Za-z_$][\w$]*::"), ""),
    (re.compile(r"\{([a-z]+)[^{}#]*#(\d+)\}"), r"\1\2"),  # {lambda(int)#3}
)
_TOKEN = re.compile(r"[\w$~]+|::|\s+|.", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def kernel_key(name: str, parameters: bool = False) -> str:
    """Return what is the same for all spellings of a C++ name: its own name with its template arguments, without
    namespaces, return types, types of values and, unless they are asked for, parameters.

    Two kernels may have one key. Names that are not of a C++ function are their own keys.
    """
    text = _BUILD_SUFFIX.sub("", name)
    if len(text) > LONGEST or not ("(" in text or "<" in text):
        return text
    plain = _OPERATOR.sub(lambda each: "operator" + each[1].encode().hex(), demangled_spelling(text))
    for difference, replacement in _DIFFERENCES:
        plain = difference.sub(replacement, plain)
    try:
        return _Key(plain, parameters).item(",>)") or text
    except RecursionError:
        return text


class _Key:
    """Reads a name once, from left to right."""

    def __init__(self, text: str, parameters: bool) -> None:
        self.tokens = _TOKEN.findall(text)
        self.position = 0
        self.depth = 0
        self.parameters = parameters

    def item(self, ends: str) -> str:
        """One type, value or function, up to what ends it."""
        written: list[str] = []
        name, before = 0, ""  # where in `written` the latest name begins: a return type may stand before it
        while self.position < len(self.tokens) and (token := self.tokens[self.position]) not in ends:
            self.position += 1
            if token == "<":
                written.append(f"<{self._list('>')}>")
            elif token == "(":
                is_call = bool(written) and (written[-1][-1].isalnum() or written[-1][-1] in "_>")
                inner = self._list(")")
                if not is_call:
                    written.append(inner)
                elif self.position < len(self.tokens) and self.tokens[self.position] == "::":
                    written, name = written[name:], 0  # a function, and what is inside of it
                elif not self.depth:
                    return "".join(written[name:]) + (f"({inner})" if self.parameters else "")
            elif not token.isspace():
                if _is_word(token) and before != "::":
                    written += [" "] if before.isspace() and written and _is_word(written[-1]) else []
                    name = len(written)
                written.append(token)
            before = token
        return "".join(written if self.depth else written[name:])

    def _list(self, end: str) -> str:
        """The items up to the bracket that ends them, which is passed."""
        self.depth += 1
        items = [self.item("," + end)]
        while self.position < len(self.tokens) and self.tokens[self.position] == ",":
            self.position += 1
            items.append(self.item("," + end))
        self.position += 1
        self.depth -= 1
        return ",".join(items)


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] in "_$~"


def same_kernels(names: Collection[str], others: Collection[str]) -> dict[str, str]:
    """Return which of `others` is the same kernel as each of `names` that is spelled differently there.

    A name is left out unless exactly one name on each side has its key.
    """
    left, right = set(names) - set(others), set(others) - set(names)
    found: dict[str, str] = {}
    for key in (kernel_key, lambda name: kernel_key(name, parameters=True)):
        found |= _pairs(left - found.keys(), right - set(found.values()), key)
    bare = {name for name in left - found.keys() if not ("<" in name or "(" in name)}
    return found | _pairs(bare, right - set(found.values()), lambda name: kernel_key(name).partition("<")[0])


def _pairs(names: Iterable[str], others: Iterable[str], key: Callable[[str], str]) -> dict[str, str]:
    """The names of both sides that have one key, which no other name on either side has."""
    by_key, of_others = _by_key(names, key), _by_key(others, key)
    return {
        mine[0]: its[0]
        for each, mine in by_key.items()
        if len(mine) == 1 and len(its := of_others.get(each, [])) == 1
    }


def _by_key(names: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name in sorted(names):
        grouped.setdefault(key(name), []).append(name)
    return grouped

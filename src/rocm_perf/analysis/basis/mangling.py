"""How long a mangled C++ name would be if every reference in it were written out.

`S1_` stands for an earlier part of the name and `T_` for a template argument. Parts that hold two references to the
part before them double at each level, so that 200 characters stand for gigabytes; demanglers write all of it, without a
limit. Here the name is only measured, in one pass: the grammar is that of the Itanium C++ ABI, section 5.1, as far as
functions need it, and parts are numbered as libiberty's cp-demangle.c numbers them.
"""

from __future__ import annotations

import re
import sys

from rocm_perf.analysis.basis.mangled_text import Extent, MangledText, UnreadableError

_REFERENCE = re.compile(r"S[0-9A-Z]*_|T[0-9A-Z]*_")
_MULTIPLIED = re.compile(r"Dp|sp|sr|cv")  # printed once for each argument, or read more than once

_BUILTIN = re.compile(r"[vwbcahstijlmxynofdegz]|D[acdefhinsu]|DF[0-9]+[_bx]|DU?B[0-9]+_")
_SUBSTITUTION = re.compile(r"S(?:([0-9A-Z]{0,6})_|[absiodt])")
_PARAMETER = re.compile(r"T[0-9]*_")
_DIGITS = re.compile(r"[0-9]+")
_VALUE = re.compile(r"[^E]*")
_NUMBER = re.compile(r"n?[0-9]+")
_COUNTED = re.compile(r"[0-9]*_")  # `_`, `0_`, `1_`: the first, second and third of a kind
_QUALIFIERS = re.compile(r"(?:[rVK]|Do)+")
_ENDLESS = re.compile(r"D[^Tt]")  # libstdc++ 12 does not return if one follows `sr`: _Z1AIXsr1AD
_CONSTRUCTOR = re.compile(r"C[1-5]|D[0-5]")
_INHERITED = re.compile(r"CI[1-5]")
_DISCRIMINATOR = re.compile(r"_(?:[0-9]|_[0-9]+_)")
_OPERATOR = re.compile(
    r"n[wagte]|d[laev]|aw|p[slmtpL]|ad|co|m[ilmIL]|dV|r[msMS]|a[nNaS]|o[roR]|e[oOq]|l[tesS]|g[te]|ss|c[ml]|ix|qu"
)
# What follows an operator: `e` an expression, `t` a type, `n` a name, `s` the scope of one, `*` expressions until `E`.
_UNARY = ("ps", "ng", "ad", "de", "co", "nt", "nx", "sz", "az", "te", "tw", "pp", "mm", "sp", "sZ")
_BINARY = (
    "pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "ls", "rs", "aa", "oo", "eq", "ne", "lt", "gt", "le", "ge", "ss",
    "pL", "mI", "mL", "dV", "rM", "aN", "oR", "eO", "lS", "rS", "aS", "cm", "pm", "ix", "ds",
)  # fmt: skip
_CASTS = ("sc", "cc", "rc", "dc")
_OPERANDS = {
    **dict.fromkeys(_UNARY, "e"),
    **dict.fromkeys(_BINARY, "ee"),
    **dict.fromkeys(_CASTS, "te"),
    **dict.fromkeys(("st", "at"), "t"),
    **dict.fromkeys(("dt", "pt"), "en"),
    "sr": "sn",
    "qu": "eee",
    "cl": "*",
    "tl": "t*",
}


def unfolds_within(name: str, limit: int) -> bool:
    """Whether the mangled name is at most so long with every reference written out; False if it cannot be read."""
    name = name.encode(errors="replace").decode("latin-1")  # lengths within a name count bytes
    if _unfolded_at_most(name) <= limit:
        return True
    try:
        return _Measure(name, limit).whole() <= limit
    except (UnreadableError, RecursionError):
        return False


def _unfolded_at_most(name: str) -> int:
    """A bound that needs no grammar, where each reference can double the name at most."""
    if _MULTIPLIED.search(name):
        return sys.maxsize
    return len(name) << min(len(_REFERENCE.findall(name)), 64)


class _Measure(MangledText):
    """The grammar, from the whole name down to expressions."""

    def whole(self) -> int:
        self._need("_Z")
        self._encoding()
        if not self._ended() and self._peek() != ".":
            raise UnreadableError
        return self.extent.letters + len(self.name)

    # names

    def _encoding(self) -> None:
        """A function with its signature, in which `T_` is an argument of that function's own template."""
        arguments = self._name()
        before = self.extent
        while not self._ended() and self._peek() not in "E.":
            self._type()
        if arguments:
            references = self.extent.minus(before).parameters
            self._add(arguments.times(references).minus(Extent(parameters=references)))

    def _name(self) -> Extent | None:
        """The template arguments that the name ends with are returned, if it does."""
        before = self.extent
        if self._peek() == "N":
            return self._nested()
        if self._peek() == "Z":
            return self._local()
        referred = self._peek() == "S" and self._peek(2) != "St"
        if referred:
            self._substitution()
        else:
            self._accept("St")
            self._unqualified()
        if self._peek() != "I":
            return None
        if not referred:
            self._remember(before)
        return self._arguments()

    def _nested(self) -> Extent | None:
        self._need("N")
        self._take(_QUALIFIERS)
        if self._peek() in "RO":
            self._advance(1)
        before, arguments = self.extent, None
        while not self._accept("E"):
            if self._accept("M"):  # the lambda that follows initialises a member
                continue
            first = self._peek()
            arguments = self._component(first)
            if first != "S" and self._peek() != "E":
                self._remember(before)
        return arguments

    def _component(self, first: str) -> Extent | None:
        if first == "I":
            return self._arguments()
        if first == "S":
            self._substitution()
        elif first == "T":
            self._parameter()
        elif self._peek(2) in ("DT", "Dt"):
            self._type()
        else:
            self._unqualified()
        return None

    def _local(self) -> Extent | None:
        self._need("Z")
        self._encoding()
        self._need("E")
        if self._accept("s"):
            self._take(_DISCRIMINATOR)
            return None
        if self._accept("d"):
            self._need(_COUNTED)
        arguments = self._name()
        self._take(_DISCRIMINATOR)
        return arguments

    def _unqualified(self) -> None:
        before = self.extent
        if self._accept("Ul"):
            while not self._accept("E"):
                self._type()
            self._need(_COUNTED)
            self._remember_perhaps(before)
        elif self._accept("Ut"):
            self._need(_COUNTED)
            self._remember_perhaps(before)
        elif self._peek() in "CD":
            self._constructor()
        elif self._peek().islower():
            self._need(_OPERATOR)
        else:
            internal = self._accept("L")
            self._source_name()
            if internal:
                self._take(_DISCRIMINATOR)
        while self._accept("B"):
            self._source_name()

    def _constructor(self) -> None:
        self._type() if self._take(_INHERITED) else self._need(_CONSTRUCTOR)

    def _source_name(self) -> None:
        digits = self._take(_DIGITS)
        length = int(digits.group()[:9]) if digits else 0
        if not 0 < length <= len(self.name) - self.position:
            raise UnreadableError
        self._advance(length)

    # references

    def _substitution(self) -> None:
        match = self._take(_SUBSTITUTION)
        if not match:
            raise UnreadableError
        if match.group(1) is None:  # `St`, `Ss`: a name of the standard library
            return
        self._refer(int(match.group(1), 36) + 1 if match.group(1) else 0)

    def _parameter(self) -> None:
        self._need(_PARAMETER)
        self._add(Extent(parameters=1))

    def _arguments(self) -> Extent:
        """The template arguments are read, and the extent of the longest is returned."""
        longest = Extent()
        if not self._accept("J"):
            self._need("I")
        while not self._accept("E"):
            before = self.extent
            self._argument()
            longest = Extent.longest(longest, self.extent.minus(before))
        return longest

    def _argument(self) -> None:
        first = self._peek()
        if first == "L":
            self._literal()
        elif first in ("I", "J"):
            self._arguments()
        elif self._accept("X"):
            self._expression()
            self._need("E")
        else:
            self._type()

    # types

    def _type(self) -> None:
        before = self.extent
        self._descend()
        if self.scoped and _ENDLESS.match(self.name, self.position):
            raise UnreadableError
        if not self._take(_BUILTIN) and self._compound():
            self._remember(before)
        self.depth -= 1

    def _compound(self) -> bool:
        """Whether the type that was read can be referred to."""
        first = self._peek()
        if self._take(_QUALIFIERS):
            self._function() if self._peek() == "F" else self._type()
        elif first == "F":
            self._function()
        elif first == "S" and self._peek(2) != "St":
            self._substitution()
            return self._peek() == "I" and bool(self._arguments())
        elif first == "T":
            self._template_parameter()
        elif first == "D":
            self._special()
        elif first and first in "OPRCG":
            self._advance(1)
            self._type()
        elif self._accept("A"):
            self._array()
        elif self._accept("M"):
            self._type()
            self._type()
        elif self._accept("u"):
            self._source_name()
        elif self._accept("U"):
            self._source_name()
            self._type()
        else:
            self._name()
        return True

    def _template_parameter(self) -> None:
        before = self.extent
        self._parameter()
        if self._peek() == "I":
            self._remember(before)
            self._arguments()

    def _function(self) -> None:
        self._need("F")
        self._accept("Y")
        while not self._accept("E"):
            if self._peek(2) in ("RE", "OE"):
                self._advance(1)
            else:
                self._type()

    def _array(self) -> None:
        if not self._take(_NUMBER) and self._peek() != "_":
            self._expression()
        self._need("_")
        self._type()

    def _special(self) -> None:
        """Pack expansions, decltype and vectors."""
        before = self.extent
        if self._accept("Dp"):
            self._type()
            self._expanded(self.extent.minus(before))
        elif self._accept("Dt") or self._accept("DT"):
            self._expression()
            self._need("E")
        elif self._accept("Dv"):
            self._array()
        else:
            raise UnreadableError

    def _expanded(self, pattern: Extent) -> None:
        """A pattern is printed once for each argument of a pack, of which there are not more than letters in them."""
        if pattern.packs:
            raise UnreadableError
        self._add(Extent(parameters=pattern.letters, packs=1))

    # expressions

    def _literal(self) -> None:
        self._need("L")
        if self._accept("_Z"):
            self._encoding()
        else:
            self._type()
            self._need(_VALUE)
        self._need("E")

    def _expression(self) -> None:
        self._descend()
        self._operation()
        self.depth -= 1

    def _operation(self) -> None:
        first = self._peek()
        if first == "L":
            self._literal()
        elif first == "T":
            self._parameter()
        elif first.isdigit():
            self._unresolved()
        elif self._accept("fp"):
            self._take(_QUALIFIERS)
            self._need(_COUNTED)
        else:
            self._operator(self._peek(2))

    def _operator(self, code: str) -> None:
        before = self.extent
        if code not in _OPERANDS:
            raise UnreadableError
        self._need(code)
        self.scoped = self.scoped or code == "sr"
        if code in ("pp", "mm"):  # `pp_x` is ++x
            self._accept("_")
        for operand in _OPERANDS[code]:
            self._operand(operand)
        if code == "sp":
            self._expanded(self.extent.minus(before))

    def _operand(self, operand: str) -> None:
        if operand == "e":
            self._expression()
        elif operand == "t":
            self._type()
        elif operand == "n":
            self._unresolved()
        elif operand == "s":
            self._scope()
        else:
            self._expressions_until_end()

    def _expressions_until_end(self) -> None:
        while not self._accept("E"):
            self._expression()

    def _scope(self) -> None:
        """A type, or one of clang's bare names, as in `sr3stdE9is_same_v`, which not every demangler counts."""
        known = len(self.parts)
        bare = self._peek().isdigit()
        self._type()
        if bare:
            self._accept("E")
            self.unsure += len(self.parts) - known

    def _unresolved(self) -> None:
        self._unqualified()
        if self._peek() == "I":
            self._arguments()

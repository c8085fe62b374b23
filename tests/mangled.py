"""Mangled names whose references double: short to write, too long to print."""

from __future__ import annotations

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def reference(number: int) -> str:
    """`S_`, `S0_`, ..., `SZ_`, `S10_`: a part of the name, by its place among them."""
    digits, rest = "", number - 1
    while rest >= 0:
        digits, rest = _DIGITS[rest % 36] + digits, rest // 36 or -1
    return f"S{digits}_"


def doubled_parts(levels: int) -> str:
    """f(pair<int, int>, pair of two of these, pair of two of those, ...)."""
    pairs = (f"S_I{reference(level)}{reference(level)}E" for level in range(1, levels + 1))
    return "_Z1fSt4pairIiiE" + "".join(pairs)


def doubled_arguments(levels: int) -> str:
    """A type that is local to f<T>(T, T), where T is a type that is local to another such f, and so on."""
    name = "i"
    for _ in range(levels):
        name = f"Z1fI{name}EvT_T_E1l"
    return f"_Z1f{name}"


BOMBS = {
    f"{shape.__name__}-{levels}": shape(levels)
    for shape in (doubled_parts, doubled_arguments)
    for levels in (10, 22, 30, 60)
}

"""Kernel names that fit on a line: demangled, without return type, template arguments and parameters, but
with what tells one instance of a generic kernel from another."""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

from rocm_perf.analysis.basis.mangling import unfolds_within

_ANONYMOUS = "(anonymous namespace)::"
_LAMBDA = re.compile(r"\{lambda\([^{}]*\)(#\d+)?\}")
# What a build or a tool adds to the name of the same function: the suffix of a descriptor, of a copy that a compiler
# made, of a name that link-time optimisation exported; and the file behind an anonymous namespace.
_SUFFIX = re.compile(r"(\.kd|\.llvm\.\d+|\.(?:clone|isra|constprop|part|cold)(?:\.\d+)?| \[clone [^\]]*\])+$")
_ANONYMOUS_FILE = re.compile(r"\b_GLOBAL__N__\w+::")
_OPERATOR = re.compile(r"\boperator\s*(\(\)|<=>|<<|>>|<=|>=|<|>|->)")
# Signs of an expression among template arguments that are not brackets. A demangler puts a greater-than, which could be
# one, in parentheses.
_COMPARISON = re.compile(r"->|<=>|<<|<=|>=| >> | < |(?<=\))<")
# What stands before the first name of a mangled one: nested or not, qualifiers, internal linkage.
_MANGLED_START = re.compile(r"_Z(?:N[rVK]*[RO]?)?(?=L?\d)")
_MANGLED_PART = re.compile(r"L?(\d{1,4})")

# Kernels that only carry another one: the template argument that names it is part of the short name.
_CARRIER = re.compile(
    r"(vectorized|unrolled|legacy)?_?elementwise_kernel(_\w+)?|reduce_kernel|multi_tensor_apply_kernel"
    r"|[Kk]ernel2?|device_kernel|trampoline_kernel|transform_kernel|globalKernel|index_elementwise_kernel"
)
_CARGO = re.compile(
    r"\b(\w*(?:Functor|Ops|Op)\b|\w+_kernel\w*|cutlass_\w+|CUDAFunctor\w*|wrapped_\w+|(?!operator)\w+(?=\(at::Tensor))"
)

# CK's one entry of all its kernels: the first type among its arguments that is not a GPU is the kernel.
_CK_ENTRY = "kentry"
_CK_KERNEL = re.compile(r"\bck_tile::(?!gfx|kentry)(\w+)")

# Tensile: the problem type and the macro tile of a GEMM; the hundred switches behind them stay behind.
# Every part is bounded: what does not match shall not be tried in all divisions of a long name.
_TENSILE = re.compile(
    r"^(Cij\w{0,32}?_A\w{1,32}?_B\w{1,32}?_[A-Z]{1,16}(?:_[A-Z]{1,16}){0,8}?)(?=_(?:Bias|MT|HA|SAV|User|GB|AS))"
    r".*?(MT\d+x\d+x\d+)"
)

# cuBLAS, cuDNN and MIOpen: the problem and the tile likewise.
_TILED = re.compile(r"^((?:sm\d{2,3}_xmma|igemm)_\w{1,80}?_(?:tilesize|bt)\d+x\d+x\d+)_\w+$")

LONGEST = 16_384  # characters of a name that are looked at; the longest of real kernels have a few thousand
# Characters of a mangled name with its references written out. In 100,000 names of functions, among them the kernels of
# CUTLASS, flash attention and bitsandbytes, kernels had at most 21,000. Text is seldom longer, at worst 40 times.
LONGEST_UNFOLDED = 1 << 18
_DISTINCT = 1 << 20  # names that are remembered: more than any recording has


def normalised(name: str) -> str:
    """The name without what some tools and builds write and others do not."""
    return _ANONYMOUS_FILE.sub(_ANONYMOUS, demangle(_SUFFIX.sub("", name)))


def demangle(name: str) -> str:
    """`_Z3fooi` -> `foo(int)`, by the platform's own demangler; other names, and those which would become
    longer than any real one, are returned as they are."""
    if not name.startswith("_Z") or not unfolds_within(name, LONGEST_UNFOLDED):
        return name
    text = _by_platform(name)
    return text if len(text) <= LONGEST else name


def _by_platform(name: str) -> str:
    try:
        import cxxfilt

        return str(cxxfilt.demangle(name))
    except Exception:  # noqa: BLE001  (no demangler on this machine, or a name it cannot read)
        return name


@lru_cache(maxsize=_DISTINCT)
def short_name(name: str) -> str:
    """`void at::native::reduce_kernel<512, 1, ReduceOp<...>>(...)` -> `reduce_kernel<ReduceOp>`."""
    text = demangle(name)[:LONGEST].strip()
    tensile = _TENSILE.match(text)
    if tensile:
        return f"{tensile.group(1)} {tensile.group(2)}"
    tiled = _TILED.match(text)
    if tiled:
        return tiled.group(1)
    plain = _OPERATOR.sub("operator", _LAMBDA.sub("lambda", text.replace(_ANONYMOUS, "")))
    word = _last_word(_outside_brackets(_COMPARISON.sub(" ", plain)))
    if not word:
        return _of_mangled(text)
    if word == _CK_ENTRY and (kernel := _CK_KERNEL.search(plain)):
        return f"{word}<{kernel.group(1)}>"
    if _CARRIER.fullmatch(word):
        cargo = _cargo(plain)
        return f"{word}<{cargo}>" if cargo else word
    return _of_mangled(word)


def short_names(names: pl.Series) -> pl.Series:
    """The short name of each; distinct names are worked out once."""
    mapping = {name: short_name(name) for name in names.unique() if name is not None}
    short: pl.Series = names.replace_strict(mapping, default=None, return_dtype=pl.String)
    return short


def _last_word(bare: str) -> str:
    """The function's own name, behind its return type and namespaces."""
    word = bare.strip().removeprefix("void ").strip()
    if "::" in word:
        word = word.split(" ")[-1]
    parts = [part for part in word.split("::") if part]
    return parts[-1] if parts else ""


def _outside_brackets(text: str) -> str:
    """The text before the parameters, outside of template arguments; in parentheses, `<` and `>` are not brackets."""
    kept: list[str] = []
    depth = parentheses = 0
    for character in text:
        if character == "(":
            if depth == 0:
                break
            parentheses += 1
        elif character == ")":
            parentheses = max(0, parentheses - 1)
        elif parentheses:
            continue
        elif character == "<":
            depth += 1
        elif character == ">":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(character)
    return "".join(kept)


def _cargo(text: str) -> str | None:
    """The innermost name among the template arguments that says what a generic kernel does."""
    arguments = text[text.find("<") + 1 :] if "<" in text else ""
    names = _CARGO.findall(arguments.split("std::array")[0].split("at::detail::Array")[0])
    return names[-1] if names else None


def _of_mangled(word: str) -> str:
    """The last plain identifier of a name that no demangler here can read, and which may be cut."""
    start = _MANGLED_START.match(word)
    if not start:
        return word
    position, last = start.end(), word
    while part := _MANGLED_PART.match(word, position):
        position = part.end() + int(part.group(1))
        last = word[part.end() : position] or last
    return last

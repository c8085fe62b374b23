"""Python's matcher and the C library's must agree on every name."""

from __future__ import annotations

import ctypes
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import UsageError
from rocm_perf.replay.pattern import Pattern, extended

_EXTENDED, _IGNORE_CASE, _NO_GROUPS = 1, 2, 8  # glibc's <regex.h>
NAMES = (
    "_ZN2at6native6vectorI4fEEvPT_",
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*, float const*)",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI16x16x1",
    "lambda{int}[2]^-]",
    "",
)


def c_library_finds(pattern: Pattern, name: str) -> bool:
    library = ctypes.CDLL(None)
    compiled = ctypes.create_string_buffer(256)
    flags = _EXTENDED | _NO_GROUPS | (_IGNORE_CASE if pattern.ignore_case else 0)
    assert library.regcomp(compiled, pattern.text.encode(), flags) == 0, pattern
    try:
        return bool(library.regexec(compiled, name.encode(), 0, None, 0) == 0)
    finally:
        library.regfree(compiled)


@pytest.mark.parametrize(
    "text",
    [
        "SoftMax",
        "(?i)softmax",
        ".*[sS]oft[mM]ax.*",
        "gemm|nvjet|^Cijk",
        r"MT\d+x\d+",
        r"vector\<4|Forward\<4, float\>",
        r"\bat::native\b",
        r"(?:HHS|BBS)_B(?P<letter>[A-Z])",
        "float.*?const",
        r"[^\d\s]{3,}x",
        r"x{,2}",
        "{int}",
        r"\{int\}",
        r"[]^-]",
        r"[\]\^\-]+$",
        r"[^]]$",
        r"\A_ZN.*_\Z",
        r"\(anonymous namespace\)",
        "",
        "^$",
    ],
)
def test_both_matchers_agree(text: str) -> None:
    for name in NAMES:
        assert c_library_finds(extended(text), name) == bool(re.search(text, name)), (text, name)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (r"(a)\1", r"\1"),
        ("(?=x)", "(?="),
        ("(?<!x)y", "(?<"),
        ("a*+", "*+"),
        (r"\x41", r"\x"),
        (r"[^\W_]", r"\W"),
    ],
)
def test_what_posix_lacks_is_refused_by_name(text: str, part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        extended(text)


def test_no_regular_expression() -> None:
    with pytest.raises(UsageError, match="is not a regular expression"):
        extended("soft(")


_ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "_",
        "<",
        r"\<",
        r"\.",
        ".",
        r"\d",
        r"\w",
        r"\S",
        "[ab]",
        "[^a]",
        "[a-c_]",
        r"[\]x]",
        "[-a]",
        "{",
        "}",
    ]
)
_PARTS = st.builds("{}{}".format, _ATOMS, st.sampled_from(["", "", "*", "+", "?", "{1,2}", "*?", "+?"]))
_PATTERNS = st.lists(_PARTS, min_size=1, max_size=5).map("".join)


@given(
    st.one_of(
        _PATTERNS, st.builds("({})|{}".format, _PATTERNS, _PATTERNS), st.builds("^{}$".format, _PATTERNS)
    ),
    st.text("abc_<.{}]-x1 ", max_size=12),
)
def test_any_pattern(text: str, name: str) -> None:
    assert c_library_finds(extended(text), name) == bool(re.search(text, name))

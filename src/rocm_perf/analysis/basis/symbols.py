"""Which symbols in files of GPU code are the kernels of a recording: tools spell one C++ name in several ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from rocm_perf.analysis.basis.names import LONGEST, normalised, short_name

_WORD = re.compile(r"[A-Za-z_]\w*")
_SPACES = re.compile(r"\s+")
_MOST_WORDS = 512
# Template arguments as Nsight Compute and CUPTI write them: `(bool)1`, `(int)-3`; and as demanglers do: `true`, `3ul`.
_BOOLEANS = {"(bool)1": "true", "(bool)0": "false"}
_BOOLEAN = re.compile(r"\(bool\)[01]\b")
_CAST = re.compile(r"\((?:unsigned|signed|long|int|short|char|\s)+\)(?=-?\d)")
_LITERAL = re.compile(r"(?<![\w.])(-?\d+)(?:ul|u|l|ull|ll)\b")


def symbols_of(kernels: Iterable[str], symbols: Iterable[str]) -> Mapping[str, str]:
    """Return the symbol of each kernel that has one, by the strictest spelling that tells it: the whole name; the name
    without parameters, return type and spaces; the short name. The last two count only where one symbol has it."""
    names = list(dict.fromkeys(kernels))
    candidates = list(dict.fromkeys(symbols))
    found: dict[str, str] = {}
    for spelling, must_be_unique in _SPELLINGS:
        by_spelling: dict[str, list[str]] = {}
        for symbol in candidates:
            by_spelling.setdefault(spelling(symbol), []).append(symbol)
        for name in names:
            known = by_spelling.get(spelling(name), ()) if name not in found else ()
            if known and (len(known) == 1 or not must_be_unique):
                found[name] = known[0]
    return found


def matcher(kernels: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that says whether a symbol may be one of the kernels, judging by any spelling."""
    names = list(dict.fromkeys(kernels))
    spelled = [(spelling, {spelling(name) for name in names}) for spelling, _ in _SPELLINGS]
    words = re.compile("|".join(words_of(names)))
    return lambda symbol: (
        bool(words.search(symbol)) and any(spelling(symbol) in known for spelling, known in spelled)
    )


def words_of(kernels: Sequence[str]) -> tuple[str, ...]:
    """Return the identifiers of which a file contains one if it has one of the kernels; none where a kernel has no
    such name, so that every file may have it."""
    words = {_last_word(bare_name(name).partition("<")[0]) for name in kernels}
    return () if "" in words or len(words) > _MOST_WORDS else tuple(sorted(words))


@lru_cache(maxsize=1 << 16)
def bare_name(name: str) -> str:
    """`void ns::k<(int)3, float>(float*, int) [clone .kd]` -> `ns::k<3,float>`."""
    text = normalised(name)[:LONGEST].strip().replace("<unnamed>", "(anonymous namespace)")
    text = _BOOLEAN.sub(lambda match: _BOOLEANS[match.group()], text)
    text = _LITERAL.sub(r"\1", _CAST.sub("", text))
    end = _parameters_start(text)
    head = _without_return_type(text[:end].strip())
    return _SPACES.sub("", head)


def _parameters_start(text: str) -> int:
    """Where the parameter list begins: the last parenthesis that opens outside of angle brackets."""
    if not text.endswith(")"):
        return len(text)
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == ")") - (text[place] == "(")
        if depth == 0:
            return place
    return len(text)


def _without_return_type(head: str) -> str:
    """The last word, where spaces inside of brackets do not separate words."""
    depth = 0
    for place in range(len(head) - 1, -1, -1):
        character = head[place]
        depth += (character in ">)}") - (character in "<({")
        if character == " " and depth == 0 and not head[:place].endswith("operator"):
            return head[place + 1 :]
    return head


def _last_word(head: str) -> str:
    words = _WORD.findall(head)
    return words[-1] if words and words[-1] != "operator" else ""


_SPELLINGS: tuple[tuple[Callable[[str], str], bool], ...] = (
    (str, False),
    (normalised, False),
    (bare_name, True),
    (short_name, True),
)

"""How much room a text takes. Fonts differ from machine to machine, so this errs on the wide side."""

from __future__ import annotations

from textwrap import wrap
from unicodedata import east_asian_width

from rocm_perf.text import clean

_EM = 0.6  # of the size of the font: DejaVu Sans, the widest that is common, has 0.59 over English text
_FULL_EM = 1.05  # a character of Chinese, Japanese or Korean


def text_width(content: str, size: float) -> float:
    """How wide the text is at most."""
    return size * sum(_FULL_EM if east_asian_width(each) in "WF" else _EM for each in content)


def fitted(content: str, width: float, size: float) -> str:
    """The text, cut in its middle where it is wider than there is room."""
    shown = clean(content[:2000])
    if text_width(shown, size) <= width and len(content) <= len(shown):
        return shown
    kept = max(int(width / (size * _EM)) - 1, 1)
    while kept > 1 and text_width(_cut(shown, kept), size) > width:
        kept -= 1
    return _cut(shown, kept)


def _cut(content: str, kept: int) -> str:
    """This many characters of both ends together, and a mark between."""
    ending = kept // 3
    return f"{content[: kept - ending]}…{content[len(content) - ending :]}"


def wrapped(content: str, width: float, size: float) -> list[str]:
    """The text in lines that fit."""
    return wrap(clean(content), max(int(width / (size * _EM)), 8))

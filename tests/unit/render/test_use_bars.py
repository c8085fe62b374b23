"""Bars of how busy a unit was, as characters and as a picture."""

from __future__ import annotations

import pytest

from rocm_perf.render.drawings.characters import ASCII, UNICODE
from rocm_perf.render.use_bars import UseBar, bar_picture, bar_text, key, scale, shown_parts


@pytest.mark.parametrize(
    ("bar", "text"),
    [
        (UseBar(1.0, 1.0), "##########"),
        (UseBar(1.0, 0.0), "----------"),
        (UseBar(0.8, 0.25), "##------"),
        (UseBar(0.8, 0.01), "#-------"),  # a useful part that is small is seen
        (UseBar(0.8, 0.99), "#######-"),
        (UseBar(0.8, 0.9999), "########"),  # said to be 100.0 %
        (UseBar(0.1, 0.4), "-"),
        (UseBar(0.5, None), "====="),
        (UseBar(0.5, None, is_wait=True), "*****"),
        (UseBar(1.7, None), "=========="),  # more than all of it is doubted beside the bar
        (UseBar(0.04, None), ""),
        (UseBar(0.0, 1.0), ""),
        (None, ""),
    ],
)
def test_ten_cells(bar: UseBar | None, text: str) -> None:
    assert bar_text(bar, 10, ASCII).plain == text


def test_unicode_and_styles() -> None:
    text = bar_text(UseBar(0.5, 0.5), 8, UNICODE)
    assert text.plain == "██░░"
    assert [span.style for span in text.spans] == ["green", "yellow"]


def test_the_scale_above_bars() -> None:
    assert scale(12) == "0      100 %"
    assert scale(20) == "0       50 %   100 %"


def test_the_key_names_the_parts_that_occur() -> None:
    assert key(shown_parts([UseBar(0.5, 0.5), None]), ASCII).plain == "# useful work   - wasted work"
    assert shown_parts([UseBar(0.5, None, is_wait=True)]) == ()


def test_a_picture_for_a_page() -> None:
    picture = bar_picture(UseBar(0.8, 0.25))
    assert "<title>busy 80.0 %, 25.0 % of that useful</title>" in picture
    assert '<rect x="0.00%" width="20.00%" height="14" class="useful"/>' in picture
    assert '<rect x="20.00%" width="60.00%" height="14" class="wasted"/>' in picture
    assert "style=" not in picture
    assert bar_picture(None) == ""

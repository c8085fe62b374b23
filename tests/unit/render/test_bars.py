"""Bars in a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from rocm_perf.render.bars import Panel, bar_picture

SVG = "{http://www.w3.org/2000/svg}"
PANEL = Panel(
    title="f16",
    unit="TFLOP/s",
    groups=("1024", "4096"),
    bars={"a": [100.0, 200.0], "b <&>": [None, 50.0]},
    limits={"data sheet": 400.0},
    wrong=frozenset({("b <&>", "4096")}),
)


def drawn(*panels: Panel) -> ElementTree.Element:
    return ElementTree.fromstring(bar_picture("Products", panels))


def bars(picture: ElementTree.Element) -> list[ElementTree.Element]:
    """The rectangles behind the background and the legend."""
    return [one for one in picture.iter(f"{SVG}rect") if one.get("x") and float(one.get("y", "0")) > 50]


def test_a_bar_is_as_high_as_its_value_below_the_highest_limit() -> None:
    heights = [float(bar.get("height", "0")) for bar in bars(drawn(PANEL))]
    assert heights == [40.0, 80.0, 20.0]  # of 160, which are 400 TFLOP/s


def test_a_wrong_bar_is_hollow_and_says_so() -> None:
    picture = drawn(PANEL)
    assert [bar.get("class") for bar in bars(picture)] == ["fill-1", "fill-1", "doubtful"]
    assert [one.text for one in picture.iter(f"{SVG}text") if one.text == "wrong"] == ["wrong"]


def test_names_are_text_and_not_markup() -> None:
    assert "b <&>" in [one.text for one in drawn(PANEL).iter(f"{SVG}text")]


def test_nothing_to_draw_is_still_a_picture() -> None:
    empty = Panel(title="f16", unit="TFLOP/s", groups=(), bars={})
    assert bars(drawn(empty)) == []
    assert drawn().get("width") == "960"

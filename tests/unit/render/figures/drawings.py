"""What tests ask of a drawing: its elements, and whether they stay in the picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from rocm_perf.render import svg
from rocm_perf.render.figures.figure import Drawn, Figure, as_file, in_page
from rocm_perf.render.figures.lettering import text_width

SVG = "{http://www.w3.org/2000/svg}"
_MOVE = re.compile(r"translate\(0 ([\d.]+)\)")


def figure(drawn: Drawn) -> Figure:
    assert isinstance(drawn, Figure), drawn
    return drawn


def parsed(drawn: Drawn) -> ElementTree.Element:
    """The elements of the drawing in a page."""
    return ElementTree.fromstring(in_page(figure(drawn)))


def texts(drawn: Drawn) -> list[str]:
    return [one.text or "" for one in parsed(drawn).iter(f"{SVG}text")]


def rects(drawn: Drawn, look: str) -> list[svg.Box]:
    """Where the rectangles of this look stand."""
    shapes = [one for one in parsed(drawn).iter(f"{SVG}rect") if one.get("class") == look]
    return [svg.Box(*(float(one.get(name, "0")) for name in ("x", "y", "width", "height"))) for one in shapes]


def check(drawn: Drawn) -> None:
    """It is XML in both dressings, without style or script, and nothing leaves the picture."""
    picture = figure(drawn)
    ElementTree.fromstring(as_file(picture))
    tree = parsed(picture)
    assert not [one for one in tree.iter() if "style" in one.attrib or one.tag.endswith("script")]
    for box in boxes(tree):
        assert box.left >= -1, box
        assert box.top >= -1, box
        assert box.right <= picture.width + 1, (box, picture.width)
        assert box.bottom <= picture.height + 1, (box, picture.height)


def boxes(tree: ElementTree.Element) -> Iterator[svg.Box]:
    """The room that each rectangle, dot and level text takes."""
    yield from (box for box, _ in _placed(tree, 0.0))


def text_boxes(drawn: Drawn) -> list[svg.Box]:
    """The room of each level text."""
    return [box for box, tag in _placed(parsed(drawn), 0.0) if tag == "text"]


def _placed(one: ElementTree.Element, down: float) -> Iterator[tuple[svg.Box, str]]:
    if one.get("transform", "").startswith("rotate"):
        return
    move = _MOVE.match(one.get("transform", ""))
    down += float(move[1]) if move else 0.0
    box = _box(one, down)
    if box is not None:
        yield box, one.tag.removeprefix(SVG)
    for child in one:
        yield from _placed(child, down)


def _box(one: ElementTree.Element, down: float) -> svg.Box | None:
    def number(name: str) -> float:
        return float(one.get(name, "0"))

    if one.tag == f"{SVG}rect":
        return svg.Box(number("x"), number("y") + down, number("width"), number("height"))
    if one.tag == f"{SVG}circle":
        return svg.Box(
            number("cx") - number("r"), number("cy") + down - number("r"), *(2 * [2 * number("r")])
        )
    if one.tag == f"{SVG}text":
        size = number("font-size")
        width = text_width(one.text or "", size)
        left = number("x") - {"end": width, "middle": width / 2}.get(one.get("text-anchor", ""), 0.0)
        return svg.Box(left, number("y") + down - 0.8 * size, width, size)
    return None

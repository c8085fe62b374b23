"""One drawing in a page and as a file."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rocm_perf.render import svg
from rocm_perf.render.figures.figure import COLOURS, Figure, as_file, in_page, style
from rocm_perf.render.figures.lettering import fitted, text_width

ROOT = Path(__file__).parents[4]
HOSTILE = ("</text><script>alert(1)</script>", '" onload="alert(1)', "a\x00b\x1b[31mc\u202ed", "x" * 10_000)


def test_a_page_colours_by_its_style_sheet_and_a_file_by_itself() -> None:
    figure = Figure(title="a", width=10, height=5, body=(svg.rect(svg.Box(0, 0, 4, 4), "fill-1"),))
    assert "#" not in in_page(figure)
    assert "style" not in in_page(figure)
    assert "var(" not in as_file(figure)
    assert COLOURS["series-1"] in as_file(figure)


def test_files_have_the_light_colours_of_the_page() -> None:
    light = (ROOT / "web" / "src" / "colours.css").read_text("utf-8").partition("@media")[0]
    declared = dict(re.findall(r"--([a-z0-9-]+): (#\w+);", light))
    assert {name: declared[name] for name in COLOURS} == COLOURS


def test_every_look_that_figures_use_has_a_rule() -> None:
    sources = (ROOT / "src" / "rocm_perf" / "render").rglob("*.py")
    series = {
        look
        for source in sources
        for look in re.findall(r"\b(?:fill|stroke)-\d\b", source.read_text("utf-8"))
    }
    assert series <= set(re.findall(r"\.((?:fill|stroke)-\d)\b", style()))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_never_markup(name: str) -> None:
    body = (svg.mark(name, svg.text((0, 10), name)),)
    tree = ElementTree.fromstring(in_page(Figure(title=name, width=10, height=5, body=body)))
    assert {one.tag.rpartition("}")[2] for one in tree.iter()} == {"svg", "title", "g", "text"}
    assert not {attribute for one in tree.iter() for attribute in one.attrib if attribute.startswith("on")}


@pytest.mark.parametrize("name", [*HOSTILE, "核" * 500, "short"])
def test_a_text_is_cut_to_its_room(name: str) -> None:
    assert text_width(fitted(name, 120, 12), 12) <= 120


def test_a_cut_keeps_both_ends() -> None:
    shown = fitted("Cijk_Alik_Bljk_BBS_BH_MT16x16x256", 120, 12)
    assert shown.startswith("Cijk_")
    assert shown.endswith("x256")

"""One kernel on the screen: bars as wide as there is room, in ASCII where nothing else can be shown, in a pipe too."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf.render.drawings.characters import ASCII, UNICODE, Characters
from rocm_perf.render.report.markdown import markdown
from rocm_perf.render.screen.terminal import print_document, print_sections
from rocm_perf.render.screen.view import View
from tests.unit.render.limits_example import judged


def shown(name: str, width: int, bars: Characters = UNICODE, *, explain: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    view = View(width=width, bars=bars, explain=explain)
    print_sections(judged(), [name], console, view)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(name)).rstrip()


@pytest.mark.parametrize(("width", "useful", "wasted"), [(80, 9, 26), (160, 11, 34)])
def test_bars_take_the_room_that_there_is(width: int, useful: int, wasted: int) -> None:
    text = shown("kernel:bank", width)
    assert f"shared memory  {'█' * useful}{'░' * wasted} " in row(text, "shared memory")
    assert row(text, "shared memory").endswith("90.0 %  25.0 %  counters")
    assert all(len(line) <= width for line in text.splitlines())


def test_in_ascii() -> None:
    text = shown("kernel:bank", 80, ASCII)
    assert text.isascii()
    assert f"shared memory  {'#' * 9}{'-' * 26} " in row(text, "shared memory")
    assert "# useful work   - wasted work   = busy; how much of it is useful is not known" in text


def test_causes_stand_above_the_units() -> None:
    text = shown("kernel:bank", 80)
    assert (
        text.index("1  All of its time: 97 %") < text.index("2  12.0 % of its time") < text.index("How busy")
    )
    assert "   worth   at most 450 ns of its 600 ns (4 times as fast)" in text


def test_how_numbers_are_made_is_said_on_demand() -> None:
    formula = "busy, shared memory: 90.0 % = wavefronts / cycles; with wavefronts = 90,"
    assert formula not in shown("kernel:bank", 80)
    assert formula in shown("kernel:bank", 80, explain=True)


def test_the_first_screen_names_what_limits_each_kernel() -> None:
    console = Console(file=io.StringIO(), width=100, highlight=False)
    print_document(judged(), console, View(width=100))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "bank conflicts    bank" in text
    assert "issue slots 50 %  copy_rows" in text
    assert "limited by: first cause or fullest unit" in text


def test_markdown_has_the_bars_and_the_causes() -> None:
    text = markdown(judged())
    assert "### bank" in text
    assert "- **All of its time: 97 % of its shared-memory cycles are bank conflicts**" in text
    assert "| shared memory | `████░░░░░░░░░░░░░░` | 90.0 % | 25.0 % | counters |" in text

"""Tables fit their line: numbers whole, names with both ends."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from rocm_perf.render.grid import GridColumn, cropped, fitted, squeezed, whole

NAMES = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=80)


def lines(columns: list[GridColumn], width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(fitted(columns, width))
    return out.getvalue().splitlines()


@given(NAMES, st.integers(5, 60))
def test_squeezed_names_fit_and_keep_both_ends(name: str, room: int) -> None:
    short = squeezed(name, room)
    assert len(short) <= room
    if len(name) > room:
        assert short[0] == name[0]
        assert short[-1] == name[-1]
    else:
        assert short == name


@given(st.text(max_size=80), st.integers(0, 60))
def test_cropped_texts_fit_and_keep_their_beginning(text: str, room: int) -> None:
    short = cropped(text, room)
    assert len(short) <= max(room, 1)
    assert text.startswith(short.removesuffix("…")) or text == short


@given(
    st.lists(st.tuples(st.integers(0, 10**12), NAMES, NAMES), min_size=1, max_size=5),
    st.sampled_from([80, 160]),
)
def test_numbers_stay_whole_and_lines_fit(rows: list[tuple[int, str, str]], width: int) -> None:
    columns = [
        GridColumn("n", [f"{number:,}" for number, _, _ in rows], numeric=True),
        GridColumn("first", [first for _, first, _ in rows], numeric=False, code=True),
        GridColumn("second", [second for _, _, second in rows], numeric=False),
    ]
    shown = lines(columns, width)
    assert len(shown) == len(rows) + 1
    for (number, _, _), line in zip(rows, shown[1:], strict=True):
        assert len(line) <= width
        assert f"{number:,}" in line


def test_a_short_text_stays_whole_beside_a_long_one() -> None:
    columns = [
        GridColumn("cause", ["host sync"], numeric=False),
        GridColumn("kernel", ["k" * 200], numeric=False, code=True),
    ]
    (_, line) = lines(columns, 80)
    assert line.startswith("host sync  kkk")
    assert len(line) == 80


@pytest.mark.parametrize("table", [fitted, lambda columns, _: whole(columns)])
def test_cells_cannot_command_the_terminal(table: Callable[[list[GridColumn], int], Table]) -> None:
    columns = [GridColumn("ki\x1b[31mnd", ["de\x1b]0;x\x07vice\r", "a\nb"], numeric=False)]
    out = io.StringIO()
    Console(file=out, width=60, highlight=False).print(table(columns, 60))
    assert [line.rstrip() for line in out.getvalue().splitlines()] == ["ki [31mnd", "de ]0;x vice", "a b"]

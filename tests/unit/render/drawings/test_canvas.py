"""Dots and texts on a small canvas."""

from __future__ import annotations

from rocm_perf.render.drawings.canvas import Canvas
from rocm_perf.render.drawings.characters import ASCII, UNICODE


def rows(canvas: Canvas) -> list[str]:
    return [line.plain for line in canvas.lines()]


def test_dots_are_finer_than_a_cell() -> None:
    canvas = Canvas(2, 1, UNICODE)
    canvas.dot(0, 0)
    canvas.dot(0.5, 0.75)
    canvas.dot(1.0, 0.25)
    assert rows(canvas) == ["⡈⠄"]


def test_a_cell_of_ascii_has_a_dot_above_another() -> None:
    canvas = Canvas(4, 1, ASCII)
    for column, row in ((0, 0.1), (1, 0.6), (2, 0.1), (2, 0.6)):
        canvas.dot(column, row)
    assert rows(canvas) == [".': "]


def test_what_lies_beyond_the_canvas_is_not_drawn() -> None:
    canvas = Canvas(2, 2, ASCII)
    for column, row in ((-0.1, 0), (2, 0), (0, -0.1), (0, 2)):
        canvas.dot(column, row)
    canvas.write((1, 1), "abc")
    assert rows(canvas) == [" a", "  "]


def test_texts_hide_dots_and_take_their_cells() -> None:
    canvas = Canvas(3, 1, ASCII)
    canvas.dot(0, 0)
    canvas.write((1, 0), "x")
    assert rows(canvas) == [".x "]
    assert canvas.is_free((2, 0), 1)
    assert not canvas.is_free((2, 0), 2)
    assert not canvas.is_free((0, 0), 1)
    assert canvas.is_free((0, 0), 1, of_dots=False)
    assert not canvas.is_free((1, 0), 1, of_dots=False)

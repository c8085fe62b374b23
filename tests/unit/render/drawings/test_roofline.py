"""The roofline in characters: known points of known ceilings stand where arithmetic puts them."""

from __future__ import annotations

import pytest

from rocm_perf.model.quantity import Quantity
from rocm_perf.model.results.roofline import Ceiling, KernelRoofline, Roofline, RooflineGpu, WorkPart
from rocm_perf.render.drawings.characters import ASCII, UNICODE
from rocm_perf.render.drawings.roofline import RooflineDrawing, placed, roofline_drawing

PICTURE = """\
     |                                 f32 100
  100|                                    .b..
     |                                ..:''
     |                            ..:''
   10|                        ..:''
     |                    ..:''
     |                ..:''
    1| HBM 1 TB/s ..:''        +
     |        ..:''
     |    ..:''
  0.1|..:''
     |' a
        0.1         1          10          100
"""


def known(value: float) -> Quantity:
    return Quantity(value, "", "given")


def ceiling(name: str, rate: float) -> Ceiling:
    kind = "memory" if name in ("HBM", "L2") else "compute"
    return Ceiling(name=name, kind=kind, rate=known(rate), measured=False, source="a test")  # type: ignore[arg-type]


def kernel(name: str, intensity: float, tflops: float, *, gpu: int = 0, uses: str = "f32") -> KernelRoofline:
    part = WorkPart(
        ceiling=uses,
        kind="compute",
        amount=known(1),
        rate=known(1),
        intensity=None,
        percent_of_ceiling=known(1),
        basis="counters",
        dispatches=1,
    )
    return KernelRoofline(
        kernel=name,
        short_name=name.upper(),
        gpu=gpu,
        calls=1,
        total_ns=1,
        basis="counters",
        dispatches=1,
        time_ns=known(1),
        work=(part,),
        flops=known(1),
        bytes=known(1),
        operational_intensity=known(intensity),
        tflops=known(tflops),
        tbytes=known(1),
        roof=known(1),
        percent_of_roof=known(1),
        position=None,
        regime="memory",
        reason="",
        spread=None,
        evidence={},
    )


def roofline(*kernels: KernelRoofline, ceilings: tuple[Ceiling, ...] = ()) -> Roofline:
    peaks = ceilings or (ceiling("f32", 100), ceiling("f16 matrix", 1000), ceiling("HBM", 1))
    models = [
        RooflineGpu(name=name, gfx=None, agents=(0,), ceilings=peaks, told_by="a test")
        for name in ("GPU A", "GPU B")
    ]
    return Roofline(gpus=tuple(models), kernels=kernels)


def drawn(source: Roofline, *named: str, width: int = 46, height: int = 13) -> RooflineDrawing:
    drawing = roofline_drawing(source, named, width=width, height=height, characters=ASCII)
    assert drawing is not None
    return drawing


def place(drawing: RooflineDrawing, mark: str) -> tuple[int, int]:
    """Line and column of a mark within the axes."""
    (found,) = [
        (row, line.plain.partition("|")[2].index(mark))
        for row, line in enumerate(drawing.lines)
        if mark in line.plain.partition("|")[2]
    ]
    return found


@pytest.mark.parametrize(
    ("width", "caption"), [(35, "TFLOP/s over FLOP/B"), (36, "TFLOP/s over FLOP/B, GPU A")]
)
def test_the_caption_names_the_gpu_where_there_is_room(width: int, caption: str) -> None:
    assert drawn(roofline(kernel("a", 1, 1)), width=width).caption == caption


def test_the_picture() -> None:
    source = roofline(kernel("low", 0.1, 0.05), kernel("high", 100, 90), kernel("other", 10, 1))
    lines = drawn(source, "low", "high").lines
    assert [line.plain.rstrip() for line in lines] == PICTURE.splitlines()


def test_ten_times_as_much_is_a_decade_away() -> None:
    """From 0.1 / 1.5 to 100 * 1.5 there are 3.352 decades: on 40 columns each takes 11.93, on 11 rows below the label
    3.28; the first begins 0.176 decades from the edge."""
    drawing = drawn(roofline(kernel("a", 0.1, 0.1), kernel("b", 1, 1), kernel("c", 10, 10)), "a", "b", "c")
    assert [place(drawing, mark) for mark in "abc"] == [(11, 2), (8, 14), (4, 25)]


def test_kernels_on_the_roof_stand_on_its_line() -> None:
    """A kernel with a letter hides the dots of the roof: the line goes on to either side of it."""
    source = roofline(kernel("a", 1, 1), kernel("z", 0.01, 0.001))
    row, column = place(drawn(source, "a"), "a")
    line = drawn(source).lines[row].plain.partition("|")[2]
    assert line[column] == "+"
    assert line[column - 1] in ".':"


def test_only_ceilings_that_kernels_work_under_are_drawn() -> None:
    text = "\n".join(line.plain for line in drawn(roofline(kernel("a", 1, 1))).lines)
    assert "f32 100" in text
    assert "f16 matrix" not in text
    assert "HBM 1 TB/s" in text


def test_all_ceilings_are_drawn_where_none_is_known_to_be_used() -> None:
    text = "\n".join(line.plain for line in drawn(roofline(kernel("a", 1, 1, uses="f64"))).lines)
    assert "f32 100" in text
    assert "f16 matrix 1,000" in text


def test_kernels_in_one_cell_share_a_letter_and_either_name_will_do() -> None:
    source = roofline(kernel("one", 1.2, 1.2), kernel("two", 1.21, 1.21), kernel("three", 30, 2))
    assert drawn(source, "one", "TWO", "three", "unknown").letters == {"one": "a", "TWO": "a", "three": "b"}


def test_more_kernels_than_letters_are_points() -> None:
    many = [kernel(f"k{number}", 1.2**number, 1) for number in range(60)]
    drawing = drawn(roofline(*many), *(row.kernel for row in many), width=200)
    assert len(drawing.letters) == 52


def test_kernels_without_a_place_on_the_axes_and_of_other_gpus_are_left_out() -> None:
    first, copy, elsewhere = kernel("a", 1, 1), kernel("copy", 0, 0), kernel("b", 1, 1, gpu=1)
    assert [point.kernel for point in placed(roofline(copy, first, elsewhere))] == [first]


@pytest.mark.parametrize(("width", "height"), [(29, 13), (60, 4)])
def test_there_is_no_drawing_without_room(width: int, height: int) -> None:
    source = roofline(kernel("a", 1, 1))
    assert roofline_drawing(source, ["a"], width=width, height=height, characters=ASCII) is None


def test_there_is_no_drawing_without_kernels() -> None:
    assert roofline_drawing(roofline(), [], width=60, height=14, characters=UNICODE) is None


@pytest.mark.parametrize("width", [30, 40, 66, 100])
@pytest.mark.parametrize("height", [6, 10, 24])
@pytest.mark.parametrize("intensity", [1e-9, 1, 1e12])
def test_a_drawing_keeps_to_its_size(width: int, height: int, intensity: float) -> None:
    drawing = drawn(roofline(kernel("a", intensity, 1e-6)), "a", width=width, height=height)
    assert len(drawing.lines) == height
    assert drawing.width <= width
    assert "a" in {character for line in drawing.lines for character in line.plain}

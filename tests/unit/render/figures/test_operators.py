"""The still flame graph."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rocm_perf.model.results.operators import FlameNode
from rocm_perf.render.figures.figure import NARROW, WIDE, Missing
from rocm_perf.render.figures.operators import flame_figure, placed
from tests.unit.render.documents import recorded, simulated
from tests.unit.render.figures.drawings import check, texts

NODES = (
    FlameNode("model", "module", None, 1, 75, 200),
    FlameNode("step", "operator", None, 1, 25, 100),
    FlameNode("linear", "operator", 0, 2, 50, 80),
    FlameNode("norm", "operator", 0, 2, 25, 40),
    FlameNode("gemm", "kernel", 2, 2, 50, 0),
)


def test_cells_are_as_wide_as_their_time_and_lie_below_the_one_around_them() -> None:
    cells = {cell.node.name: cell for cell in placed(NODES, [node.gpu_ns for node in NODES], 400)}
    assert {name: (cell.depth, cell.left, cell.width) for name, cell in cells.items()} == {
        "model": (0, 0, 300),
        "step": (0, 300, 100),
        "linear": (1, 0, 200),
        "norm": (1, 200, 100),
        "gemm": (2, 0, 200),
    }


def test_what_is_too_narrow_is_left_out_with_everything_below_it() -> None:
    narrow = (*NODES, FlameNode("tiny", "operator", 3, 1, 0, 1), FlameNode("inner", "kernel", 5, 1, 0, 0))
    assert len(list(placed(narrow, [node.gpu_ns for node in narrow], 400))) == len(NODES)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_recording(width: float) -> None:
    drawn = flame_figure(recorded("eager_sync.json.gz").operators, width)
    check(drawn)
    assert "Width: GPU time, with everything below;" in " ".join(texts(drawn))


def test_host_time_where_the_gpu_has_none() -> None:
    assert any(
        text.startswith("Width: host time") for text in texts(flame_figure(simulated("straggler").operators))
    )


def test_no_operators_say_why() -> None:
    operators = simulated("softmax").operators
    assert flame_figure(operators) == Missing(operators.unavailable or "")
    assert isinstance(flame_figure(replace(operators, unavailable=None)), Missing)
